"""normalization: what each operator computes.

Everything is computed in float32 at least (the precision that `stash_type` asks for) and in the
operand's own where that is wider, and rounded once.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import UnsupportedError
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]
    Axes = tuple[int, ...]

MVN_EPSILON = float(np.float32(1e-9))
"""Added to the standard deviation by the function body of MeanVarianceNormalization."""


def standardize(x: Array, axes: Axes, epsilon: float) -> tuple[Array, Array, Array]:
    """(x - mean) / sqrt(var + epsilon), the mean, and the factor."""
    mean = x.mean(axes, keepdims=True)
    difference = x - mean
    factor = 1 / np.sqrt((difference * difference).mean(axes, keepdims=True) + epsilon)
    return difference * factor, mean, factor


def _channels(call: Call, x: Array, parameter: Any) -> Array:
    """One number per channel, shaped to stand at axis 1; an X of rank 1 has one channel.

    Before 9, `spatial=0` has one for each place, too.
    """
    if np.ndim(parameter) > 1 and not call.attr("spatial", 1):
        return n.up(call.fitting(parameter, x.shape[1:]))
    count = x.shape[1] if x.ndim > 1 else 1
    return n.up(call.fitting(parameter, (count,))).reshape(-1, *(1,) * (x.ndim - 2))


def _normalize(call: Call, x: Array, *statistics: Any) -> Array:
    """In the widest type among the operands."""
    given = [_channels(call, x, v) for v in statistics]
    widest = np.result_type(x, *given)
    scale, shift, mean, variance = (v.astype(widest, copy=False) for v in given)
    return (x - mean) / np.sqrt(variance + call.attr("epsilon", 1e-5)) * scale + shift


def _train(
    call: Call, x: Array, scale: Any, shift: Any, mean: Any, variance: Any
) -> tuple[Array, ...]:
    """Y from the batch's own statistics; the running ones updated; the batch's own."""
    axes = tuple(i for i in range(x.ndim) if i != 1)
    own_mean = x.mean(axes)
    call.fitting(mean, own_mean.shape)
    call.fitting(variance, own_mean.shape)
    own_variance = ((x - _channels(call, x, own_mean)) ** 2).mean(axes)
    momentum = call.attr("momentum", 0.9)
    y = _normalize(call, x, scale, shift, own_mean, own_variance)
    running_mean = n.up(mean) * momentum + own_mean * (1 - momentum)
    running_variance = n.up(variance) * momentum + own_variance * (1 - momentum)
    return y, running_mean, running_variance, own_mean, own_variance


def _batch(call: Call, x: Any, scale: Any, shift: Any, mean: Any, variance: Any) -> Any:
    a = n.up(x)
    if not call.attr("training_mode", 0):
        if call.outputs > 1:
            raise UnsupportedError(
                f"{call.op.where}: BatchNormalization has one result unless training_mode is 1"
            )
        return n.like(_normalize(call, a, scale, shift, mean, variance), x)
    y, running_mean, running_variance, *_ = _train(call, a, scale, shift, mean, variance)
    return n.like(y, x), n.like(running_mean, mean), n.like(running_variance, variance)


def _batch_7(call: Call, x: Any, scale: Any, shift: Any, mean: Any, variance: Any) -> Any:
    """Before 14, one result meant evaluation, several meant training (there with five results).

    Before 9, statistics of `spatial=0` have the shape of one element of the batch.
    """
    a = n.up(x)
    if call.outputs == 1:
        return n.like(_normalize(call, a, scale, shift, mean, variance), x)
    if not call.attr("spatial", 1):
        raise UnsupportedError(f"{call.op.where}: training BatchNormalization with spatial=0")
    return tuple(n.like(r, x) for r in _train(call, a, scale, shift, mean, variance))


def _instance(call: Call, x: Any, scale: Any, shift: Any) -> Array:
    a = n.up(x)
    normal, _, _ = standardize(a, tuple(range(2, a.ndim)), call.attr("epsilon", 1e-5))
    return n.like(normal * _channels(call, a, scale) + _channels(call, a, shift), x)


def _group(call: Call, x: Any, scale: Any, shift: Any) -> Array:
    """Scale and shift per channel; before 21, per group."""
    a, groups = n.up(x), int(call.attr("num_groups"))
    rows = a.reshape(a.shape[0], groups, prod(a.shape[1:]) // max(groups, 1))
    normal = standardize(rows, (2,), call.attr("epsilon", 1e-5))[0].reshape(a.shape)
    if call.op.version < 21:
        per = a.shape[1] // groups
        scale, shift = (np.repeat(n.up(call.fitting(v, (groups,))), per) for v in (scale, shift))
    return n.like(normal * _channels(call, a, scale) + _channels(call, a, shift), x)


def _layer(call: Call, x: Any, scale: Any, shift: Any = None) -> tuple[Array, ...]:
    """Version 1, which is onnxruntime's, allows a scale of another type than X's."""
    a = n.up(x)
    axes = tuple(range(call.attr("axis", -1) % a.ndim, a.ndim))
    normal, mean, factor = standardize(a, axes, call.attr("epsilon", 1e-5))
    y = normal * n.up(scale)
    if shift is not None:
        y = y + n.up(shift)
    stash = call.float_dtype(DType(call.attr("stash_type", 1)))
    return n.like(y, scale), mean.astype(stash), factor.astype(stash)


def _rms(call: Call, x: Any, scale: Any) -> Array:
    a, scale_ = n.up(x), n.up(scale)
    a = a.astype(np.result_type(a, scale_), copy=False)
    axes = tuple(range(call.attr("axis", -1) % a.ndim, a.ndim))
    mean = (a * a).mean(axes, keepdims=True)
    normal = a / np.sqrt(mean + call.attr("epsilon", 1e-5))
    return n.like(normal * scale_, scale)


def _lrn(call: Call, x: Any) -> Array:
    a, size = n.up(x), int(call.attr("size"))
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    squares = a * a
    sums = np.zeros_like(squares)
    count = a.shape[1]
    for offset in range(-before, after + 1):
        low, high = max(0, -offset), min(count, count - offset)
        if low < high:
            sums[:, low:high] += squares[:, low + offset : high + offset]
    bias, alpha, beta = (call.attr(name) for name in ("bias", "alpha", "beta"))
    return n.like(a / (bias + alpha / size * sums) ** beta, x)


def _lp(call: Call, x: Any) -> Array:
    """Zero where the norm is."""
    a, axis = n.up(x), call.attr("axis", -1)
    if call.attr("p", 2) == 1:
        norm = np.abs(a).sum(axis, keepdims=True)
    else:
        norm = np.sqrt((a * a).sum(axis, keepdims=True))
    return n.like(np.where(norm == 0, 0, a / norm), x)


def _mean_variance(call: Call, x: Any) -> Array:
    a = n.up(x)
    axes = tuple(int(i) for i in call.attr("axes", (0, 2, 3)))
    difference = a - a.mean(axes, keepdims=True)
    deviation = np.sqrt((difference * difference).mean(axes, keepdims=True))
    return n.like(difference / (deviation + MVN_EPSILON), x)


def _hardmax(x: Array, axis: int) -> Array:
    found = np.zeros_like(x)
    if x.size:
        np.put_along_axis(found, x.argmax(axis, keepdims=True), 1, axis)
    return found


def _along(f: Callable[[Array, int], Array]) -> tuple[Impl, ...]:
    """Along one axis; before 13, along all from `axis` on, as if they were one."""

    def run(call: Call, x: Any) -> Array:
        return n.like(f(n.up(x), call.attr("axis", -1)), x)

    def run_1(call: Call, x: Any) -> Array:
        a, axis = n.up(x), call.attr("axis", 1)
        axis = axis % a.ndim if a.ndim and axis < 0 else axis
        rows = a.reshape(int(np.prod(a.shape[:axis])), int(np.prod(a.shape[axis:])))
        return n.like(f(rows, 1).reshape(a.shape), x)

    return Impl(run_1, until=12), Impl(run, since=13)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "BatchNormalization"): (
        Impl(_batch_7, since=6, until=13, keeps=True),
        Impl(_batch, since=14, keeps=True),
    ),
    ("", "GroupNormalization"): (Impl(_group, keeps=True),),
    ("", "Hardmax"): _along(_hardmax),
    ("", "InstanceNormalization"): (Impl(_instance, keeps=True),),
    ("", "LRN"): (Impl(_lrn),),
    ("", "LayerNormalization"): (Impl(_layer, keeps=True),),
    ("", "LogSoftmax"): _along(n.log_softmax),
    ("", "LpNormalization"): (Impl(_lp),),
    ("", "MeanVarianceNormalization"): (Impl(_mean_variance),),
    ("", "RMSNormalization"): (Impl(_rms, keeps=True),),
    ("", "Softmax"): _along(n.softmax),
}
