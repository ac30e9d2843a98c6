"""What `explain` says, in English; _prose_zh.py says the same in Chinese under the same names with the same places to fill."""
# ruff: noqa: E501, RUF001

from __future__ import annotations

TEXT = {
    "joint": " ",  # between sentences
    # before the steps
    "shown": "head {head}, query {query}",
    "answer.one": "In head {head}, “{query}” can only look at “{first}”.",
    "answer.all": "In head {head}, “{query}” looks at “{first}” ({share:.1f}%) and at next to nothing else.",
    "answer.two": "In head {head}, “{query}” looks most at “{first}” ({share:.1f}%), then at “{second}” ({other:.1f}%).",
    "answer.sink": "In head {head}, “{query}” looks away: the sink takes {share:.1f}%, “{first}” {other:.1f}%.",
    "role": "What the model's author says of this head: {role}.",
    "others": "“{name}” stands at {places}; this is the one at {at}. Give --query {example} for another.",
    "several": "“{name}” is {n} tokens; this is the last of them, at {at}.",
    "random": "The weights are random: every step is computed as in a trained model, but what the head looks at means nothing.",
    "steps": "Six steps lead there. Figures are rounded for reading, so the last digit of a sum can be off; --json has them whole.",
    "rest": "{n} others",
    "norm": "length",
    "norm.below": "last line: the length of each vector",
    "sum": "sum",
    # 1
    "1.title": "1  Input: a token becomes a vector",
    "1.brief": "“{query}” comes in as a vector of {d_model} numbers.",
    "1.text": "A model computes with vectors, not with words. The text was cut into {n} tokens, and each of them is a vector "
    "of {d_model} numbers (d_model).",
    "1.one": "The text has one token, a vector of {d_model} numbers (d_model).",
    "1.lookup": "For “{query}” that is its row in the table of token vectors.",
    "1.given": "For “{query}” that is its row of the input X that came with the weights.",
    "1.drawn": "For “{query}” that is a random draw: there is no trained table of token vectors here.",
    "1.sum": "For “{query}” it begins as a sum: {parts}.",
    "1.part.token": "what the token is",
    "1.part.position": "where it stands",
    "1.part.segment": "which sentence it is in",
    "1.joined": ", ",
    "1.and": " and ",
    "1.projected": "A matrix then brings it to the width of the layers.",
    "1.normed": "{norm} then brings it to a common scale.",
    "1.scaled": "Token vectors are multiplied by {scale:.4g} first.",
    "1.deep": "Layer {layer} does not read the bare word. It reads the residual stream: the vector that “{query}” came in with, "
    "and all that was added to it in {before}.",
    "1.before.one": "layer 0",
    "1.before.many": "layers 0–{last}",
    "1.before.cross": "the decoder so far",
    "1.pre": "Before attention, {norm} brings it to a common scale; the result is x.",
    "1.cross": "“{query}” stands in the text that the decoder reads. It looks at the {n} tokens that the encoder has read.",
    "1.rotary": "Where the token stands has not been said yet: positions turn the queries and keys in step 2.",
    "1.bias": "Where the token stands has not been said yet: distances change the scores in step 4.",
    "1.nowhere": "Nothing says where a token stands: shuffle the text, and every token keeps its weights.",
    "row.token": "token",
    "row.given": "row of X",
    "row.position": "+ position",
    "row.segment": "+ segment",
    "row.sum": "= sum",
    "row.projected": "projected",
    "row.stream": "residual stream h",
    "row.x": "{norm}(h) = x",
    "row.same": "h = x",
    "component": "component",
    # 2
    "2.title": "2  Query, key and value: three views of a vector",
    "2.brief": "Three matrices make a query, a key and a value of {d_head} numbers out of it.",
    "2.text": "Three learned matrices make three short vectors out of x. Think of a library: the query q is what I am looking for, "
    "the key k is the label on a book's spine, the value v is what is written inside.",
    "2.slice": "The {n_heads} heads of the layer share one large W_Q. Head {head} owns {d_head} of its {width} columns, {first}–{last}, "
    "and no other head sees what they give.",
    "2.only": "The layer has one head, so all {width} columns of W_Q are its own.",
    "2.groups": "Keys and values are shared: {n_heads} query heads, but {n_kv_heads} key and value heads. Head {head} reads number "
    "{kv_head}, together with {others}.",
    "2.groups.head": "head {list}",
    "2.groups.heads": "heads {list}",
    "2.cross": "q is made from the decoder's vector, k and v are made from what the encoder put out.",
    "2.clipped": "Numbers beyond ±{limit:g} are clipped.",
    "2.normed": "Queries and keys are then normed, so that no score can grow by sheer length (q/k norm).",
    "2.turned": "Rotary positions: pairs of components of q and k turn by angles that grow with the token's position, "
    "here {query_at} for “{query}” and {key_at} for “{key}”. Turning both by the same angle changes no score, so only "
    "the distance between the two counts.",
    "2.turned.part": "The first {dims} of the {d_head} components turn, the others stay as they are.",
    "2.turned.magnitude": "This model also lengthens what it turns, by {magnitude:.4g}.",
    "2.table": "q of “{query}”, k and v of “{key}”",
    "row.linear": "{x} {w}",
    "row.biased": "+ {b}",
    "row.clipped": "clipped",
    "row.normed": "{norm}",
    "row.turned": "turned",
    "row.result": "= {name}",
    # 3
    "3.title": "3  Scores: how well question and label match",
    "3.brief": "The score of a key is its dot product with the query.",
    "3.text": "The dot product of q with a key is that token's score: large where the two point the same way, negative where "
    "they point apart.",
    "3.table": "Scores of “{query}”",
    "3.rest": "{n} more keys have scores from {low:.{digits}f} to {high:.{digits}f}.",
    "3.masked": "{n} more keys may not be looked at (step 4).",
    "3.apart": "Taken apart for “{key}”: one product for each component, and their sum is the score.",
    "score": "score q · k",
    "product": "product",
    # 4
    "4.title": "4  Scaling, and what else comes before the softmax",
    "4.brief": "The scores are scaled before the softmax.",
    "4.text": "A dot product of {d_head} terms spreads about √{d_head} = {root:.4g} times as wide as one term, whatever it means. "
    "Dividing by √d_head takes that out again. Unscaled, softmax leans towards one winner, and where one key has all the weight "
    "its slope is zero and nothing can be learned.",
    "4.usual": "Scaled, the scores of “{query}” spread by {after:.3g} instead of {before:.3g}:",
    "4.one": "This model leaves its scores as they are: it was trained without a factor.",
    "4.other": "This model multiplies by {scale:.4g} instead of 1/√d_head = {usual:.4g}.",
    "4.measures": "The softmax of these scores",
    "4.unscaled": "unscaled",
    "4.scaled": "scaled",
    "4.spread": "spread",
    "4.entropy": "entropy, bits",
    "4.slope": "slope",
    "4.explained": "spread: standard deviation of the scores · entropy: 0 is one winner, {most:.2f} is an even split among {n} keys · "
    "slope: Σ p(1 − p), what of a gradient gets through",
    "4.capped": "Soft cap: {cap:g} · tanh(a / {cap:g}) keeps every score within ±{cap:g}.",
    "4.relative": "Relative positions: for each distance between two tokens the head has learned a number that is added, here "
    "from {low:.3g} to {high:.3g}.",
    "4.alibi": "ALiBi: a key falls behind by {slope:.4g} for every token that it stands further away.",
    "4.c2p": "c2p: distances have key vectors of their own; what q says to the one between the two tokens is added.",
    "4.p2c": "p2c: distances have query vectors of their own; what the one between the two tokens says to k is added.",
    "4.causal": "Mask: “{query}” may look at itself and at what comes before it, {seen} of {n} tokens. The others get −∞, and so "
    "a weight of exactly zero.",
    "4.last": "Mask: “{query}” is the last token, so the rule that no token looks ahead hides nothing from it.",
    "4.window": "Mask: only tokens less than {window} positions away are seen, {seen} of {n}. The others get −∞, and so a "
    "weight of exactly zero.",
    "4.unmasked": "Mask: none. “{query}” sees all {n} tokens.",
    "4.sink": "Sink: a learned number, {sink:.3f}, takes part in the softmax like a key without a value, so that a head can "
    "look at nothing at all.",
    "4.table": "From scores to logits",
    "scaled": "scaled",
    "capped": "capped",
    "bias.relative": "+ relative",
    "bias.alibi": "+ ALiBi",
    "bias.c2p": "+ c2p",
    "bias.p2c": "+ p2c",
    "logit": "logit a",
    # 5
    "5.title": "5  Softmax: logits become shares",
    "5.brief": "Softmax turns the logits into weights that add up to one.",
    "5.text": "exp makes every logit positive and widens the gaps between them; divided by their sum, they are weights that "
    "add up to one. The largest logit, {top:.{digits}f}, is taken off first: that changes no weight and keeps exp small.",
    "5.table": "What “{query}” looks at",
    "length.v": "‖v‖",
    "length.wv": "‖w v‖",
    "4.rest": "{n} more keys are not listed; --full lists all.",
    "weight": "weight w",
    "sink": "sink (dropped)",
    "total": "sum",
    # 6
    "6.title": "6  Weighted sum: what is taken along",
    "6.brief": "The values are summed, each times its weight.",
    "6.text": "z, the head's output for “{query}”, is the sum of all values, each times its weight. Weight alone does not say "
    "what a token brings: a heavy weight on a short value brings little.",
    "6.table": "What each token brings to z",
    "6.explained": "‖v‖: length of v · share of z: how far each part reaches in z's own direction. Shares and components add up; lengths of vectors "
    "do not.",
    "share.z": "share of z, %",
    "6.heads": "The {n_heads} heads of layer {layer}, side by side. Each z goes through its own rows of W_O, and the sum is what "
    "attention adds to “{query}”: {share:.1f}% of it was written by head {head}.",
    "6.single": "z goes through W_O; the result is what attention adds to “{query}”.",
    "6.bare": "There is no W_O here: the z of all heads, one after another, are what comes out.",
    "6.heads.table": "Where the heads look, and what each writes",
    "head": "head",
    "this": "{head} (this one)",
    "looks": "looks at",
    "share": "share, %",
    "bias": "bias b_O",
    "6.residual": "The residual stream keeps what was there and takes this on top.",
    "6.residual.table": "“{query}” after attention",
    "row.h": "h",
    "row.added": "+ attention",
    "row.scaled": "× {scale:g}",
    "row.after": "= new h",
    "6.next": "Next comes the layer's MLP. What it makes of this vector goes into layer {next}, which begins again at step 1.",
    "6.end": "Next comes the MLP of this last layer, and then the model's output.",
    "6.parallel": "The MLP of this layer reads the same x and adds its own part; layer {next} begins again at step 1.",
    "6.parallel.end": "The MLP of this last layer reads the same x and adds its own part; then comes the model's output.",
    "6.bare.next": "Layer {next} begins again at step 1 with this vector.",
    "6.decoder": "Next the decoder looks at what the encoder has read (--kind cross), and then comes its MLP.",
    # the trap
    "trap.title": "A trap: heads that all look alike",
    "trap.text": "Code that is passed around often gives every head the same whole q, k and v instead of its own columns. Then "
    "all heads compute the same thing, and two cost twice as much as one and see no more:",
    "trap.table": "Weights of “{query}”",
    "trap.slices": "own columns",
    "trap.whole": "whole q and k",
    "trap.why": "With its own columns, each head asks its own question. With the whole q and k both rows are equal: one head, "
    "computed {n_heads} times.",
    # after the steps
    "footer": "Further: --brief, --full, --step 3, --key TOKEN, --json · 中文: --lang zh",
    "pause": " any key: next step · q: stop ",
}
