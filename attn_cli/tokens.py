"""Tokenizer files to Tokens: ids, pieces, readable text, spans of the given text, words, and what is special.

A piece is turned into the bytes it stands for, the bytes of neighbouring pieces are read as one UTF-8 stream, and each
piece is called by the characters it holds. A character that several pieces share is shown in each with a part mark.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attn_cli.errors import CheckpointError, quote

if TYPE_CHECKING:
    from tokenizers import Encoding
    from tokenizers import Tokenizer as Backend

Spelling = Literal["bytes", "metaspace", "wordpiece", "plain"]
MAX_TOKENIZER_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Tokens:
    """One text as a model reads it; every tuple has one entry per token.

    `spans` are code points of the given text (of the pair's text where `segments` is 1), None where the tokenizer added
    the token. `special` is `added` (by the tokenizer), `typed` (spelled in the text) or None. `unknown` tokens stand for what
    the vocabulary does not hold: their piece is [UNK] or the like, their text what they stand for.
    """

    text: str | None
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    texts: tuple[str, ...]
    spans: tuple[tuple[int, int] | None, ...]
    words: tuple[int | None, ...]
    special: tuple[Literal["added", "typed"] | None, ...]
    segments: tuple[int, ...]
    unknown: tuple[bool, ...]
    pair: str | None = None
    target: Tokens | None = None  # what the decoder reads, of an encoder-decoder

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def continues(self) -> tuple[bool, ...]:
        """Whether each token goes on with the word of the token before it."""
        return tuple(
            i > 0 and w is not None and w == self.words[i - 1] and self.segments[i] == self.segments[i - 1]
            for i, w in enumerate(self.words)
        )

    def shifted(self, start: int | None = None, piece: str = "") -> Tokens:
        """One token to the right: the last is dropped and `start` put before; without a `start` the last moves there."""
        n = len(self)
        keep = [n - 1, *range(n - 1)] if start is None else list(range(n - 1))

        def moved(values: tuple[Any, ...], first: Any) -> tuple[Any, ...]:
            rest = tuple(values[i] for i in keep)
            return rest if start is None else (first, *rest)

        return replace(
            self,
            ids=moved(self.ids, start),
            pieces=moved(self.pieces, piece),
            texts=moved(self.texts, piece),
            spans=moved(self.spans, None),
            words=moved(self.words, None),
            special=moved(self.special, "added"),
            segments=moved(self.segments, 0),
            unknown=moved(self.unknown, False),
        )

    def first(self) -> Tokens:
        """The first token alone."""
        names = ("ids", "pieces", "texts", "spans", "words", "special", "segments", "unknown")
        firsts: dict[str, Any] = {name: getattr(self, name)[:1] for name in names}
        return replace(self, **firsts)

    @classmethod
    def given(cls, texts: Sequence[str]) -> Tokens:
        """Tokens that came with arrays of the user's own: names alone, each its own word."""
        n = len(texts)
        return cls(
            text=None,
            ids=(),
            pieces=tuple(texts),
            texts=tuple(texts),
            spans=(None,) * n,
            words=tuple(range(n)),
            special=(None,) * n,
            segments=(0,) * n,
            unknown=(False,) * n,
        )


class Tokenizer:
    """A tokenizer read from a folder's files. Truncation and padding that its file asks for are switched off."""

    def __init__(self, backend: Backend, source: str) -> None:
        backend.no_truncation()
        backend.no_padding()
        self.backend = backend
        self.source = source
        self.spelling = _spelling(backend)
        self._special = {i for i, t in backend.get_added_tokens_decoder().items() if t.special}
        self._unknown = _unknown_id(backend)

    @property
    def vocab_size(self) -> int:
        """How many ids it can give, added tokens included."""
        return self.backend.get_vocab_size()

    def piece(self, id_: int) -> str:
        """The spelling of an id in the vocabulary."""
        return self.backend.id_to_token(id_) or f"#{id_}"

    def encode(self, text: str, pair: str | None = None, *, added: bool = True, literal: bool = False) -> Tokens:
        """The tokens of a text or a sentence pair.

        `added=False` leaves out the tokens that the tokenizer adds; `literal=True` takes the spelling of a special token in
        the text as plain text.
        """
        self.backend.encode_special_tokens = literal
        clean, fixed_pair = _without_surrogates(text), None if pair is None else _without_surrogates(pair)
        encoding = self.backend.encode(clean, fixed_pair, add_special_tokens=added)
        sources = [None if s is None else (fixed_pair or "") if s else clean for s in encoding.sequence_ids]
        special = tuple(self._special_kinds(encoding, sources))
        unknown = tuple(s is None and i == self._unknown for s, i in zip(special, encoding.ids, strict=True))
        # some tokenizers call all of a pair segment 0; which text a token is of must be known all the same
        segments = tuple(max(t, s or 0) for t, s in zip(encoding.type_ids, encoding.sequence_ids, strict=True))
        spans = tuple(None if s == "added" else (a, b) for s, (a, b) in zip(special, encoding.offsets, strict=True))
        pieces, texts = list(encoding.tokens), list(_readable(encoding.tokens, special, self.spelling))
        for i in (i for i, lacks in enumerate(unknown) if lacks):
            pieces[i] = self.piece(encoding.ids[i])
            texts[i] = _covered(sources[i], encoding.offsets[i]) or pieces[i]
        return Tokens(
            text=text,
            pair=pair,
            ids=tuple(encoding.ids),
            pieces=tuple(pieces),
            texts=tuple(texts),
            spans=spans,
            words=_words(text, pair, texts, spans, special, encoding),
            special=special,
            segments=segments,
            unknown=unknown,
        )

    def _special_kinds(
        self, encoding: Encoding, sources: Sequence[str | None]
    ) -> list[Literal["added", "typed"] | None]:
        kinds: list[Literal["added", "typed"] | None] = []
        each = zip(encoding.ids, encoding.special_tokens_mask, sources, encoding.offsets, strict=True)
        for id_, mask, source, span in each:
            if mask or source is None:
                kinds.append("added")
            elif id_ == self._unknown and _covered(source, span) != self.piece(id_):
                kinds.append(None)  # it stands for a text, which is not its spelling
            else:
                kinds.append("typed" if id_ in self._special else None)
        return kinds


def open_tokenizer(files: Mapping[str, Path], *, model_type: str = "") -> Tokenizer | None:
    """The tokenizer of a folder's files: tokenizer.json, else vocab.txt, else vocab.json with merges.txt; None without any."""
    settings = _settings(files)
    if "tokenizer.json" in files:
        return Tokenizer(_from_json(files["tokenizer.json"]), str(files["tokenizer.json"]))
    if "vocab.txt" in files:
        return Tokenizer(_from_vocab_txt(files["vocab.txt"], settings), str(files["vocab.txt"]))
    if "vocab.json" in files and "merges.txt" in files:
        backend = _from_merges(files["vocab.json"], files["merges.txt"], settings)
        return Tokenizer(backend, str(files["vocab.json"]))
    return None


def open_tokenizer_file(path: Path) -> Tokenizer:
    """The tokenizer in one file, named by the user: a tokenizer.json, or a vocab.txt."""
    if path.is_dir():
        names = ("tokenizer.json", "vocab.txt", "vocab.json", "merges.txt", "tokenizer_config.json")
        found = open_tokenizer({n: path / n for n in names if (path / n).is_file()})
        if found is None:
            raise CheckpointError(f"{quote(str(path))}: no tokenizer in this folder", "name a tokenizer.json")
        return found
    return Tokenizer(_from_vocab_txt(path, {}) if path.suffix == ".txt" else _from_json(path), str(path))


def _bounded(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise CheckpointError(f"{quote(str(path))}: not a file", "name a tokenizer.json")
        if path.stat().st_size > MAX_TOKENIZER_BYTES:
            raise CheckpointError(f"{quote(str(path))}: too large for a tokenizer file", "name a tokenizer.json")
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"{quote(str(path))}: {error.strerror or error}", "check the path and its permissions"
        ) from None


def _from_json(path: Path) -> Backend:
    import tokenizers

    data = _bounded(path)
    try:
        return tokenizers.Tokenizer.from_buffer(data)
    except Exception as error:  # the library raises bare Exception for whatever it cannot read
        reason = quote(str(error).splitlines()[0] if str(error) else "unreadable")
        what = "is empty" if not data.strip() else "cannot be read by tokenizers " + tokenizers.__version__
        raise CheckpointError(
            f"{quote(str(path))}: {what}: {reason}",
            "it may be damaged, or written for a newer release of the tokenizers package",
        ) from None


def _settings(files: Mapping[str, Path]) -> Mapping[str, Any]:
    if "tokenizer_config.json" not in files:
        return {}
    try:
        found = json.loads(_bounded(files["tokenizer_config.json"]).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}  # only refines what the vocabulary files say; without it their defaults hold
    return found if isinstance(found, dict) else {}


def _from_vocab_txt(path: Path, settings: Mapping[str, Any]) -> Backend:
    """WordPiece as BERT's own tokenizer does it (Devlin 2019); lower-casing unless tokenizer_config.json says otherwise."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    vocab = {line: i for i, line in enumerate(_lines(path))}
    lacking = [t for t in ("[UNK]", "[CLS]", "[SEP]") if t not in vocab]
    if lacking:
        raise CheckpointError(
            f"{quote(str(path))}: no {', '.join(lacking)} in this vocabulary",
            "a vocab.txt must be a WordPiece vocabulary; give --tokenizer tokenizer.json otherwise",
        )
    lower = settings.get("do_lower_case", True) is not False
    accents = settings.get("strip_accents")
    backend = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True) is not False,
        strip_accents=accents if isinstance(accents, bool) else None,
        lowercase=lower,
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])],
    )
    names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    backend.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in names if t in vocab])
    return backend


def _from_merges(vocab_path: Path, merges_path: Path, settings: Mapping[str, Any]) -> Backend:
    """Byte-level BPE as GPT-2 has it (Radford 2019, section 2.2), from vocab.json and merges.txt."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

    try:
        vocab = json.loads(_bounded(vocab_path).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{quote(str(vocab_path))}: not valid JSON: {quote(str(error))}", "fetch it again"
        ) from None
    if not isinstance(vocab, dict) or not all(type(i) is int and 0 <= i < 2**31 for i in vocab.values()):
        raise CheckpointError(f"{quote(str(vocab_path))}: not a map from pieces to ids", "fetch it again")
    merges = []
    for line in _lines(merges_path):
        pair = line.split(" ")
        if line.startswith("#version") or not line:
            continue
        if len(pair) != 2:
            raise CheckpointError(f"{quote(str(merges_path))}: {quote(line)} is not a pair of pieces", "fetch it again")
        merges.append((pair[0], pair[1]))
    try:
        backend = Tokenizer(models.BPE(vocab, merges))
    except Exception as error:  # bare Exception from the library: a merge whose pieces are not in the vocabulary
        raise CheckpointError(
            f"{quote(str(merges_path))}: {quote(str(error))}", "vocab.json and merges.txt must belong together"
        ) from None
    prefix_space = settings.get("add_prefix_space") is True
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    backend.decoder = decoders.ByteLevel()
    names = ("<|endoftext|>", "<s>", "<pad>", "</s>", "<unk>")
    special = [AddedToken(t, normalized=False, special=True) for t in names if t in vocab]
    if "<mask>" in vocab:
        special.append(AddedToken("<mask>", normalized=False, special=True, lstrip=True))
    backend.add_special_tokens(special)
    start = _spelled(settings.get("bos_token"))
    if {"<s>", "</s>", "<mask>"} <= vocab.keys():  # RoBERTa's vocabulary, BART's too (Liu 2019, section 4.2)
        backend.post_processor = processors.RobertaProcessing(
            ("</s>", vocab["</s>"]), ("<s>", vocab["<s>"]), trim_offsets=True, add_prefix_space=prefix_space
        )
    elif settings.get("add_bos_token") is True and start in vocab:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{start} $A", pair=f"{start} $A {start}:1 $B:1", special_tokens=[(start, vocab[start])]
        )
    return backend


