"""The tokenizer inside a GGUF file as one of the `tokenizers` package: BPE, SentencePiece or WordPiece.

What the keys mean is in llama.cpp's llama-vocab.cpp; the patterns are those of the tokenizer.json of the models named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attn_cli.errors import CheckpointError, UnsupportedError, quote
from attn_cli.tokens import Tokenizer

if TYPE_CHECKING:
    from tokenizers import AddedToken
    from tokenizers import Tokenizer as Backend

    from attn_cli.checkpoint.gguf import Gguf

_UNKNOWN, _CONTROL, _GIVEN, _BYTE = 2, 3, 4, 6  # kinds of token; 1 is plain, 5 is not used
_HINT = "give the model's tokenizer.json with --tokenizer"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_REST}"
_QWEN2 = rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_REST}"
_CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
)
_GPT4O = "|".join(
    (*(f"{c}{_ENDINGS}?" for c in _CASED), r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
)
_TEKKEN = "|".join((*_CASED, r"\p{N}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"))
_CJK = "\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7a3"
_DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS: dict[str, tuple[str, ...]] = {  # text is cut by each in turn; every match and every gap is a part
    "gpt-2": (_GPT2,),
    "llama-bpe": (_LLAMA3,),
    "qwen2": (_QWEN2,),
    "smollm": (r"\p{N}", _GPT2),
    "falcon": (r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]"),
    "default": (r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"),
    "deepseek-coder": ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", f"[{_CJK}]+", r"\p{N}"),
    "deepseek-v3": (r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", _DEEPSEEK3),
    "gpt-4o": (_GPT4O,),
    "tekken": (_TEKKEN,),
    "bloom": (" ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+",),
}
_SAME = {
    "gpt-2": "mpt olmo jais phi-2 gpt2 gptneox dolma",
    "llama-bpe": "llama3 llama-v3 falcon3 dbrx smaug-bpe chatglm-bpe glm4 pixtral",
    "qwen2": "stablelm2 deepseek-r1-qwen megrez hunyuan",
    "smollm": "starcoder refact command-r codeshell exaone",
    "gpt-4o": "llama4",
    "bloom": "poro-chat gpt3-finnish",
}
PATTERNS |= {name: PATTERNS[first] for first, names in _SAME.items() for name in names.split()}
_IGNORE_MERGES = (
    "llama-bpe",
    "llama3",
    "llama-v3",
    "tekken",
    "pixtral",
    "falcon3",
)  # a whole word that is a token stays one
_NFC = ("qwen2", "deepseek-r1-qwen", "stablelm2")  # normalised first by the models' own tokenizers


def read_tokenizer(source: Gguf) -> Tokenizer | None:
    """The tokenizer in an open GGUF file; None if it has none."""
    fields, name = source.fields, f"the tokenizer in {quote(str(source.path))}"
    whole = fields.get("tokenizer.huggingface.json")
    kind = fields.get("tokenizer.ggml.model")
    if not isinstance(whole, str) and (kind in (None, "none", "no_vocab") or "tokenizer.ggml.tokens" not in fields):
        return None
    builders = {"gpt2": _bpe, "llama": _sentencepiece, "bert": _wordpiece}
    if not isinstance(whole, str) and kind not in builders:
        raise UnsupportedError(f"{name} is of kind {quote(str(kind))}, which is not supported", _HINT)
    try:
        if isinstance(whole, str):
            import tokenizers

            return Tokenizer(tokenizers.Tokenizer.from_str(whole), str(source.path))
        return Tokenizer(builders[str(kind)](_Vocabulary(fields, name)), str(source.path))
    except (CheckpointError, UnsupportedError):
        raise
    except Exception as error:  # the library raises bare Exception for whatever it cannot use
        reason = quote(str(error).splitlines()[0] if str(error) else "unreadable")
        raise CheckpointError(f"{name} cannot be used: {reason}", _HINT) from None


def tokenizer_notes(source: Gguf) -> tuple[str, ...]:
    """What a user should know of the tokenizer in the file."""
    named = {"tokenizer.ggml.pre", "tokenizer.huggingface.json"} & source.fields.keys()
    if source.fields.get("tokenizer.ggml.model") != "gpt2" or named:
        return ()
    return ("the file does not say how text is cut into words (tokenizer.ggml.pre); llama.cpp's default is used",)


class _Vocabulary:
    """Pieces, their kinds, and the ids that have a part to play."""

    def __init__(self, fields: Mapping[str, Any], name: str) -> None:
        self.fields, self.name = fields, name
        self.pieces: list[str] = self.texts("tokens")
        kinds = self.get("token_type", ())
        self.kinds = kinds.tolist() if hasattr(kinds, "tolist") and len(kinds) == len(self.pieces) else []

    def get(self, key: str, default: Any = None) -> Any:
        return self.fields.get(f"tokenizer.ggml.{key}", default)

    def texts(self, key: str) -> list[str]:
        found = self.get(key)
        if not isinstance(found, list):
            raise CheckpointError(f"{self.name} has no list of {key}", _HINT)
        return found

    def token(self, *keys: str, spelled: str = "") -> str | None:
        """The piece whose id stands under the first of `keys` that is there, or the one spelled so."""
        for key in keys:
            id_ = self.get(f"{key}_token_id")
            if type(id_) is int and 0 <= id_ < len(self.pieces):
                return self.pieces[id_]
        return spelled if spelled in self.pieces else None

    def added(self, pieces: Sequence[str]) -> tuple[list[AddedToken], list[AddedToken]]:
        """Tokens that are found in text as they stand: special ones, and others."""
        from tokenizers import AddedToken

        special = [p for p, k in zip(pieces, self.kinds, strict=False) if k in (_CONTROL, _UNKNOWN) and p]
        given = [p for p, k in zip(pieces, self.kinds, strict=False) if k == _GIVEN and p]
        return (
            [AddedToken(p, normalized=False, special=True) for p in special],
            [AddedToken(p, normalized=False, special=False) for p in given],
        )

    def template(self, *, bos: bool, eos: bool) -> Any:
        """What is added around a text: a beginning and an end, as far as the file wants them."""
        from tokenizers import processors

        start = self.token("bos") if self.flag("add_bos_token", bos) else None
        end = self.token("eos") if self.flag("add_eos_token", eos) else None
        if start is None and end is None:
            return None
        for piece in filter(None, (start, end)):
            if piece.startswith("$") or ":" in piece:  # a template would take it for something else
                raise CheckpointError(f"{self.name} begins or ends texts with {quote(piece)}, which cannot be", _HINT)
        parts = [[*([start] if start else []), "$A", *([end] if end else [])]]
        parts.append([*parts[0], *([f"{start}:1"] if start else []), "$B:1", *([f"{end}:1"] if end else [])])
        special = [(p, self.pieces.index(p)) for p in dict.fromkeys((start, end)) if p]
        return processors.TemplateProcessing(single=parts[0], pair=parts[1], special_tokens=special)

    def flag(self, key: str, default: bool) -> bool:
        value = self.get(key)
        return value if isinstance(value, bool) else default

    def ids(self) -> dict[str, int]:
        """The id of each piece; the first, where one stands twice."""
        last = len(self.pieces) - 1
        return {piece: last - i for i, piece in enumerate(reversed(self.pieces))}


def _bpe(vocabulary: _Vocabulary) -> Backend:
    """Byte-level BPE (Radford 2019, section 2.2), the text first cut by the patterns of its kind."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    pre = vocabulary.get("pre", "default")
    if pre not in PATTERNS:
        known = ", ".join(PATTERNS)
        raise UnsupportedError(
            f"{vocabulary.name} cuts text in the way {quote(str(pre))}, which is not known (known: {known})", _HINT
        )
    merges: Any = [tuple(merge.split(" ", 1)) for merge in vocabulary.texts("merges")]
    backend = Tokenizer(models.BPE(vocabulary.ids(), merges, ignore_merges=pre in _IGNORE_MERGES))
    if pre in _NFC:
        backend.normalizer = normalizers.NFC()
    cuts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in PATTERNS[pre]]
    prefix = vocabulary.flag("add_space_prefix", False)
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([*cuts, bytes_])
    backend.decoder = decoders.ByteLevel()
    around = vocabulary.template(bos=pre in _IGNORE_MERGES, eos=False)
    if around is not None:
        backend.post_processor = around
    _add(backend, vocabulary, vocabulary.pieces)
    return backend


