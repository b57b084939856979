"""The digits CNN as an array function: the source that isomorph checks, exports and verifies."""

from pathlib import Path
from typing import Any

from isomorph import array as xp
from isomorph.frontends.array import nn
from isomorph.frontends.array.weights import load_strict

SHAPES = {
    "conv1.weight": (16, 1, 3, 3),
    "conv1.bias": (16,),
    "bn1.scale": (16,),
    "bn1.bias": (16,),
    "bn1.mean": (16,),
    "bn1.var": (16,),
    "conv2.weight": (32, 16, 3, 3),
    "conv2.bias": (32,),
    "bn2.scale": (32,),
    "bn2.bias": (32,),
    "bn2.mean": (32,),
    "bn2.var": (32,),
    "fc1.weight": (512, 48),
    "fc1.bias": (48,),
    "fc2.weight": (48, 10),
    "fc2.bias": (10,),
}
W = load_strict(Path(__file__).with_name("digits.safetensors"), SHAPES)


def conv_block(x: Any, i: int) -> Any:
    """Convolution, batch norm on the running statistics, relu."""
    x = nn.conv(x, W[f"conv{i}.weight"], W[f"conv{i}.bias"], pads=(1, 1, 1, 1), strides=(1, 1))
    statistics = (W[f"bn{i}.{name}"] for name in ("scale", "bias", "mean", "var"))
    return nn.relu(nn.batch_norm(x, *statistics, epsilon=1e-5))


def digits(images: Any) -> Any:
    """Logits [batch, 10] of images float32[batch, 1, 8, 8] with values in 0..1."""
    x = nn.max_pool(conv_block(images, 1), kernel=(2, 2), strides=(2, 2))
    x = conv_block(x, 2)
    x = xp.reshape(x, (-1, 512))
    x = nn.relu(x @ W["fc1.weight"] + W["fc1.bias"])
    return x @ W["fc2.weight"] + W["fc2.bias"]
