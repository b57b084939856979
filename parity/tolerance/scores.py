"""Scores of trained models: sums of K terms, then a transform.

A sum errs by γ_K Σ|terms| at most and by 4u√K(‖terms‖₂ + |y|) in practice, as any sum does; a
kernel errs by that of its product, through its own slope. A transform carries an error e of a
score s: LOGISTIC by its rise between s − e and s + e, and 4u of rounding (1 − v is subtracted);
SOFTMAX by 2e and what its own roundings do, relative; PROBIT by its rise, and by the square root of
what 4.3u of its middle term leaves, where the terms cancel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import Call
from isomorph.ir.semantics import _linear_models as linear
from isomorph.ir.semantics import _scores as scores
from isomorph.ir.semantics import _svm as svm
from isomorph.ir.semantics import _trees as trees
from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

EXP = 6
FLOAT32_UNIT = 2.0**-24


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """Linear models, support vector machines, tree ensembles, Normalizer and Scaler."""
    call, x = Call(op, wide=True), np.asarray(operands[0], np.float64)
    if op.type == "Normalizer":
        terms = x.shape[-1] + 6
        size = np.abs(truth)
        soft = 4 * unit.u * np.sqrt(terms) * size + unit.ulp(truth) + unit.tiny
        if op.attr("norm") == "L2":
            soft = soft + np.sqrt(unit.tiny) * (size > 0)
        peak = np.full(truth.shape, float(np.square(x).sum()) if x.size else 0.0)
        hard = gamma(terms, unit.u) * size + 2 * unit.ulp(truth) + soft
        return Bound(soft, lambda: hard, peak, f"a sum of {x.shape[-1]} terms", spreads=True)
    if op.type == "Scaler":
        scale = np.abs(np.array(call.attr("scale") or (1.0,)))
        offset = np.abs(np.array(call.attr("offset") or (0.0,)))
        size = (2 * np.abs(x) + offset) * scale
        soft = 2 * unit.u * size + unit.ulp(truth) + unit.tiny
        return Bound(soft, lambda: 2 * soft, size, "a difference, times a factor", spreads=True)
    soft, hard, size, terms = raw_error(call, x, unit)
    first, last = (_carried(call, truth, e, unit, x) for e in (soft, hard))
    size = np.where(np.isnan(size), np.inf, size)
    rows = size.max(-1, keepdims=True, initial=0.0) if truth.ndim == 2 else size.max(initial=0.0)
    peak = np.broadcast_to(rows, truth.shape)
    return Bound(first, lambda: last, peak, f"scores of {terms} terms", spreads=True)


def raw_error(
    call: Call, x: np.ndarray, unit: Unit
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Soft and hard limits of scores before the transform, Σ|terms| of each, and K."""
    kind, u = call.op.type, unit.u
    if kind.startswith("Linear"):
        rows = scores.rows_of(call, x)
        weights, intercepts = linear.weights(call, rows)
        size = np.abs(rows) @ np.abs(weights).T + np.abs(intercepts)
        norm = np.sqrt(rows**2 @ (weights**2).T + intercepts**2)
        terms = rows.shape[1] + 2
    elif kind.startswith("SVM"):
        return _machine_error(call, x, unit)
    else:
        forest = trees.by_places(call) if kind == "TreeEnsemble" else _by_ids(call)
        size = _weights(call, forest, x)
        base = 0.0 if kind == "TreeEnsemble" else np.abs(scores_base(call, trees.targets_of(call)))
        size, terms = size + base, len(forest.roots) + 2
        norm = size
    soft = 4 * u * np.sqrt(terms) * norm + terms * unit.tiny
    return soft, gamma(terms + 2, u) * size + soft, size, terms


def scores_base(call: Call, targets: int) -> np.ndarray:
    """Base values of a tree ensemble."""
    return trees.base_of(call, targets, np.dtype(np.float64))


def _by_ids(call: Call) -> trees.Forest:
    return trees.by_ids(call, "target" if call.op.type.endswith("Regressor") else "class")


