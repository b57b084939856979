"""Which results of ai.onnx.ml the known divergences of onnxruntime explain.

Each row states the result that onnxruntime has instead, as another use of the same operator or as
numbers; a result is explained when it is that one, within that one's own bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.exporters.runtimes.divergences import words
from isomorph.ir.semantics import Call, evaluate
from isomorph.ir.semantics import _scores as scores
from isomorph.ir.semantics import _trees as trees
from isomorph.ir.semantics.ml import without_nan, without_repeats
from isomorph.parity.tolerance import scores as tolerance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.tolerance.units import Unit


def explain(op: Op, operands: Sequence[Any], got: np.ndarray, unit: Unit) -> tuple[np.ndarray, str]:
    """Which elements of float scores a row explains, and its words."""
    none = np.zeros(got.shape, bool)
    name = _post_transform(op)
    match op.type:
        case "SVMRegressor" if name != "NONE" and not op.attr("one_class"):
            return _as(op, operands, got, unit, "NONE"), words("svm-regressor-untransformed")
        case "LinearRegressor" | "TreeEnsembleRegressor" | "TreeEnsemble" if got.shape[
            -1
        ] == 1 and name not in {"NONE", "PROBIT"}:
            return _as(op, operands, got, unit, "NONE"), words("score-untransformed")
        case "TreeEnsemble" if name in {"SOFTMAX", "LOGISTIC"}:
            other = "LOGISTIC" if name == "SOFTMAX" else "SOFTMAX"
            return _as(op, operands, got, unit, other), words("tree-transforms-swapped")
        case "TreeEnsembleRegressor" if name == "NONE":
            return _unvoted(op, operands) & (got == 0), words("tree-base-unvoted")
        case "TreeEnsembleClassifier" if name in {"NONE", "LOGISTIC"} and got.shape[-1] == 2:
            return _first_alone(op, operands, got, unit), words("tree-votes")
        case _:
            return none, ""


def instead(op: Op, operands: Sequence[Any], index: int) -> tuple[Any, str] | None:
    """What an exact result, or labels, are instead, and the words; `None` when no row says so."""
    match op.type:
        case "LabelEncoder":
            return evaluate(without_nan(without_repeats(op)), operands)[0], words(
                "label-encoder-first"
            )
        case "SVMClassifier" if index == 0:
            return _second(op, operands)
        case "TreeEnsembleClassifier" if index == 0:
            return _voted(op, operands)
        case "CastMap" if op.attr("map_form") == "SPARSE" and op.attr("cast_to") == "TO_STRING":
            found = np.asarray(evaluate(op, operands)[0], object)
            held = np.array([place in operands[0] for place in range(found.shape[1])], bool)
            return np.where(held, found, "0.f"), words("cast-map-texts")
        case _:
            return None


def _post_transform(op: Op) -> str:
    if op.schema is None or "post_transform" not in op.schema.attributes:
        return "NONE"
    return scores.transform_of(Call(op))


def _as(op: Op, operands: Sequence[Any], got: np.ndarray, unit: Unit, name: str) -> np.ndarray:
    """Elements that are what another transform gives."""
    kind = op.attributes.get("post_transform")
    value = scores.TRANSFORMS.index(name) if isinstance(kind, int) else name
    other = op.with_attributes({**op.attributes, "post_transform": value})
    truth = np.asarray(evaluate(other, operands, wide=True)[0], np.float64)
    limits = tolerance.bound(other, operands, truth, 0, unit)
    if limits is None or truth.shape != got.shape:
        return np.zeros(got.shape, bool)
    return (np.abs(got - truth) <= limits.hard) | (got == truth) | (np.isnan(got) & np.isnan(truth))


def _votes(op: Op, operands: Sequence[Any]) -> np.ndarray:
    """Which targets or classes got votes [N, E]."""
    call = Call(op)
    forest = trees.by_ids(call, "target" if op.type.endswith("Regressor") else "class")
    at = trees.leaves(call, forest, trees.rows_of_trees(call, operands[0]))
    kind = np.dtype(np.float32)
    return trees.aggregate(call, forest, at, "SUM", trees.targets_of(call), kind)[1] > 0


def _unvoted(op: Op, operands: Sequence[Any]) -> np.ndarray:
    return ~_votes(op, operands)


def _first_alone(op: Op, operands: Sequence[Any], got: np.ndarray, unit: Unit) -> np.ndarray:
    """Of two classes that both may get votes, rows where the first alone does: -s and s."""
    call = Call(op, wide=True)
    if len(set(call.attr("class_ids") or ())) < 2 or call.attr("base_values"):
        return np.zeros(got.shape, bool)
    score = trees.summed(call, operands[0])[:, :1]
    _, error, _, _ = tolerance.raw_error(call, np.asarray(operands[0]), unit)
    other = np.concatenate([-score, score], 1)
    if _post_transform(op) == "LOGISTIC":
        other = scores.logistic(other)
    near = np.abs(got - other) <= error[:, :1] + 4 * unit.u * np.maximum(1.0, np.abs(other))
    return near & ~_votes(op, operands)[:, 1:]


def _second(op: Op, operands: Sequence[Any]) -> tuple[Any, str] | None:
    call = Call(op)
    labels = scores.labels_of(call, "classlabels_ints")
    vectors = call.attr("vectors_per_class")
    if labels.size != 2 or (vectors and sum(vectors)):
        return None
    winners, values = evaluate(
        op.with_attributes({**op.attributes, "post_transform": "NONE"}), operands
    )
    positive = min(call.attr("coefficients")) >= 0
    second = values.max(1) >= 0.5 if positive else values.max(1) > 0
    return cast("Any", np.where(second, labels[1], winners)), words("svm-second-class")


def _voted(op: Op, operands: Sequence[Any]) -> tuple[Any, str] | None:
    call = Call(op)
    labels = scores.labels_of(call, "classlabels_int64s")
    voted = _votes(op, operands)
    sums = trees.summed(call, operands[0])
    if labels.size > 2:
        if call.attr("base_values") or not voted.any(1).all():
            return None
        return labels[np.where(voted, sums, -np.inf).argmax(1)], words("tree-votes")
    if len(set(call.attr("class_ids") or ())) == 1 or labels.dtype.kind != "i":
        return None
    decides: np.ndarray = np.where(voted[:, 1], sums[:, 1], sums[:, 0])
    return (decides > 0).astype(np.int64), words("tree-votes")
