"""A checkpoint's config, read so that nothing is passed over: each key is understood, known to change no number, or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from attn_cli.errors import CheckpointError, UnsupportedError
from attn_cli.spec import Activation

BOOKKEEPING = frozenset(
    """
    _name_or_path architectures attn_cli auto_map classifier_dropout finetuning_task gradient_checkpointing
    id2label label2id initializer_range initializer_factor language languages model_type name_or_path num_labels
    _num_labels output_attentions output_hidden_states output_past problem_type return_dict task_specific_params
    tokenizer_class torch_dtype dtype torchscript transformers_version use_cache attention_dropout
    attention_probs_dropout_prob attn_pdrop embd_pdrop hidden_dropout_prob hidden_dropout resid_pdrop dropout
    show_layer summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj bad_words_ids
    begin_suppress_tokens bos_token_id chunk_size_feed_forward cross_attention_hidden_size
    decoder_start_token_id diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size eos_token_id
    exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id length_penalty max_length
    min_length no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_scores pad_token_id
    prefix remove_invalid_values repetition_penalty return_dict_in_generate sep_token_id suppress_tokens
    temperature tf_legacy_loss tie_encoder_decoder tie_word_embeddings top_k top_p typical_p use_bfloat16
    mask_token_id cls_token_id unk_token_id pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers
    pooler_size_per_head pooler_type directionality gradient_checkpointing_kwargs n_ctx reorder_and_upcast_attn
    output_router_logits router_aux_loss_coef router_jitter_noise residual_dropout embedding_dropout
    resid_dropout embed_dropout activation_dropout layerdrop init_std emb_pdrop pretraining_tp
    attn_implementation _attn_implementation _attn_implementation_autoset _flash_attn_2_enabled use_flash_attn
    cache_implementation model_max_length tokenizer_model_max_length max_sequence_length unsloth_fixed unsloth_version
    transformers.js_config
    """.split()
)
"""Config keys that change no number here: names, versions, training, generation, labels, heads for other tasks."""


class ConfigReader:
    """Reads a config and remembers which keys were read, so that what was not understood can be named.

    null counts as absent. `finish` refuses any other key that holds something, unless it is bookkeeping or ignored.
    """

    def __init__(self, config: Mapping[str, Any], *, ignore: tuple[str, ...] = (), where: str = "config.json") -> None:
        self._config = config
        self._assumed: dict[str, Any] = {}
        self._ignore = ignore
        self._read: set[str] = set()
        self._neutral: dict[str, Any] = {}
        self.where = where

    def assume(self, **values: Any) -> None:
        """What the family's config class has where a key is absent; a key that is null stays without a value.

        The first to assume a value for a key wins: a relative speaks before the family it builds on.
        """
        self._assumed = {**values, **self._assumed}

    def _get(self, names: tuple[str, ...], kind: Callable[[Any], bool], wanted: str, default: Any) -> Any:
        self._read.update(names)
        for name in names:
            value = self._config.get(name)
            if value is None and name not in self._config and not any(n in self._config for n in names):
                value = self._assumed.get(name)
            if value is None:
                continue
            if not kind(value):
                raise CheckpointError(
                    f"{self.where}: {name} should be {wanted}, not {_short(value)}",
                    "compare the file with the original checkpoint's",
                )
            return value
        if default is _MISSING:
            raise CheckpointError(
                f"{self.where}: {names[0]} is missing", "compare the file with the original checkpoint's"
            )
        return default

    def size(self, *names: str, default: Any = ...) -> int:
        """A whole number above zero; the first of `names` that is present."""
        value = self._get(names, lambda v: type(v) is int and 0 < v < 2**31, "a whole number above 0", _or(default))
        return value  # type: ignore[no-any-return]

    def optional_size(self, *names: str) -> int | None:
        """As `size`, or None where absent."""
        return self.size(*names, default=None)

    def token_id(self, *names: str, default: Any = ...) -> int:
        """A token's id: a whole number, not below 0."""
        value = self._get(names, lambda v: type(v) is int and 0 <= v < 2**31, "a token's id", _or(default))
        return value  # type: ignore[no-any-return]

    def count(self, *names: str, default: Any = ...) -> int:
        """A whole number, not below 0."""
        value = self._get(names, lambda v: type(v) is int and 0 <= v < 2**31, "a whole number", _or(default))
        return value  # type: ignore[no-any-return]

    def integer(self, *names: str, default: Any = ...) -> int:
        """A whole number, below 0 as well."""
        value = self._get(names, lambda v: type(v) is int and abs(v) < 2**31, "a whole number", _or(default))
        return value  # type: ignore[no-any-return]

    def above(self, name: str, value: int, least: int) -> int:
        """`value`, which was worked out from key `name`, refused unless it is above `least`."""
        if value <= least:
            raise CheckpointError(
                f"{self.where}: {name} is too small", "compare the file with the original checkpoint's"
            )
        return value

    def number(self, *names: str, default: Any = ...) -> float:
        """A finite number."""
        value = self._get(names, lambda v: type(v) in (int, float) and abs(v) < 1e38, "a number", _or(default))
        return _float(value)  # type: ignore[no-any-return]

    def positive(self, *names: str, default: Any = ...) -> float:
        """A finite number above zero."""
        value = self._get(names, lambda v: type(v) in (int, float) and 0 < v < 1e38, "a number above 0", _or(default))
        return _float(value)  # type: ignore[no-any-return]

    def optional_positive(self, *names: str) -> float | None:
        """As `positive`, or None where absent."""
        return self.positive(*names, default=None)

    def flag(self, *names: str, default: bool) -> bool:
        """true or false."""
        value: bool = self._get(names, lambda v: isinstance(v, bool), "true or false", default)
        return value

    def word(self, *names: str, default: Any = ...) -> str:
        """A string."""
        value: str = self._get(names, lambda v: isinstance(v, str), "a text", _or(default))
        return value

    def listing(self, *names: str) -> list[Any]:
        """A list of anything; empty where absent."""
        value: list[Any] = self._get(names, lambda v: isinstance(v, list), "a list", [])
        return value

    def words(self, *names: str, separator: str = "") -> tuple[str, ...]:
        """A list of strings, or with a `separator` one string of several; empty where absent."""
        value = self._get(
            names,
            lambda v: (
                (isinstance(v, list) and all(isinstance(i, str) for i in v)) or (separator != "" and isinstance(v, str))
            ),
            "a list of texts",
            (),
        )
        return tuple(w.strip() for w in value.lower().split(separator)) if isinstance(value, str) else tuple(value)

    def numbers(self, *names: str) -> tuple[float, ...]:
        """A list of finite numbers (true and false count as 1 and 0); empty where absent."""
        value = self._get(
            names,
            lambda v: isinstance(v, list) and all(isinstance(i, int | float) and abs(i) < 1e38 for i in v),
            "a list of numbers",
            (),
        )
        return tuple(float(i) for i in value)

    def per_layer(self, name: str, given: Sequence[Any], n_layers: int) -> None:
        """Refuses a list from key `name` that has not one entry for each layer."""
        if len(given) != n_layers:
            raise CheckpointError(
                f"{self.where}: {name} has {len(given)} entries for {n_layers} layers",
                "compare the file with the original checkpoint's",
            )

    def refuse(self, name: str, value: Any, computed: str) -> NoReturn:
        """UnsupportedError: key `name` asks for something else than what is `computed`."""
        raise UnsupportedError(
            f"{self.where}: {name} {_short(value)} is not supported", f"this program computes {computed}"
        )

    def mapping(self, *names: str) -> Mapping[str, Any]:
        """An object; empty where absent."""
        value: Mapping[str, Any] = self._get(names, lambda v: isinstance(v, Mapping), "an object", {})
        return value

    def activation(self, *names: str, default: str) -> Activation:
        """The activation under its exact name; Hugging Face's spellings are looked up here once."""
        return self.activation_named(names[0], self.word(*names, default=default))

    def activation_named(self, key: str, name: str) -> Activation:
        """As `activation`, of a name that was worked out from `key`."""
        if name not in ACTIVATIONS:
            raise UnsupportedError(
                f"{self.where}: {key} {_short(name)} is not supported", f"supported: {', '.join(sorted(ACTIVATIONS))}"
            )
        return ACTIVATIONS[name]

    def only(self, name: str, *allowed: Any) -> None:
        """Refuses a setting that would change the numbers in a way we do not compute."""
        value = self._config.get(name)
        self._read.add(name)
        if value is not None and value not in allowed:
            raise UnsupportedError(
                f"{self.where}: {name} = {_short(value)} is not supported",
                f"this program computes {name} = {' or '.join(_short(a) for a in allowed)}",
            )

    def ignore(self, *names: str) -> None:
        """Marks keys of this family that change no number."""
        self._read.update(names)

    def divided(self, name: str, total: int, by: str, parts: int) -> int:
        """total / parts, refused where that is not whole."""
        if total % parts:
            raise UnsupportedError(
                f"{self.where}: {by} {parts} does not divide {name} {total}",
                "compare the file with the original checkpoint's",
            )
        return total // parts

    def finish(self) -> tuple[str, ...]:
        """The ignored keys that were present; UnsupportedError naming every key that was not understood."""
        unknown = [
            k
            for k, v in self._config.items()
            if k not in self._read and k not in BOOKKEEPING and v not in (None, False, 0, "", [], {})
        ]
        refused = [k for k in unknown if k not in self._ignore]
        if refused:
            named = ", ".join(
                f"{k if k.isidentifier() else _short(k)} = {_short(self._config[k])}" for k in refused[:6]
            )
            raise UnsupportedError(
                f"{self.where}: unknown setting {named}"
                + (f" and {len(refused) - 6} more" if len(refused) > 6 else ""),
                "it may change the numbers; --ignore-key NAME goes on without it, and says so",
            )
        return tuple(k for k in unknown if k in self._ignore)


ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu_erf",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu2",
    "tanh": "tanh",
    "silu": "silu",
    "swish": "silu",
}

_MISSING = object()


def _float(value: Any) -> Any:
    return None if value is None else float(value)


def _or(default: Any) -> Any:
    return _MISSING if default is ... else default


def _short(value: Any) -> str:
    from attn_cli.errors import quote

    return quote(value if isinstance(value, str) else repr(value))
