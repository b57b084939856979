"""Models in plain torch.nn, with the specifications of their inputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Block(nn.Module):
    """A residual block; the addition and the activations are in place, as in the wild."""

    def __init__(self, inner: int, outer: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.down = None
        if stride != 1 or inner != outer:
            self.down = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

    def forward(self, x: Any) -> Any:
        kept = x if self.down is None else self.down(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += kept
        return self.relu(out)


class ResNet(nn.Module):
    """A stem, two stages, global pooling and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 7, 2, 3, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        self.layers = nn.Sequential(Block(8, 8), Block(8, 16, 2))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        return self.head(torch.flatten(self.pool(self.layers(self.stem(x))), 1))


class Text(nn.Module):
    """Token and position embeddings, one encoder layer, mean pooling over what is no padding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(40, 16)
        self.places = nn.Embedding(64, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu")
        self.head = nn.Linear(16, 3)

    def forward(self, tokens: Any) -> Any:
        mask = (tokens != 0).unsqueeze(-1)
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.layer(self.tokens(tokens) + self.places(places))
        total = (x * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.head(total)


class Tied(nn.Module):
    """An embedding that is the output projection too."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(3000, 16)
        self.inner = nn.Linear(16, 16)
        self.head = nn.Linear(16, 3000, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Any) -> Any:
        return self.head(torch.tanh(self.inner(self.embedding(tokens))))


class Recurrent(nn.Module):
    """Two bidirectional layers and a classifier on the last step."""

    def __init__(self, kind: Any = nn.LSTM) -> None:
        super().__init__()
        self.rnn = kind(4, 6, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(12, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.rnn(x)[0][:, -1])


def mlp() -> Any:
    """Linear layers with the activations that modern models use."""
    return nn.Sequential(
        nn.Linear(8, 16),
        nn.GELU(),
        nn.LayerNorm(16),
        nn.Linear(16, 8),
        nn.SiLU(),
        nn.Dropout(),
        nn.Linear(8, 4),
        nn.Softmax(-1),
    )


def seeded(make: Any) -> Any:
    """A module with the same numbers in every run, batch norms with statistics of their own."""
    torch.manual_seed(0)
    module = make()
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            nn.init.uniform_(part.running_mean, -0.5, 0.5)
            nn.init.uniform_(part.running_var, 0.5, 2.0)
            nn.init.uniform_(part.weight, 0.5, 2.0)
    return module.eval()


MODELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "mlp": (mlp, ("x: float32[batch, 8]",)),
    "resnet": (ResNet, ("x: float32[batch, 3, 32, 32]",)),
    "encoder layer": (
        lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True),
        ("src: float32[batch, seq, 16]",),
    ),
    "encoder layer, norm first": (
        lambda: nn.TransformerEncoderLayer(16, 2, 32, norm_first=True, activation="gelu"),
        ("src: float32[seq, batch, 16]",),
    ),
    "text": (Text, ("tokens: int64[batch, seq in 1..64] in 0..39",)),
    "lstm": (Recurrent, ("x: float32[batch in 1.., t in 1.., 4]",)),
    "gru": (lambda: Recurrent(nn.GRU), ("x: float32[batch in 1.., t in 1.., 4]",)),
}
