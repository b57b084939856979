"""Small models of the kinds that people ship, in plain torch.nn; importing this needs torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its customary name

WIDTH, HEADS, SHARED = 32, 4, 2


class Block(nn.Module):
    """Attention and a perceptron, norms first; the mask is of keys."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Any, mask: Any = None) -> Any:
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, HEADS, -1).transpose(1, 2)
            for part in self.qkv(self.first(x)).chunk(3, -1)
        )
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.second(x))))


class ViT(nn.Module):
    """Patches, a class token, places, two blocks, a classifier (Dosovitskiy et al., 2020)."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, WIDTH) / 4)
        self.places = nn.Parameter(torch.randn(1, 17, WIDTH) / 4)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10)

    def forward(self, images: Any) -> Any:
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class Bert(nn.Module):
    """Words, places and segments, two blocks under a mask, a pooler (Devlin et al., 2018)."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50, WIDTH), nn.Embedding(64, WIDTH)
        self.segments, self.norm = nn.Embedding(2, WIDTH), nn.LayerNorm(WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.pooler = nn.Linear(WIDTH, WIDTH)

    def forward(self, ids: Any, segments: Any, mask: Any) -> Any:
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.places(places) + self.segments(segments))
        for block in self.blocks:
            x = block(x, mask[:, None, None, :])
        return x, torch.tanh(self.pooler(x[:, 0]))


class Decoder(nn.Module):
    """One layer of Llama: RMS norms, rotary places, shared heads, a cache, a gated perceptron."""

    def __init__(self) -> None:
        super().__init__()
        size = WIDTH // HEADS
        self.first, self.second = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.out = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.k = nn.Linear(WIDTH, SHARED * size, bias=False)
        self.v = nn.Linear(WIDTH, SHARED * size, bias=False)
        self.gate, self.up = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Any, cos: Any, sin: Any, past_key: Any, past_value: Any) -> Any:
        batch, length, _ = x.shape

        def heads(made: Any, count: int) -> Any:
            return made.view(batch, length, count, -1).transpose(1, 2)

        y = self.first(x)
        q = _rotated(heads(self.q(y), HEADS), cos, sin)
        k = torch.cat([past_key, _rotated(heads(self.k(y), SHARED), cos, sin)], 2)
        v = torch.cat([past_value, heads(self.v(y), SHARED)], 2)
        rows = torch.arange(length)[:, None] + past_key.shape[2]
        mask = torch.arange(k.shape[2])[None] <= rows
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)), k, v


def _rotated(x: Any, cos: Any, sin: Any) -> Any:
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class Llama(nn.Module):
    """Words, two layers with a cache, the words' weights as a head (Touvron et al., 2023)."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, WIDTH)
        self.layers, self.norm = nn.ModuleList([Decoder(), Decoder()]), nn.RMSNorm(WIDTH)
        size = WIDTH // HEADS
        angles = torch.arange(64)[:, None] * 100.0 ** (-torch.arange(size // 2) / (size // 2))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids: Any, keys: Any, values: Any) -> Any:
        x = self.words(ids)
        places = torch.arange(ids.shape[1]) + keys.shape[3]
        cos, sin = self.cos[places], self.sin[places]
        made = []
        for n, layer in enumerate(self.layers):
            x, *cache = layer(x, cos, sin, keys[n], values[n])
            made.append(cache)
        caches = (torch.stack([m[n] for m in made]) for n in range(2))
        return self.norm(x) @ self.words.weight.T, *caches


ARCHITECTURES: dict[str, tuple[type[nn.Module], list[str]]] = {
    "ViT": (ViT, ["images: float32[batch, 3, 32, 32]"]),
    "BERT": (
        Bert,
        [
            "ids: int64[batch, length in 2..64] in 0..49",
            "segments: int64[batch, length] in 0..1",
            "mask: bool[batch, length]",
        ],
    ),
    "Llama": (
        Llama,
        [
            "ids: int64[batch, length in 2..16] in 0..49",
            "keys: float32[2, batch, 2, past in 2..16, 8]",
            "values: float32[2, batch, 2, past, 8]",
        ],
    ),
}
