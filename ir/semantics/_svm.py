"""Support vector machines: kernels, votes of pairs of classes, probabilities coupled from them.

The definition has no formula. Kernels, votes and decisions are libsvm's; probabilities are coupled
by its second method (Wu, Lin and Weng, Probability Estimates for Multi-class Classification by
Pairwise Coupling, JMLR 5, 2004), stopped as libsvm does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics._scores import (
    both,
    labels_of,
    logistic,
    problem,
    rows_of,
    transform_of,
    transformed,
)

if TYPE_CHECKING:
    from isomorph.ir.semantics import Call

ROUNDS = 100
LEAST = 1e-7
"""Pairwise probabilities stay so far from 0 and 1."""


@dataclass(frozen=True)
class Machine:
    """What the attributes of an SVM say.

    Attributes:
        vectors: support vectors [V, F], or the coefficients themselves of a linear machine.
        coefficients: [C - 1, V] of a classifier, [1, V] of a regressor; none of a linear one.
        rho: what is added to each sum.
        kernel: its name; LINEAR for a linear machine.
        params: gamma, coef0 and degree.
    """

    vectors: np.ndarray
    coefficients: np.ndarray
    rho: np.ndarray
    kernel: str
    params: tuple[float, float, float]


def machine(call: Call, x: np.ndarray, classes: int = 0) -> Machine:
    """The machine of an op, for rows [N, F]; `classes` of a classifier."""
    coefficients = np.array(call.attr("coefficients") or (), x.dtype)
    rho = np.array(call.attr("rho") or (), x.dtype)
    if not rho.size:
        raise problem(call, "it has no rho")
    vectors = np.array(call.attr("support_vectors") or (), x.dtype)
    count = sum(call.attr("vectors_per_class") or ()) if classes else call.attr("n_supports")
    gamma, coef0, degree = (*(call.attr("kernel_params") or ()), 0.0, 0.0, 0.0)[:3]
    features = x.shape[1]
    if not count:
        rows = max(classes, 1)
        if coefficients.size != rows * features:
            raise problem(
                call, f"{coefficients.size} coefficients for {rows} rows of {features} features"
            )
        own = coefficients.reshape(rows, features)
        return Machine(own, own[:, :0], rho, "LINEAR", (gamma, coef0, degree))
    kernel, height = call.attr("kernel_type"), max(classes - 1, 1)
    if kernel not in {"LINEAR", "POLY", "RBF", "SIGMOID"}:
        raise problem(call, f"kernel_type {kernel!r}; LINEAR, POLY, RBF or SIGMOID was expected")
    if vectors.size != count * features or coefficients.size != height * count:
        raise problem(
            call,
            f"{vectors.size} numbers in support_vectors and {coefficients.size} in coefficients "
            f"for {count} vectors of {features} features",
        )
    if classes and rho.size < classes * (classes - 1) // 2:
        raise problem(call, f"{rho.size} numbers in rho for {classes} classes")
    shaped = coefficients.reshape(height, count)
    return Machine(vectors.reshape(count, features), shaped, rho, kernel, (gamma, coef0, degree))


def kernels(found: Machine, x: np.ndarray) -> np.ndarray:
    """The kernel of each row with each vector [N, V]."""
    gamma, coef0, degree = (x.dtype.type(p) for p in found.params)
    if found.kernel == "RBF":
        off = x[:, None, :] - found.vectors[None]
        return np.exp(-gamma * (off * off).sum(-1))
    product = x @ found.vectors.T
    if found.kernel == "LINEAR":
        return product
    inner = gamma * product + coef0
    return np.tanh(inner) if found.kernel == "SIGMOID" else inner**degree


def pairs(call: Call, classes: int) -> list[tuple[int, int, slice, slice]]:
    """Each pair of classes, and where the support vectors of either stand."""
    counts = call.attr("vectors_per_class")
    if len(counts) != classes:
        raise problem(call, f"vectors_per_class has {len(counts)} numbers for {classes} classes")
    ends = np.cumsum(counts).tolist()
    parts = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    return [(i, j, parts[i], parts[j]) for i, j in combinations(range(classes), 2)]


def decisions(call: Call, found: Machine, kernel: np.ndarray, classes: int) -> np.ndarray:
    """The sum of each pair of classes [N, C(C - 1) / 2]; above 0 speaks for the first."""
    columns = [
        kernel[:, a] @ found.coefficients[j - 1, a] + kernel[:, b] @ found.coefficients[i, b]
        for i, j, a, b in pairs(call, classes)
    ]
    return np.stack(columns, axis=1) + found.rho[: len(columns)]


def regress(call: Call, x: Any) -> np.ndarray:
    """SVMRegressor; of one class, 1 inside it and -1 outside."""
    rows = rows_of(call, x)
    found = machine(call, rows)
    values = kernels(found, rows)
    if found.coefficients.size:
        values = values @ found.coefficients.T
    score = values + found.rho[0]
    if call.attr("one_class"):
        return np.where(score > 0, 1, -1).astype(score.dtype)
    return transformed(transform_of(call), score)


def classify(call: Call, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """SVMClassifier: labels, and scores of pairs, or probabilities of classes."""
    rows, name = rows_of(call, x), transform_of(call)
    labels = labels_of(call, "classlabels_ints")
    classes = labels.size
    if classes < 2:
        raise problem(call, f"{classes} class label; at least 2 were expected")
    found = machine(call, rows, classes)
    kernel = kernels(found, rows)
    if not found.coefficients.size:
        scores = kernel + found.rho[0]
        return labels[scores.argmax(1)], transformed(name, scores)
    sums = decisions(call, found, kernel, classes)
    winners = labels[votes(sums, classes).argmax(1)]
    if call.attr("prob_a"):
        return winners, transformed(name, probabilities(call, sums, classes))
    if classes > 2:
        return winners, transformed(name, sums)
    return winners, np.concatenate([-sums, sums], 1) if name == "NONE" else both(call, sums, name)


def votes(sums: np.ndarray, classes: int) -> np.ndarray:
    """How many pairs each class wins [N, C]."""
    found = np.zeros((len(sums), classes), np.int64)
    for column, (i, j) in zip(sums.T, combinations(range(classes), 2), strict=True):
        found[:, i] += column > 0
        found[:, j] += ~(column > 0)
    return found


def probabilities(call: Call, sums: np.ndarray, classes: int) -> np.ndarray:
    """Probabilities of classes [N, C] from the sums of pairs."""
    a, b = (np.array(call.attr(n) or (), sums.dtype) for n in ("prob_a", "prob_b"))
    if a.size < sums.shape[1] or b.size != a.size:
        raise problem(call, f"{a.size} prob_a and {b.size} prob_b for {sums.shape[1]} pairs")
    first = 1 - logistic(sums * a[: sums.shape[1]] + b[: sums.shape[1]])
    first = np.clip(first, sums.dtype.type(LEAST), 1 - sums.dtype.type(LEAST))
    ratio = np.zeros((len(sums), classes, classes), sums.dtype)
    for column, (i, j) in zip(first.T, combinations(range(classes), 2), strict=True):
        ratio[:, i, j], ratio[:, j, i] = column, 1 - column
    return coupled(ratio)


def coupled(ratio: np.ndarray) -> np.ndarray:
    """The distribution nearest to pairwise probabilities r[n, i, j], row by row."""
    count, classes = ratio.shape[:2]
    places = list(range(classes))
    form = -np.swapaxes(ratio, 1, 2) * ratio
    form[:, places, places] = (ratio * ratio).sum(1)
    found = np.full((count, classes), 1 / classes, ratio.dtype)
    waiting = np.ones(count, bool)
    for _ in range(ROUNDS):
        product = np.einsum("nij,nj->ni", form, found)
        total = (found * product).sum(1)
        waiting &= np.abs(product - total[:, None]).max(1, initial=0.0) >= 0.005 / classes
        if not waiting.any():
            break
        moved = found.copy()
        for t in range(classes):
            step = (total - product[:, t]) / form[:, t, t]
            moved[:, t] += step
            scale = 1 + step
            total = (total + step * (step * form[:, t, t] + 2 * product[:, t])) / scale / scale
            product = (product + step[:, None] * form[:, t]) / scale[:, None]
            moved /= scale[:, None]
        found = np.where(waiting[:, None], moved, found)
    return found
