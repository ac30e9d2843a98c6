"""One number per query from a block of attention. One file each: TITLE, UNIT, RANGE, SOURCE, NEEDS, score(block).

`score` returns (heads, queries); NaN where the metric does not apply. It changes nothing it is given. Metrics whose UNIT is
`share` are the weight on some kind of key, 0 to 1: those can be a head's role. What `score(block.null())` gives is the
baseline, without which a score says little.
"""