def _weights(call: Call, forest: trees.Forest, x: np.ndarray) -> np.ndarray:
    """Σ|weights| of the leaves that each row reaches, by target."""
    from dataclasses import replace

    size = replace(forest, weight=np.abs(forest.weight))
    at = trees.leaves(call, forest, x)
    kind = np.dtype(np.float64)
    return trees.aggregate(call, size, at, "SUM", trees.targets_of(call), kind)[0]


def _machine_error(
    call: Call, x: np.ndarray, unit: Unit
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The same of a support vector machine; sums of pairs of classes of a classifier."""
    rows, u = scores.rows_of(call, x), unit.u
    classifies = call.op.type == "SVMClassifier"
    classes = scores.labels_of(call, "classlabels_ints").size if classifies else 0
    found = svm.machine(call, rows, classes)
    kernel = svm.kernels(found, rows)
    features, count = rows.shape[1], len(found.vectors)
    gamma_, coef0, degree = found.params
    size = np.abs(rows) @ np.abs(found.vectors).T
    inner = gamma(features + 4, u) * np.abs(gamma_) * size + 2 * u * abs(coef0)
    match found.kernel:
        case "LINEAR":
            off = gamma(features + 2, u) * size
        case "RBF":
            squares = ((rows[:, None] - found.vectors[None]) ** 2).sum(-1)
            off = np.abs(kernel) * (gamma(features + 5, u) * abs(gamma_) * squares + EXP * u)
            off = np.where(kernel == 0, unit.tiny, off)
        case "SIGMOID":
            off = inner + 8 * u
        case _:
            middle = np.abs(gamma_ * (rows @ found.vectors.T) + coef0)
            off = abs(degree) * (middle + inner) ** max(degree - 1, 0) * inner
            off = off + (2 * abs(degree) + 8) * u * np.abs(kernel)
    if not found.coefficients.size:
        size = size + np.abs(found.rho[0])
        hard = off + 2 * u * size
        return hard, 2 * hard, size, features + 1
    if not classifies:
        weight = np.abs(found.coefficients)
        total = np.abs(kernel) @ weight.T + np.abs(found.rho[0])
        hard = off @ weight.T + gamma(count + 2, u) * total
        return hard, 2 * hard, total, count + 1
    from dataclasses import replace

    plain = replace(found, coefficients=np.abs(found.coefficients), rho=np.abs(found.rho))
    total = svm.decisions(call, plain, np.abs(kernel), classes)
    hard = svm.decisions(call, replace(plain, rho=0 * plain.rho), off, classes)
    hard = hard + gamma(count + 2, u) * total
    return hard, 2 * hard, total, count + 1


# -- transforms ---------------------------------------------------------------------------------


def _raw(call: Call, x: np.ndarray) -> np.ndarray:
    """Scores before the transform."""
    kind = call.op.type
    if kind.startswith("Tree"):
        return trees.summed(call, x)
    rows = scores.rows_of(call, x)
    if kind.startswith("Linear"):
        return linear.raw(call, rows)
    classes = scores.labels_of(call, "classlabels_ints").size if kind == "SVMClassifier" else 0
    found = svm.machine(call, rows, classes)
    kernel = svm.kernels(found, rows)
    if not found.coefficients.size:
        return kernel + found.rho[0]
    if not classes:
        return kernel @ found.coefficients.T + found.rho[0]
    return svm.decisions(call, found, kernel, classes)


def _carried(
    call: Call, truth: np.ndarray, error: np.ndarray, unit: Unit, x: np.ndarray
) -> np.ndarray:
    """The error of the results, of that of the scores [N, E]."""
    name, u = scores.transform_of(call), unit.u
    raw = _raw(call, x)
    if call.op.type == "SVMRegressor" and call.attr("one_class"):
        return np.where(np.abs(raw) <= error, 2.0, 0.0)
    if call.op.type == "SVMClassifier" and call.attr("prob_a"):
        return _coupled(call, raw, error, truth, unit)
    if raw.shape != truth.shape:  # one score makes two columns
        error = np.repeat(error[:, -1:], truth.shape[1], 1)
        raw = np.repeat(raw[:, -1:], truth.shape[1], 1)
        if name == "LOGISTIC":
            return _logistic(raw, error) + 4 * u
        return error + u + 2 * unit.ulp(truth)
    match name:
        case "LOGISTIC":
            return _logistic(raw, error) + 4 * u
        case "SOFTMAX" | "SOFTMAX_ZERO":
            worst = error.max(-1, keepdims=True, initial=0.0)
            below = np.abs(raw - raw.max(-1, keepdims=True, initial=-np.inf))
            mean = below.max(-1, keepdims=True, initial=0.0)
            relative = 2 * worst + u * (below + mean + 2 * EXP + raw.shape[-1] + 2)
            limit = np.expm1(relative) * np.abs(truth) + unit.ulp(truth) + unit.tiny
            if name == "SOFTMAX":
                return limit
            near = np.abs(np.abs(raw) - scores.ZERO) <= error + u
            small = np.abs(truth) <= 4 * scores.ZERO
            limit = limit + np.where(small, 4 * scores.ZERO, 0.0)
            return np.where(near.any(-1, keepdims=True), np.inf, limit)
        case "PROBIT":
            low, high = scores.probit(raw - error - u), scores.probit(raw + error + u)
            middle = np.fmax(np.abs(high - truth), np.abs(low - truth))
            lost = 2 * np.sqrt(16 * u) / np.maximum(1.0, np.abs(truth) / np.sqrt(16 * u))
            edge = ~np.isfinite(low) | ~np.isfinite(high)
            return np.where(edge, np.inf, middle + lost + 16 * u * np.abs(truth))
        case _:
            return error + unit.ulp(truth)


def _logistic(raw: np.ndarray, error: np.ndarray) -> np.ndarray:
    middle = scores.logistic(raw)
    return np.maximum(scores.logistic(raw + error) - middle, middle - scores.logistic(raw - error))


def _coupled(
    call: Call, raw: np.ndarray, error: np.ndarray, truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """Probabilities coupled from pairs: how they react, to sums and to their own rounding."""
    rng, largest = np.random.default_rng(8), np.zeros(truth.shape)
    name = scores.transform_of(call)
    for _ in range(8):
        moved = raw + (error + 8 * unit.u) * rng.choice([-1.0, 1.0], raw.shape)
        found = scores.transformed(name, svm.probabilities(call, moved, truth.shape[1]))
        largest = np.fmax(largest, np.abs(found - truth))
    return 4 * largest + 32 * unit.u * (np.abs(truth) + 1)


# -- labels -------------------------------------------------------------------------------------


def undecided(op: Op, operands: Sequence[Any], bad: np.ndarray) -> bool:
    """Whether rounding decides every label that differs: scores within their errors."""
    call, x = Call(op, wide=True), np.asarray(operands[0])
    x = x.astype(np.float64)
    unit = Unit(FLOAT32_UNIT, 2.0**-149, float(np.finfo(np.float32).max))
    with np.errstate(all="ignore"):
        _, error, size, _ = raw_error(call, x, unit)
        raw = _raw(call, x)
        if raw.shape[1] == 1 or op.type == "SVMClassifier":
            close = (np.abs(raw) <= error).any(-1)
        else:
            best = raw.max(-1, keepdims=True)
            worst = error.max(-1, keepdims=True, initial=0.0)
            close = ((best - raw) <= 2 * worst).sum(-1) > 1
            if op.type == "TreeEnsembleClassifier" and raw.shape[1] == 2:
                close |= ((np.abs(raw) <= error) | (np.abs(raw - 0.5) <= error)).any(-1)
        close |= ~(np.isfinite(raw) & (size < unit.top / 4)).all(-1)
    return not (bad.reshape(-1) & ~close).any()
