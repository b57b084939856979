"""What turns the raw scores of models into what they report: transforms, labels.

The definition names the transforms and no formula. LOGISTIC and SOFTMAX are what their names say;
SOFTMAX_ZERO leaves scores of 0 out of the sum of powers; PROBIT is √2 erf⁻¹(2x − 1) by Winitzki's
formula, which is what both the reference interpreter and onnxruntime compute. Of one score for two
classes the definition says nothing: what stands here is onnxruntime's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import UnsupportedError

if TYPE_CHECKING:
    from isomorph.ir.semantics import Call

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""In the order of TreeEnsemble's numbers."""
ZERO = 1e-7
"""Scores no further from 0 than this count as 0 for SOFTMAX_ZERO."""
WINITZKI = 0.147


def problem(call: Call, message: str) -> UnsupportedError:
    """An error of an op that has no meaning."""
    return UnsupportedError(f"{call.op}: {message}")


def transform_of(call: Call) -> str:
    """The op's post_transform by name."""
    found = call.attr("post_transform", "NONE")
    name = TRANSFORMS[found] if isinstance(found, int) and 0 <= found < 5 else found
    if name not in TRANSFORMS:
        raise problem(call, f"post_transform {found!r}; one of {', '.join(TRANSFORMS)} is expected")
    return str(name)


def transformed(name: str, x: np.ndarray) -> np.ndarray:
    """Scores [N, E] through a transform."""
    match name:
        case "LOGISTIC":
            return logistic(x)
        case "SOFTMAX":
            powers = np.exp(x - _largest(x))
            return powers / powers.sum(-1, keepdims=True)
        case "SOFTMAX_ZERO":
            counted = np.abs(x) > x.dtype.type(ZERO)
            largest = _largest(x)
            total = np.where(counted, np.exp(x - largest), 0).sum(-1, keepdims=True)
            powers = np.exp(x - largest)
            return _chosen(counted, powers, x * np.exp(-largest)) / total
        case "PROBIT":
            return probit(x)
        case _:
            return x


def _chosen(where: np.ndarray, one: np.ndarray, other: Any) -> np.ndarray:
    return np.where(where, one, other)


def _largest(x: np.ndarray) -> Any:
    return x.max(-1, keepdims=True, initial=-np.inf)


def logistic(x: np.ndarray) -> np.ndarray:
    """1 / (1 + e⁻ˣ) without overflow."""
    below = np.exp(-np.abs(x))
    return np.where(x < 0, below, x.dtype.type(1)) / (1 + below)


def probit(x: np.ndarray) -> np.ndarray:
    """The quantile of the normal distribution, to two or three digits; NaN beyond (0, 1)."""
    y = 2 * x - 1
    log = np.log((1 - y) * (1 + y))
    middle = 2 / (np.pi * WINITZKI) + log / 2
    root = np.sqrt(np.sqrt(middle * middle - log / WINITZKI) - middle)
    return (np.sqrt(2.0) * np.where(y < 0, -root, root)).astype(x.dtype)


def both(call: Call, score: np.ndarray, name: str) -> np.ndarray:
    """Two columns made of the one score [N, 1] of the second of two classes."""
    if name == "PROBIT":
        raise problem(call, "PROBIT of one score for two classes is defined nowhere")
    if name == "LOGISTIC":
        return np.concatenate([logistic(-score), logistic(score)], axis=1)
    return np.concatenate([1 - score, score], axis=1)


def labels_of(call: Call, ints: str) -> np.ndarray:
    """The labels of the classes, texts or whole numbers (in the attribute `ints`)."""
    texts, numbers = call.attr("classlabels_strings"), call.attr(ints)
    if texts:
        return np.array(texts, object)
    if not numbers:
        raise problem(call, f"neither classlabels_strings nor {ints} says what its classes are")
    return np.array(numbers, np.int64)


def rows_of(call: Call, x: Any) -> np.ndarray:
    """The operand as a matrix [N, F] of the float type that scores are computed in.

    float64 when wide; float32 otherwise, as the results are float32 whatever the operand.
    """
    given = np.asarray(x)
    if given.ndim not in {1, 2}:
        raise problem(call, f"its operand has shape {given.shape}; a matrix was expected")
    matrix = given.reshape(1, -1) if given.ndim == 1 else given
    return matrix.astype(np.float64 if call.wide else np.float32)
