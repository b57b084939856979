"""loss: what each operator computes, in float32 at least, rounded once at the end.

A label that is `ignore_index` has neither loss nor weight, whatever its score is. With `mean` the
sum is divided by the weights of the labels that count (1 each when there are none).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _numeric as n

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]


def chosen(call: Call, scores: Any, labels: Any) -> tuple[Array, Array]:
    """Labels with 0 in the place of those that are ignored, and which those are.

    Raises:
        TypeInferenceError: for a label that is no class, and labels that are not one each.
    """
    wanted = (*np.shape(scores)[:1], *np.shape(scores)[2:])
    if np.shape(labels) != wanted:
        raise TypeInferenceError(
            f"{call.op.where}: labels of shape {np.shape(labels)}, {wanted} was expected"
        )
    ignored = np.zeros(np.shape(labels), bool)
    if call.attr("ignore_index") is not None:
        ignored = np.asarray(labels == call.attr("ignore_index"))
    places = np.where(ignored, 0, labels)
    count = np.shape(scores)[1]
    if places.size and not 0 <= places.min() <= places.max() < count:
        wrong = places[(places < 0) | (places >= count)][0]
        raise TypeInferenceError(f"{call.op.where}: label {wrong} is none of {count} classes")
    return places, ignored


def weights_of(places: Array, ignored: Array, weights: Any, dtype: Any) -> Array:
    """The weight of each label."""
    found = np.ones(places.shape, dtype) if weights is None else n.up(weights)[places]
    return np.where(ignored, 0, found).astype(dtype)


def _reduced(call: Call, log_prob: Array, labels: Any, weights: Any) -> Array:
    """The loss of each label, or their sum, or their weighted mean."""
    places, ignored = chosen(call, log_prob, labels)
    picked = np.take_along_axis(log_prob, np.expand_dims(places, 1), 1)[:, 0]
    share = weights_of(places, ignored, weights, log_prob.dtype)
    loss = np.where(ignored, 0, -picked * share).astype(log_prob.dtype)
    match call.attr("reduction", "mean"):
        case "none":
            return loss
        case "sum":
            return np.asarray(loss.sum())
        case _:
            return np.asarray(loss.sum() / share.sum())


def _likelihood(call: Call, scores: Any, labels: Any, weights: Any = None) -> Array:
    return n.like(_reduced(call, n.up(scores), labels, weights), scores)


def _cross_entropy(call: Call, scores: Any, labels: Any, weights: Any = None) -> tuple[Array, ...]:
    log_prob = n.log_softmax(n.up(scores), 1)
    return n.like(_reduced(call, log_prob, labels, weights), scores), n.like(log_prob, scores)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "NegativeLogLikelihoodLoss"): (Impl(_likelihood),),
    ("", "SoftmaxCrossEntropyLoss"): (Impl(_cross_entropy),),
}
