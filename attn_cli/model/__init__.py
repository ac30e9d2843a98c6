"""The arithmetic, once for all families.

Named sizes used in every comment on shapes: layers, heads, kv heads, tokens (queries, keys), d_model, d_head, d_mlp, vocab.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_cli.errors import CheckpointError, TextError, quote
from attn_cli.model.block import Block, Kept, Selection, Selections
from attn_cli.model.forward import Progress, blocks
from attn_cli.model.weights import Weights
from attn_cli.tokens import Tokenizer, Tokens

if TYPE_CHECKING:
    from attn_cli.model.bare import Bare
    from attn_cli.spec import ModelSpec

FAR = 64  # characters for each token that fits: far more than any text needs
KEEP = ("q", "k", "v", "hidden_states", "logits", "last_block_output")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the numbers come from; every output says it."""

    source: str
    weights: str = "loaded"  # loaded | random
    embeddings: str = "loaded"  # loaded | random | given
    seed: int | None = None
    notes: tuple[str, ...] = ()


class Model:
    """A spec, its weights and its tokenizer: text in, attention out."""

    def __init__(self, spec: ModelSpec, weights: Weights, tokenizer: Tokenizer | None, provenance: Provenance) -> None:
        self.spec = spec
        self.weights = weights
        self.tokenizer = tokenizer
        self.provenance = provenance
        self.source = provenance.source
        self.known_words: frozenset[str] | None = None  # lower-case; where the model was made for a small vocabulary
        self.bare: Bare | None = None  # where this is attention without the rest of a transformer
        self.config: Mapping[str, Any] | None = None  # what config.json says, or would say
        self.tokenizer_files: Mapping[str, Path] = {}  # of the checkpoint; none where the tokenizer came otherwise

    @property
    def dtype(self) -> np.dtype:
        """What the weights are computed in."""
        return np.dtype(self.weights.dtype)

    @property
    def unused(self) -> tuple[str, ...]:
        """Tensors of the file that attention does not need: heads for other tasks, poolers."""
        return self.weights.unused

    @property
    def given(self) -> Tokens | None:
        """The tokens of an input that came with the weights and stands in for the text."""
        return None if self.bare is None else self.bare.tokens

    @property
    def decoder(self) -> Model | None:
        """The second stack of an encoder-decoder, as a model that shares weights and tokenizer; else None."""
        if self.spec.decoder is None:
            return None
        return Model(self.spec.decoder, self.weights.under("decoder"), self.tokenizer, self.provenance)

    @property
    def kinds(self) -> Mapping[str, ModelSpec]:
        """The kinds of attention there are, each with the spec of the stack that it happens in."""
        if self.spec.decoder is None:
            return {"self": self.spec}
        return {"encoder": self.spec, "decoder": self.spec.decoder, "cross": self.spec.decoder}

    @property
    def title(self) -> str:
        """The model in a few words: its name, and what its author says of it."""
        name = short_name(self.source)
        return f"{name}: {self.spec.description}" if self.spec.description else name

    def scale(self, layer: int) -> float:
        """What the scores of a layer are multiplied by."""
        return self.spec.scale_at(layer)

    def encode(
        self,
        text: str,
        pair: str | None = None,
        target: str | None = None,
        *,
        added: bool = True,
        literal: bool = False,
    ) -> Tokens:
        """The tokens of a text, or of a sentence pair; TextError if they do not fit the model.

        Where the weights came with an input of their own, its tokens, whatever the text.
        """
        if self.given is not None:
            return self.given
        if self.tokenizer is None:
            raise CheckpointError(
                f"{quote(self.source)}: no tokenizer file beside the weights", "give one with --tokenizer FILE"
            )
        self._not_far_too_long(text, literal=literal)
        tokens = self.tokenizer.encode(text, pair, added=added, literal=literal)
        self.check(tokens)
        if self.decoder is not None:
            tokens = replace(tokens, target=self._target(target, added=added, literal=literal))
        elif target is not None:
            raise TextError(f"this {self.spec.family} model has no decoder for a target", "leave out --target")
        return tokens

    def _not_far_too_long(self, text: str, *, literal: bool) -> None:
        """Refuses by its beginning a text that is many times too long, before all of it is tokenized."""
        most = self.spec.n_ctx
        if self.tokenizer is None or most is None or not self.spec.n_ctx_hard or len(text) < FAR * (most + 64):
            return
        count = len(self.tokenizer.encode(text[: FAR * most], added=False, literal=literal))
        if count > most + 16:  # the cut may have parted one word
            raise TextError(
                f"the text has more than {count - 16} tokens, the model takes at most {most}", "shorten the text"
            )

    def _target(self, text: str | None, *, added: bool, literal: bool) -> Tokens:
        """What the decoder reads: the target's tokens shifted right, or without a target the one it always starts with.

        As in training: a start token comes first, the last token is only ever predicted. Where there is no start token
        (mBART) the last token, which names the language, moves to the front.
        """
        tokenizer, decoder = self.tokenizer, self.decoder
        if tokenizer is None or decoder is None:
            raise ValueError("no tokenizer or no decoder")
        labels = tokenizer.encode(text or "", added=added or text is None, literal=literal)
        start = self.spec.decoder_start
        if start is None and not len(labels):
            raise no_tokens("target")
        tokens = labels.shifted() if start is None else labels.shifted(start, tokenizer.piece(start))
        tokens = tokens if text is not None else tokens.first()
        decoder.check(tokens, "target")
        return tokens

    def check(self, tokens: Tokens, what: str = "text") -> None:
        """TextError where the tokens are none, too many, beyond the embedding, or in segments the model lacks."""
        spec = self.spec
        if not len(tokens):
            raise no_tokens(what)
        if spec.n_ctx is not None and spec.n_ctx_hard and len(tokens) > spec.n_ctx:
            raise TextError(
                f"the {what} has {len(tokens)} tokens, the model takes at most {spec.n_ctx}", f"shorten the {what}"
            )
        if spec.n_segments and not spec.one_segment and max(tokens.segments) >= spec.n_segments:
            raise TextError(f"this {spec.family} model has no second segment", "leave out --pair")
        for i, id_ in enumerate(tokens.ids):
            if spec.vocab_size is not None and id_ >= spec.vocab_size:
                raise TextError(
                    f"token {quote(tokens.pieces[i])} has id {id_}, the embedding only {spec.vocab_size} rows",
                    "tokenizer and weights must come from the same checkpoint; or leave this token out of the text",
                )

    def inputs(self, tokens: Tokens) -> np.ndarray:
        """The tokens' own vectors, before positions: a fresh (tokens, d_model) array."""
        ids, index = np.unique(np.array(tokens.ids), return_inverse=True)
        return self.weights.rows("embed.token", ids.tolist())[index]

    def blocks(
        self,
        tokens: Tokens,
        select: str | Selection | Selections | None = None,
        *,
        kept: Kept | None = None,
        block_rows: int | None = None,
        text: int = 0,
        queries: Iterable[int] | None = None,
        reuse: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Block]:
        """The attention of the selected heads as a stream of blocks, layer after layer.

        `queries`: rows that are enough where only they need computing. `reuse`: a block's array is valid until the next
        block is taken, which saves memory and time. `threads`: None is one for a short text, else one for each core.
        `progress(iterable, total)`: items are taken from what it returns as the work gets on.
        """
        yield from blocks(
            self,
            tokens,
            self.selections(select),
            kept=kept or Kept(),
            block_rows=block_rows,
            text=text,
            queries=None if queries is None else frozenset(queries),
            reuse=reuse,
            threads=threads,
            progress=progress,
        )

    def selection(self, select: str | Selection | None) -> Selection:
        """Layers and heads by address: None is everything, "3" a layer, "3.1" a head."""
        if select is None:
            return {layer: tuple(range(self.spec.n_heads)) for layer in range(self.spec.n_layers)}
        if isinstance(select, str):
            from attn_cli.select import parse_heads

            return parse_heads(None, select, self.selection(None), bare="layer")
        return select

    def selections(self, select: str | Selection | Selections | None) -> Selections:
        """Layers and heads of each kind. An address without a kind means all kinds that have such a layer."""
        if isinstance(select, Mapping):
            by_kind = {k: v for k, v in select.items() if isinstance(k, str) and isinstance(v, Mapping)}
            by_layer = {k: v for k, v in select.items() if isinstance(k, int) and isinstance(v, tuple)}
            within = {kind: {k: v for k, v in by_layer.items() if k < s.n_layers} for kind, s in self.kinds.items()}
            return by_kind or within
        every = {
            kind: {layer: tuple(range(spec.n_heads)) for layer in range(spec.n_layers)}
            for kind, spec in self.kinds.items()
        }
        if select is None:
            return every
        from attn_cli.errors import UsageError
        from attn_cli.select import parse_heads

        found, lacking = {}, None
        for kind, there in every.items():
            try:
                found[kind] = parse_heads(None, select, there, bare="layer")
            except UsageError as error:
                lacking = error
        if not found and lacking is not None:
            raise lacking
        return found

    def attend(
        self,
        text: str,
        pair: str | None = None,
        target: str | None = None,
        select: str | Selection | Selections | None = None,
        keep: tuple[str, ...] = (),
    ) -> Attention:
        """Runs a text and gathers all selected attention, and what `keep` names."""
        keep = (keep,) if isinstance(keep, str) else tuple(keep)
        unknown = [k for k in keep if k not in KEEP]
        if unknown:
            raise ValueError(f"keep knows {', '.join(KEEP)}; not {unknown[0]!r}")
        tokens = self.encode(text, pair, target)
        chosen = self.selections(select)
        gathered: dict[str, dict[int, np.ndarray]] = {kind: {} for kind in chosen}
        kept = Kept(tuple(keep))
        for block in self.blocks(tokens, chosen, kept=kept, reuse=True):
            of_kind = gathered[block.kind]
            if block.layer not in of_kind:
                shape = (len(block.heads), len(block.query_tokens), len(block.key_tokens))
                of_kind[block.layer] = np.zeros(shape, self.weights.dtype)
            whole = of_kind[block.layer]
            rows, columns = slice(block.queries.start, block.queries.stop), slice(block.keys.start, block.keys.stop)
            whole[:, rows, columns] = block.attn
        return Attention(tokens, chosen, gathered, kept)


