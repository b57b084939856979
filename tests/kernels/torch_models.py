"""Modules in plain torch.nn that the kernels are tested on; importing this needs torch."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from isomorph.frontends.spec import parse_specs
from isomorph.frontends.torch.trace import trace_torch
from tests.frontends.torch.models import seeded

__all__ = ["ENCODER", "RESNET", "module", "specs", "traced"]
ENCODER, RESNET = "torch encoder", "torch resnet"


class Attention(nn.Module):
    """Squeeze and excitation: channels weighted by what all of the plane says."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.reduce, self.expand = (
            nn.Conv2d(channels, channels // 2, 1),
            nn.Conv2d(channels // 2, channels, 1),
        )

    def forward(self, x: Any) -> Any:
        squeezed = x.mean((2, 3), keepdim=True)
        return x * self.expand(torch.relu(self.reduce(squeezed))).sigmoid()


class Bottleneck(nn.Module):
    """As timm builds it: a grouped convolution, attention, and a shortcut that pools."""

    def __init__(self, inner: int, width: int, outer: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 2, 1, groups=4, bias=False)
        self.bn2, self.bn3 = nn.BatchNorm2d(width), nn.BatchNorm2d(outer)
        self.conv3, self.attention = nn.Conv2d(width, outer, 1, bias=False), Attention(outer)
        self.act = nn.ReLU(inplace=True)
        self.downsample = nn.Sequential(
            nn.AvgPool2d(2, 2, ceil_mode=True, count_include_pad=False),
            nn.Conv2d(inner, outer, 1, bias=False),
            nn.BatchNorm2d(outer),
        )

    def forward(self, x: Any) -> Any:
        y = self.act(self.bn1(self.conv1(x)))
        y = self.act(self.bn2(self.conv2(y)))
        y = self.attention(self.bn3(self.conv3(y)))
        y += self.downsample(x)
        return self.act(y)


class ResNet(nn.Module):
    """A stem, one block, global pooling and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.act, self.maxpool = nn.SiLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        self.layer1 = Bottleneck(8, 8, 16)
        self.global_pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        x = self.layer1(self.maxpool(self.act(self.bn1(self.conv1(x)))))
        return self.fc(self.global_pool(x).flatten(1))


def module(name: str, dtype: str) -> nn.Module:
    """A module with the same numbers in every run, batch norms with statistics of their own."""
    encoder = partial(nn.TransformerEncoderLayer, 32, 4, 48, batch_first=True, activation="gelu")
    return seeded(encoder if name == ENCODER else ResNet).to(getattr(torch, dtype))


def specs(name: str, dtype: str) -> list[str]:
    """Its inputs, batch open."""
    return {
        ENCODER: [f"src: {dtype}[batch, seq, 32]"],
        RESNET: [f"x: {dtype}[batch, 3, height in 9.., width in 9..]"],
    }[name]


def traced(name: str, dtype: str) -> Any:
    """Its graph."""
    return trace_torch(module(name, dtype), parse_specs(specs(name, dtype)))
