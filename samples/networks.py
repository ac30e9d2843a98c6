"""Two small transformers in PyTorch, with the attention of every layer and the tensor names of their families."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as fn


class Layer(nn.Module):
    """A transformer layer; `post` norms after each sum as BERT does, otherwise before each part as GPT-2 does."""

    def __init__(self, d: int, heads: int, mlp: int, eps: float, post: bool) -> None:
        super().__init__()
        self.heads, self.post = heads, post
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, mlp), nn.Linear(mlp, d)
        self.norm1, self.norm2 = nn.LayerNorm(d, eps=eps), nn.LayerNorm(d, eps=eps)

    def attend(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads)
        attn = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return self.out((attn @ v).transpose(1, 2).reshape(b, n, d)), attn

    def feed(self, x: Tensor) -> Tensor:
        return self.down(fn.gelu(self.up(x), approximate="none" if self.post else "tanh"))

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        if self.post:
            y, attn = self.attend(x, mask)
            x = self.norm1(x + y)
            return self.norm2(x + self.feed(x)), attn
        y, attn = self.attend(self.norm1(x), mask)
        x = x + y
        return x + self.feed(self.norm2(x)), attn


class Network(nn.Module):
    def __init__(self, size: int, d: int, layers: int, heads: int, mlp: int, positions: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        eps = 1e-5 if causal else 1e-12
        self.words, self.positions = nn.Embedding(size, d), nn.Embedding(positions, d)
        self.types = None if causal else nn.Embedding(2, d)
        self.norm = nn.LayerNorm(d, eps=eps)
        self.layers = nn.ModuleList(Layer(d, heads, mlp, eps, post=not causal) for _ in range(layers))
        self.transform = None if causal else nn.Linear(d, d)
        self.transform_norm = None if causal else nn.LayerNorm(d, eps=eps)
        self.bias = None if causal else nn.Parameter(torch.zeros(size))
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.5 / math.sqrt(module.in_features))
                nn.init.zeros_(module.bias)
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.06)

    def forward(self, ids: Tensor, types: Tensor, real: Tensor) -> tuple[Tensor, list[Tensor]]:
        n = ids.shape[1]
        x = self.words(ids) + self.positions(torch.arange(n))
        mask = real[:, None, None, :]
        if self.types is not None:
            x = self.norm(x + self.types(types))
        else:
            mask = mask & torch.ones(n, n, dtype=torch.bool).tril()
        maps = []
        for layer in self.layers:
            x, attn = layer(x, mask)
            maps.append(attn)
        return self.norm(x) if self.causal else x, maps

    def logits(self, x: Tensor) -> Tensor:
        """Word scores of chosen positions, by the tied embedding."""
        if self.transform is not None and self.transform_norm is not None:
            return self.transform_norm(fn.gelu(self.transform(x))) @ self.words.weight.T + self.bias
        return x @ self.words.weight.T

    def tensors(self) -> dict[str, Tensor]:
        """The weights under the names of an ordinary checkpoint of the family."""
        return self._gpt2() if self.causal else self._bert()

    def _bert(self) -> dict[str, Tensor]:
        if self.types is None or self.transform is None or self.transform_norm is None or self.bias is None:
            raise TypeError("a causal network has no such names")
        out = {
            "bert.embeddings.word_embeddings.weight": self.words.weight,
            "bert.embeddings.position_embeddings.weight": self.positions.weight,
            "bert.embeddings.token_type_embeddings.weight": self.types.weight,
        }
        parts: dict[str, nn.Linear | nn.LayerNorm] = {"bert.embeddings.LayerNorm": self.norm}
        for i, layer in enumerate(self.layers):
            base = f"bert.encoder.layer.{i}."
            names = ("query", "key", "value")
            for name, w, b in zip(names, layer.qkv.weight.chunk(3), layer.qkv.bias.chunk(3), strict=True):
                out[f"{base}attention.self.{name}.weight"], out[f"{base}attention.self.{name}.bias"] = w, b
            parts |= {
                base + "attention.output.dense": layer.out,
                base + "attention.output.LayerNorm": layer.norm1,
                base + "intermediate.dense": layer.up,
                base + "output.dense": layer.down,
                base + "output.LayerNorm": layer.norm2,
            }
        parts["cls.predictions.transform.dense"] = self.transform
        parts["cls.predictions.transform.LayerNorm"] = self.transform_norm
        for name, part in parts.items():
            out[name + ".weight"], out[name + ".bias"] = part.weight, part.bias
        out["cls.predictions.bias"] = self.bias
        return out

    def _gpt2(self) -> dict[str, Tensor]:
        out = {
            "transformer.wte.weight": self.words.weight,
            "transformer.wpe.weight": self.positions.weight,
            "transformer.ln_f.weight": self.norm.weight,
            "transformer.ln_f.bias": self.norm.bias,
        }
        for i, layer in enumerate(self.layers):
            base = f"transformer.h.{i}."
            for name, norm in (("ln_1", layer.norm1), ("ln_2", layer.norm2)):
                out[f"{base}{name}.weight"], out[f"{base}{name}.bias"] = norm.weight, norm.bias
            linear = (
                ("attn.c_attn", layer.qkv),
                ("attn.c_proj", layer.out),
                ("mlp.c_fc", layer.up),
                ("mlp.c_proj", layer.down),
            )
            for name, part in linear:
                # this family stores its projections transposed
                out[f"{base}{name}.weight"], out[f"{base}{name}.bias"] = part.weight.T, part.bias
        return out
