"""loss: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.onnx.downgrade._older import computing, same, widened
from isomorph.ir.build import Build

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.types import DType
    from isomorph.ir.versions import Steps


def _likelihood_12(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    scores, dtype = computing(build)
    build.done(build.cast(_reduced(build, scores, dtype), build.dtype()))


def _cross_entropy_12(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    scores, dtype = computing(build)
    log_prob = build("LogSoftmax", scores, axis=1)
    loss = build.cast(_reduced(build, log_prob, dtype), build.dtype())
    shown = len(op.outputs) > 1 and op.outputs[1] is not None
    build.done(loss, build.cast(log_prob, build.dtype()) if shown else None)


def _reduced(build: Build, log_prob: Value, dtype: DType) -> Value:
    """The loss of each label, gathered; ignored ones read class 0, and then count nothing."""
    op, labels, weights = build.old, build.operand(1), build.old.input(2)
    ignored: Value | None = None
    if op.attr("ignore_index") is not None:
        kind = build.dtype(1)
        number = build.const(int(op.attr("ignore_index")), kind)
        ignored = build("Equal", labels, number)
        labels = build("Where", ignored, build.const(0, kind), labels)
    one = build.ints(1)
    places = build("Unsqueeze", labels, one)
    picked = build("Squeeze", build("GatherElements", log_prob, places, axis=1), one)
    loss = build("Neg", picked)
    share: Value | None = None
    if weights is not None:
        share = build.cast(build("Gather", weights, labels, axis=0), dtype)
        loss = build("Mul", loss, share)
    reduction = op.attr("reduction", "mean")
    zero = build.const(0, dtype)
    if ignored is not None:
        loss = build("Where", ignored, zero, loss)
        if reduction == "mean":
            counts = build.const(1, dtype) if share is None else share
            share = build("Where", ignored, zero, counts)
    if reduction == "none":
        return loss
    if reduction == "mean" and share is None:
        return build("ReduceMean", loss, keepdims=0)
    total = build("ReduceSum", loss, keepdims=0)
    if reduction == "sum" or share is None:
        return total
    return build("Div", total, build("ReduceSum", share, keepdims=0))


DOWNGRADES: dict[Key, Steps] = {
    ("", "NegativeLogLikelihoodLoss"): {22: widened, **same(13), 12: _likelihood_12},
    ("", "SoftmaxCrossEntropyLoss"): {**same(13), 12: _cross_entropy_12},
}