def _sentencepiece(vocabulary: _Vocabulary) -> Backend:
    """SentencePiece's BPE (Kudo 2018, arXiv 1808.06226) with bytes for what it lacks; a merge ranks as its result scores."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    scores = vocabulary.get("scores")
    if scores is None or len(scores) != len(vocabulary.pieces):
        raise CheckpointError(f"{vocabulary.name} has no score for each of its tokens", _HINT)
    ids = vocabulary.ids()
    unknown = vocabulary.token("unknown", spelled="<unk>")
    merges = _merges(ids, scores.tolist(), vocabulary.kinds)
    backend = Tokenizer(models.BPE(ids, merges, unk_token=unknown, fuse_unk=True, byte_fallback=True))
    spaces = normalizers.Replace(" ", "\u2581")
    prefix = vocabulary.flag("add_space_prefix", True)
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), spaces]) if prefix else spaces
    last = [decoders.Strip(" ", 1, 0)] if prefix else []
    backend.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), *last]
    )
    around = vocabulary.template(bos=True, eos=False)
    if around is not None:
        backend.post_processor = around
    _add(backend, vocabulary, vocabulary.pieces)
    return backend


def _merges(ids: Mapping[str, int], scores: Sequence[float], kinds: Sequence[int]) -> list[tuple[str, str]]:
    """Every way to put a plain piece together from two others; best score first, then in the pieces' own order."""
    found: list[tuple[float, int, int, str, str]] = []
    for piece, id_ in ids.items():
        if len(piece) < 2 or (kinds and kinds[id_] not in (1, _GIVEN)):
            continue
        score = -scores[id_]
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in ids and right in ids:
                found.append((score, ids[left], ids[right], left, right))
    found.sort()
    return [(left, right) for _, _, _, left, right in found]