def _spelled(token: Any) -> str:
    """A special token's spelling in tokenizer_config.json, which is a text or an object that holds it."""
    found = token.get("content") if isinstance(token, Mapping) else token
    return found if isinstance(found, str) else ""


def _lines(path: Path) -> list[str]:
    try:
        text = _bounded(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{quote(str(path))}: not UTF-8 at byte {error.start}", "fetch the file again") from None
    lines = text.split("\n")  # not splitlines: a vocabulary may hold other line separators as tokens
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def _unknown_id(backend: Backend) -> int | None:
    """The token that stands for what the vocabulary does not hold; None where there is nothing that it does not."""
    model: Any = backend.model
    if type(model).__name__ != "Unigram":
        spelled = getattr(model, "unk_token", None)
        return None if spelled is None else backend.token_to_id(spelled)
    try:
        found = model.tokenize("\U0010ffff")  # never a character, so in no vocabulary
    except Exception:  # bare Exception from the library: the vocabulary has no such token
        return None
    return found[0].id if len(found) == 1 else None


def _covered(text: str | None, span: tuple[int, int]) -> str:
    return (text or "")[span[0] : span[1]].strip()


def _spelling(backend: Backend) -> Spelling:
    """How pieces spell text: read off the decoder, which exists to undo it."""
    state = b""
    for part in (backend.decoder, backend.pre_tokenizer):
        if part is not None:
            state += part.__getstate__()
    if b'"ByteLevel"' in state:
        return "bytes"
    if b'"WordPiece"' in state or type(backend.model).__name__ == "WordPiece":
        return "wordpiece"
    if b'"Metaspace"' in state or b"\xe2\x96\x81" in state or b"\\u2581" in state:
        return "metaspace"
    return "metaspace" if type(backend.model).__name__ == "Unigram" else "plain"


@cache
def _byte_of() -> dict[str, int]:
    """GPT-2's printable stand-ins: bytes that print stand for themselves, the others for code points from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in set(printable)]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}


def _piece_bytes(piece: str, spelling: Spelling) -> bytes:
    if spelling == "bytes":
        table = _byte_of()
        if all(c in table for c in piece):
            return bytes(table[c] for c in piece)
    elif spelling == "metaspace":
        if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            try:
                return bytes([int(piece[3:5], 16)])
            except ValueError:
                pass
        piece = piece.replace("\u2581", " ")
    elif spelling == "wordpiece" and piece.startswith("##") and len(piece) > 2:
        piece = piece[2:]
    return piece.encode("utf-8", "surrogatepass")


def _readable(pieces: Sequence[str], special: Sequence[str | None], spelling: Spelling) -> tuple[str, ...]:
    """What each piece says, as text."""
    whole: dict[str, str | None] = {}  # a long text has few different pieces: each is read once
    texts = ["" if s is None else p for p, s in zip(pieces, special, strict=True)]
    parts: list[int] = []  # neighbours that are no whole characters by themselves
    for i, piece in enumerate(pieces):
        if special[i] is not None:
            continue
        if piece not in whole:
            whole[piece] = _characters(_piece_bytes(piece, spelling))
        text = whole[piece]
        if text is None:
            parts.append(i)
            continue
        if parts:  # no character reaches into a piece that is one by itself
            _join(parts, pieces, spelling, texts)
            parts = []
        texts[i] = text
    _join(parts, pieces, spelling, texts)
    # one space before a word only says that a word begins
    return tuple(t[1:] if len(t) > 1 and t[0] == " " and not t[1].isspace() else t for t in texts)


def _characters(data: bytes) -> str | None:
    """The characters that bytes are; None where they are cut, no UTF-8, or nothing at all."""
    try:
        return data.decode("utf-8", "surrogatepass") or None
    except UnicodeDecodeError:
        return None


def _join(tokens: Sequence[int], pieces: Sequence[str], spelling: Spelling, texts: list[str]) -> None:
    """Reads pieces as one stream of bytes and adds to each one's text the characters it has a part in."""
    stream = [(i, b) for i in tokens for b in _piece_bytes(pieces[i], spelling)]
    at = 0
    while at < len(stream):
        length = _character_length(bytes(b for _, b in stream[at : at + 4]))
        owners = [t for t, _ in stream[at : at + max(length, 1)]]
        if length == 0:
            texts[owners[0]] += f"\\x{stream[at][1]:02X}"
        else:
            character = bytes(b for _, b in stream[at : at + length]).decode("utf-8", "surrogatepass")
            parts = list(dict.fromkeys(owners))
            for part, owner in enumerate(parts, 1):
                texts[owner] += character if len(parts) == 1 else f"{character}[{part}/{len(parts)}]"
        at += max(length, 1)


def _character_length(head: bytes) -> int:
    """Bytes of the UTF-8 character that `head` begins with; 0 if it is none."""
    if head[0] < 0x80:
        return 1
    for length in (2, 3, 4):
        if len(head) >= length:
            try:
                head[:length].decode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                continue
            return length
    return 0


def _without_surrogates(text: str) -> str:
    """Half characters cannot be encoded; each becomes the replacement character, so that offsets stay true."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text) if _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _words(
    text: str,
    pair: str | None,
    texts: Sequence[str],
    spans: Sequence[tuple[int, int] | None],
    special: Sequence[str | None],
    encoding: Encoding,
) -> tuple[int | None, ...]:
    """Word numbers: what the tokenizer split apart stays apart, and so do space, punctuation and ideographs."""
    words: list[int | None] = []
    word = -1
    ids, sequences = encoding.word_ids, encoding.sequence_ids
    for i, span in enumerate(spans):
        if special[i] is not None or span is None:
            words.append(None)
            continue
        before = spans[i - 1] if i else None
        goes_on = (
            before is not None
            and words[i - 1] is not None
            and sequences[i] == sequences[i - 1]
            and ids[i] == ids[i - 1]
            and _joined((pair or "") if sequences[i] == 1 else text, before, span)
        )
        word += not goes_on
        words.append(word)
    return tuple(words)


def _joined(text: str, before: tuple[int, int], span: tuple[int, int]) -> bool:
    """Whether two neighbouring spans belong to one word of the text."""
    if span[0] < before[1]:
        return True  # pieces of one character
    if span[0] > before[1] or before[1] == 0 or span[0] == span[1]:
        return False
    return _in_word(text[before[1] - 1]) and _in_word(text[span[0]])


def _in_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN" and not _ideograph(character)


def _ideograph(character: str) -> bool:
    """Scripts written without spaces, where every character may be a word."""
    code = ord(character)
    return 0x2E80 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x3FFFF
