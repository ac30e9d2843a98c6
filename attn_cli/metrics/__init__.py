"""One number per query from a block of attention. One file each: TITLE, UNIT, RANGE, SOURCE, NEEDS, score(block).

`score` returns (heads, queries); NaN where the metric does not apply. It changes nothing it is given.
"""
