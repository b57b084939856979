"""What drawn graphs found in onnxruntime: of what is not there, of windows, of regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.runtimes.divergences import DIVERGENCES
from isomorph.ir.schema import ML
from isomorph.ir.semantics import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

PLACE = 2.0**-10
"""What a place in float16, or its weights, may be off by, in lengths of an axis."""


def explain_shape(op: Op, operands: Sequence[Any], got: tuple[int, ...]) -> str:
    """Why a result has another shape than it should, where it is known."""
    products, padded = DIVERGENCES["products-without-terms"], DIVERGENCES["same-pads-dilated"]
    if op.key in products.ops and not all(map(np.size, operands)):
        return products.words
    if op.key in padded.ops and str(op.attr("auto_pad", "")).startswith("SAME"):
        return padded.words if any(n > 1 for n in op.attr("dilations", ()) or ()) else ""
    return ""


def explain_form(op: Op, operands: Sequence[Any], got: Any) -> str:
    """Why there is no result, where it is known."""
    lacking = DIVERGENCES["softmax-of-nothing"]
    return lacking.words if got is None and op.key in lacking.ops and not operands[0].size else ""


def explain_exact(op: Op, operands: Sequence[Any]) -> str:
    """Why a result that is determined bit by bit is another one, where it is known."""
    terms = DIVERGENCES["gemm-without-terms"]
    if op.key in terms.ops and not np.size(operands[0]):
        return terms.words
    return ""


def explain(op: Op, operands: Sequence[Any], got: np.ndarray) -> tuple[np.ndarray, str]:
    """Elements of a float result that are known to be off, and in what words."""
    loss, least = DIVERGENCES["loss-of-nothing"], DIVERGENCES["normalizer-least-integer"]
    if op.key in loss.ops and not np.size(operands[1]):
        return got == 0, loss.words
    x = np.asarray(operands[0]) if operands else np.zeros(0)
    grown, kept = DIVERGENCES["transpose-grown"], DIVERGENCES["resize-region-kept"]
    if op.key in grown.ops and op.attr("output_shape") is not None:
        return np.full(got.shape, _is_grown(op, operands, got)), grown.words
    if op.key in kept.ops and op.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        return _of_whole_axes(op, operands, x, got), kept.words
    if op.key == (ML, "Normalizer") and x.dtype.kind == "i" and x.ndim:
        bottom = -(2 ** (8 * x.dtype.itemsize - 1))
        lowest = (x == bottom).any(-1, keepdims=True)
        return np.broadcast_to(lowest, got.shape), least.words
    return np.zeros(got.shape, bool), ""


def _of_whole_axes(op: Op, operands: Sequence[Any], x: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Elements that a Resize gives whose region is all of the axes that keep their size."""
    region = np.array(operands[1], np.float64) if len(operands) > 1 else np.zeros(0)
    axes = [int(a) % x.ndim for a in op.attr("axes") or range(x.ndim)]
    if region.size != 2 * len(axes) or got.ndim != x.ndim or not x.size:
        return np.zeros(got.shape, bool)
    for place, axis in enumerate(axes):
        if got.shape[axis] == x.shape[axis]:
            region[place], region[len(axes) + place] = 0, 1
    other = np.asarray(evaluate(op, [x, region, *operands[2:]], wide=True)[0])
    size = np.abs(x).max(initial=0.0, where=np.isfinite(x))
    close = np.abs(got - other) <= PLACE * max(x.shape) * size
    return close | (np.isnan(got) & np.isnan(other))


def _is_grown(op: Op, operands: Sequence[Any], got: np.ndarray) -> bool:
    """Whether a ConvTranspose has to give more along an axis than its input makes."""
    x, w = (np.shape(v) for v in operands[:2])
    rank = len(x) - 2
    ones = (1,) * rank
    strides, dilations = (op.attr(n) or ones for n in ("strides", "dilations"))
    return any(
        (n - 1) * s + (k - 1) * d + 1 < made
        for n, k, s, d, made in zip(x[2:], w[2:], strides, dilations, got.shape[2:], strict=True)
    )