def no_tokens(what: str) -> TextError:
    """The error where a text gives nothing to work on."""
    return TextError(f"the {what} has no tokens", f"give a {what} with at least one visible character")


def short_name(source: str) -> str:
    """A long path by its last two parts."""
    parts = source.replace("\\", "/").rstrip("/").split("/")
    return "\u2026/" + "/".join(parts[-2:]) if len(parts) > 3 else source


class Attention:
    """The result of `Model.attend`; all arrays are read-only."""

    def __init__(
        self, tokens: Tokens, selections: Selections, gathered: Mapping[str, Mapping[int, np.ndarray]], kept: Kept
    ) -> None:
        self.tokens = tokens
        self.target_tokens = tokens.target
        self.kinds = tuple(selections)
        self._selections = selections
        self._gathered = gathered
        arrays: dict[str, np.ndarray] = {k: np.stack(v) for k, v in kept.layers.items()} | kept.single
        self.kept: Mapping[str, np.ndarray] = arrays
        for array in (*(a for layers in gathered.values() for a in layers.values()), *arrays.values()):
            array.flags.writeable = False

    @property
    def attn(self) -> np.ndarray:
        """(layers, heads, queries, keys); ValueError where the selected layers have different numbers of heads."""
        return self[self._only_kind()]

    def __getitem__(self, kind: str) -> np.ndarray:
        """The attention of one kind, `self`, or `encoder`, `decoder` and `cross`: (layers, heads, queries, keys)."""
        if kind not in self.kinds:
            raise KeyError(kind)
        if len({len(h) for h in self._selections[kind].values()}) != 1:
            raise ValueError("the selection is ragged: use head(layer, head)")
        stacked = np.stack([self._gathered[kind][layer] for layer in sorted(self._gathered[kind])])
        stacked.flags.writeable = False
        return stacked

    def head(self, layer: int, head: int, kind: str | None = None) -> np.ndarray:
        """(queries, keys) of one head; KeyError if it was not selected."""
        kind = self._only_kind() if kind is None else kind
        selection = self._selections.get(kind, {})
        if head not in selection.get(layer, ()):
            raise KeyError(f"L{layer}.H{head}")
        found: np.ndarray = self._gathered[kind][layer][selection[layer].index(head)]
        return found

    def _only_kind(self) -> str:
        if len(self.kinds) != 1:
            raise ValueError(f"an encoder-decoder has several kinds of attention: name one of {', '.join(self.kinds)}")
        return self.kinds[0]
