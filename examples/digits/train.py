"""Train the digits CNN with plain numpy; write `digits.safetensors` and `heldout.npz` beside this.

Needs scikit-learn, for its images only: `pip install scikit-learn`, then `python train.py`.
The same seed on the same machine and numpy build gives the same files.
"""

import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from safetensors.numpy import save

Floats = NDArray[np.floating[Any]]
Labels = NDArray[np.int64]
Tensors = dict[str, Floats]

HERE = Path(__file__).resolve().parent
SEED = 0
HELD_OUT = 360
EPOCHS = 60
BATCH = 32
RATE = 2e-3
DECAY = 1e-3
MOMENTUM = 0.1
EPSILON = 1e-5
CHANNELS = (16, 32)
HIDDEN = 48
TARGET = 0.98


def conv(x: Floats, w: Floats) -> tuple[Floats, Floats]:
    """3x3 convolution of (N,C,H,W) that keeps H and W; also the unfolded input."""
    n, c, h, width = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3)).transpose(0, 2, 3, 1, 4, 5)
    columns = windows.reshape(n * h * width, c * 9)
    y = columns @ w.reshape(len(w), -1).T
    return y.reshape(n, h, width, len(w)).transpose(0, 3, 1, 2), columns


def conv_gradient(dy: Floats, columns: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Gradients of `conv` to its input and its kernel."""
    dw = dy.transpose(1, 0, 2, 3).reshape(len(w), -1) @ columns
    dx, _ = conv(dy, w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])
    return dx, dw.reshape(w.shape)


def per_channel(v: Floats) -> Floats:
    return v[None, :, None, None]


def pool(x: Floats) -> tuple[Floats, Floats]:
    """2x2 max pooling; also each input element's share of the gradient (ties share it)."""
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
    y = blocks.max(axis=(3, 5), keepdims=True)
    hit = (blocks == y).astype(x.dtype)
    return y[:, :, :, 0, :, 0], hit / hit.sum(axis=(3, 5), keepdims=True)


def evaluate(p: Tensors, images: Floats) -> Floats:
    """Logits of the trained net: batch norm uses the running statistics."""
    x = images
    for i in ("1", "2"):
        x = conv(x, p[f"conv{i}.weight"])[0] + per_channel(p[f"conv{i}.bias"])
        x = (x - per_channel(p[f"bn{i}.mean"])) / np.sqrt(per_channel(p[f"bn{i}.var"]) + EPSILON)
        x = np.maximum(x * per_channel(p[f"bn{i}.scale"]) + per_channel(p[f"bn{i}.bias"]), 0)
        if i == "1":
            x = pool(x)[0]
    hidden = x.reshape(len(x), -1) @ p["fc1.weight"] + p["fc1.bias"]
    return np.maximum(hidden, 0) @ p["fc2.weight"] + p["fc2.bias"]


def accuracy(p: Tensors, images: Floats, labels: Labels) -> float:
    return float((evaluate(p, images).argmax(axis=1) == labels).mean())


def conv_block(
    p: Tensors, i: str, x: Floats, grads: Tensors
) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Convolution, batch norm on the batch's own statistics, relu; also the way back.

    Moves the running statistics in `p`; the way back fills `grads`.
    """
    w, scale = p[f"conv{i}.weight"], p[f"bn{i}.scale"]
    y, columns = conv(x, w)
    y = y + per_channel(p[f"conv{i}.bias"])
    mean, var = y.mean(axis=(0, 2, 3)), y.var(axis=(0, 2, 3))
    count = y.size // len(mean)
    for name, seen in (("mean", mean), ("var", var * count / (count - 1))):
        p[f"bn{i}.{name}"] = ((1 - MOMENTUM) * p[f"bn{i}.{name}"] + MOMENTUM * seen).astype(y.dtype)
    deviation = np.sqrt(per_channel(var) + EPSILON)
    normal = (y - per_channel(mean)) / deviation
    out = np.maximum(normal * per_channel(scale) + per_channel(p[f"bn{i}.bias"]), 0)

    def back(d: Floats) -> Floats:
        d = d * (out > 0)
        d_scale = grads[f"bn{i}.scale"] = (d * normal).sum(axis=(0, 2, 3))
        d_bias = grads[f"bn{i}.bias"] = d.sum(axis=(0, 2, 3))
        through_statistics = per_channel(d_bias / count) + normal * per_channel(d_scale / count)
        dy = (d - through_statistics) * per_channel(scale) / deviation
        grads[f"conv{i}.bias"] = dy.sum(axis=(0, 2, 3))
        dx, grads[f"conv{i}.weight"] = conv_gradient(dy, columns, w)
        return dx

    return out, back


def loss_and_gradients(p: Tensors, images: Floats, labels: Labels) -> tuple[float, Tensors]:
    """Mean cross-entropy of one training batch, and its gradient to every trained tensor."""
    grads: Tensors = {}
    one, back_one = conv_block(p, "1", images, grads)
    pooled, share = pool(one)
    two, back_two = conv_block(p, "2", pooled, grads)
    flat = two.reshape(len(two), -1)
    hidden = np.maximum(flat @ p["fc1.weight"] + p["fc1.bias"], 0)
    logits = hidden @ p["fc2.weight"] + p["fc2.bias"]
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(labels))
    loss = float(-log_p[rows, labels].mean())

    d = np.exp(log_p)
    d[rows, labels] -= 1
    d /= len(labels)
    grads["fc2.weight"], grads["fc2.bias"] = hidden.T @ d, d.sum(axis=0)
    d = (d @ p["fc2.weight"].T) * (hidden > 0)
    grads["fc1.weight"], grads["fc1.bias"] = flat.T @ d, d.sum(axis=0)
    d = back_two((d @ p["fc1.weight"].T).reshape(two.shape))
    back_one((d[:, :, :, None, :, None] * share).reshape(one.shape))
    return loss, grads


def initial(rng: np.random.Generator) -> Tensors:
    """He-initialised kernels; identity batch norms."""

    def he(*shape: int, fan_in: int) -> Floats:
        return (rng.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32)

    p: Tensors = {}
    inputs = 1
    for i, channels in enumerate(CHANNELS, start=1):
        p[f"conv{i}.weight"] = he(channels, inputs, 3, 3, fan_in=inputs * 9)
        for name in (f"conv{i}.bias", f"bn{i}.bias", f"bn{i}.mean"):
            p[name] = np.zeros(channels, np.float32)
        for name in (f"bn{i}.scale", f"bn{i}.var"):
            p[name] = np.ones(channels, np.float32)
        inputs = channels
    for name, fan_in, fan_out in (("fc1", inputs * 16, HIDDEN), ("fc2", HIDDEN, 10)):
        p[f"{name}.weight"] = he(fan_in, fan_out, fan_in=fan_in)
        p[f"{name}.bias"] = np.zeros(fan_out, np.float32)
    return p


def jittered(images: Floats, rng: np.random.Generator) -> Floats:
    """Each image moved by up to one pixel each way; more than half stay in place."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    dy, dx = 1 + rng.integers(-1, 2, (2, len(images))) * rng.integers(0, 2, len(images))
    moves = zip(padded, dy, dx, strict=True)
    return np.stack([image[:, y : y + 8, x : x + 8] for image, y, x in moves])


def train(images: Floats, labels: Labels, rng: np.random.Generator) -> Tensors:
    """AdamW with a one-cycle cosine rate."""
    p = initial(rng)
    steps = EPOCHS * (len(images) // BATCH)
    first: Tensors = {}
    second: Tensors = {}
    step = 0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        losses: list[float] = []
        for start in range(0, len(images) - BATCH + 1, BATCH):
            picked = order[start : start + BATCH]
            loss, grads = loss_and_gradients(p, jittered(images[picked], rng), labels[picked])
            losses.append(loss)
            step += 1
            rate = RATE * min(1.0, 20 * step / steps) * 0.5 * (1 + np.cos(np.pi * step / steps))
            for name, g in grads.items():
                m = first[name] = 0.9 * first.get(name, np.zeros_like(g)) + 0.1 * g
                v = second[name] = 0.99 * second.get(name, np.zeros_like(g)) + 0.01 * g * g
                update = (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-8)
                decay = DECAY * p[name] if name.endswith(".weight") else 0
                p[name] = (p[name] - rate * (update + decay)).astype(np.float32)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1:3}  loss {np.mean(losses):.4f}", flush=True)
    return p


def split() -> tuple[Floats, Labels, Floats, Labels]:
    """Images in [0, 1] and labels for training, then those held out: 36 of each digit."""
    datasets: Any = importlib.import_module("sklearn.datasets")  # untyped; only training needs it
    raw = datasets.load_digits()
    images: Floats = (raw.images[:, None] / 16).astype(np.float32)
    labels: Labels = raw.target.astype(np.int64)
    order = np.random.default_rng(SEED).permutation(len(labels))
    held = np.sort(np.concatenate([order[labels[order] == k][: HELD_OUT // 10] for k in range(10)]))
    kept = np.setdiff1d(order, held)
    return images[kept], labels[kept], images[held], labels[held]


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """The old file or the new one, never a part of it."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def main() -> int:
    started = time.perf_counter()
    images, labels, held_images, held_labels = split()
    p = train(images, labels, np.random.default_rng(SEED))
    seconds = time.perf_counter() - started
    held = accuracy(p, held_images, held_labels)
    print(f"training images {accuracy(p, images, labels):.2%} of {len(labels)}")
    print(f"held-out images {held:.2%} of {len(held_labels)}, after {seconds:.0f} s")
    if held < TARGET:
        print(f"below the target of {TARGET:.0%}: nothing written", file=sys.stderr)
        return 1
    weights = save(dict(sorted(p.items())))
    write_atomically(HERE / "digits.safetensors", lambda file: file.write(weights))
    write_atomically(
        HERE / "heldout.npz",
        lambda file: np.savez_compressed(file, images=held_images, labels=held_labels),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