def _wordpiece(vocabulary: _Vocabulary) -> Backend:
    """BERT's WordPiece (Devlin 2019). In the file a word's beginning is marked, in BERT its continuation."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    special = {i for i, kind in enumerate(vocabulary.kinds) if kind in (_CONTROL, _UNKNOWN)}

    def original(id_: int, piece: str) -> str:
        if piece.startswith("\u2581"):
            return piece[1:]
        whole = id_ in special or (piece.startswith("[") and piece.endswith("]") and len(piece) > 2)
        return piece if whole else f"##{piece}"

    pieces = [original(id_, piece) for id_, piece in enumerate(vocabulary.pieces)]
    cls, sep, unknown = (
        vocabulary.token("cls", "bos", spelled="[CLS]"),
        vocabulary.token("seperator", "separator", "eos", spelled="[SEP]"),
        vocabulary.token("unknown", spelled="[UNK]"),
    )
    if cls is None or sep is None or unknown is None:
        raise CheckpointError(f"{vocabulary.name} lacks [CLS], [SEP] or [UNK]", _HINT)
    ids = {piece: id_ for id_, piece in reversed(list(enumerate(pieces)))}
    cased = any(p != p.lower() for i, p in enumerate(pieces) if i not in special and not p.startswith("["))
    backend = Tokenizer(models.WordPiece(ids, unk_token=unknown, max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single=[cls, "$A", sep],
        pair=[cls, "$A", sep, "$B:1", f"{sep}:1"],
        special_tokens=[(cls, ids[cls]), (sep, ids[sep])],
    )
    _add(backend, vocabulary, pieces)
    return backend


def _add(backend: Backend, vocabulary: _Vocabulary, pieces: Sequence[str]) -> None:
    special, given = vocabulary.added(pieces)
    backend.add_special_tokens(special)
    backend.add_tokens(given)
