"""A command's text as the model reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attn_cli.model import no_tokens

if TYPE_CHECKING:
    from attn_cli.commands.explain import Request as ExplainRequest
    from attn_cli.commands.show import Request
    from attn_cli.model import Model
    from attn_cli.tokens import Tokens


def read(model: Model, text: str, request: Request | ExplainRequest, what: str = "text") -> Tokens:
    """The tokens of the text, of its pair and target; TextError where text or pair gives none but those that are added."""
    tokens = model.encode(text, request.pair, request.target, added=request.added, literal=request.literal)
    own = {segment for segment, kind in zip(tokens.segments, tokens.special, strict=True) if kind != "added"}
    if not own or (request.pair is not None and 0 not in own):
        raise no_tokens(what)
    if request.pair is not None and model.given is None and 1 not in own:
        raise no_tokens("pair")
    return tokens
