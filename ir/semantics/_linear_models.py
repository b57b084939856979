"""Linear models: products with coefficients, intercepts, transforms, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics._scores import (
    both,
    labels_of,
    problem,
    rows_of,
    transform_of,
    transformed,
)

if TYPE_CHECKING:
    from isomorph.ir.semantics import Call


def weights(call: Call, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients [E, F] and intercepts [E], for an operand [N, F].

    E is the number of targets of a regressor, else that of intercepts, else as many as the
    coefficients make. Coefficients beyond those are not used: files that have some run elsewhere.
    """
    coefficients = np.array(call.attr("coefficients") or (), x.dtype)
    intercepts = np.array(call.attr("intercepts") or (), x.dtype)
    features = x.shape[1]
    count = call.attr("targets") if call.op.type == "LinearRegressor" else None
    if count is None:
        count = intercepts.size or coefficients.size // max(features, 1)
    if coefficients.size < count * features:
        raise problem(
            call, f"{coefficients.size} coefficients for {count} scores of {features} features"
        )
    if intercepts.size not in {0, count}:
        raise problem(call, f"{intercepts.size} intercepts for {count} scores")
    found = intercepts if intercepts.size else np.zeros(count, x.dtype)
    return coefficients[: count * features].reshape(count, features), found


def raw(call: Call, x: np.ndarray) -> np.ndarray:
    """Scores [N, E] before the transform, of rows [N, F]."""
    coefficients, intercepts = weights(call, x)
    return x @ coefficients.T + intercepts


def regress(call: Call, x: Any) -> np.ndarray:
    """LinearRegressor."""
    return transformed(transform_of(call), raw(call, rows_of(call, x)))


def classify(call: Call, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """LinearClassifier: labels, and scores."""
    rows, name = rows_of(call, x), transform_of(call)
    labels, scores = labels_of(call, "classlabels_ints"), raw(call, rows)
    if scores.shape[1] == 1 and labels.size == 2:
        return labels[(scores[:, 0] > 0).astype(np.int64)], both(call, scores, name)
    if scores.shape[1] != labels.size or labels.size < 2:
        raise problem(call, f"{scores.shape[1]} scores for {labels.size} classes")
    return labels[scores.argmax(1)], transformed(name, scores)
