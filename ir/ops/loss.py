"""loss: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.ops import _shapes as s
from isomorph.ir.ops._bounds import unify_dims

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import Shape, Type

REDUCTIONS = ("none", "sum", "mean")


def _loss(ctx: Context) -> tuple[Type | None, ...]:
    """A number for each label, or one for all; then, of SoftmaxCrossEntropyLoss, log_prob."""
    reduction = ctx.attr("reduction", "mean")
    if reduction not in REDUCTIONS:
        raise ctx.error(f"reduction is {reduction!r}; {', '.join(REDUCTIONS)} are known")
    scores, labels, weights = ctx.shape(0), ctx.shape(1), ctx.shape(2)
    each: Shape | None = labels
    if scores is not None:
        if len(scores) < 2:
            raise ctx.error(f"scores of rank {len(scores)}; (N, C, …) was expected")
        of_scores = (scores[0], *scores[2:])
        each = of_scores
        if labels is not None:
            if len(labels) != len(of_scores) or any(
                isinstance(a, int) and isinstance(b, int) and a != b
                for a, b in zip(labels, of_scores, strict=False)
            ):
                shown = ", ".join("?" if d is None else str(d) for d in of_scores)
                raise ctx.error(f"labels should have shape ({shown}): one for each of the scores")
            each = tuple(unify_dims(pair) for pair in zip(labels, of_scores, strict=True))
    if weights is not None:
        classes = None if scores is None else scores[1]
        if len(weights) != 1 or (
            isinstance(classes, int) and isinstance(weights[0], int) and weights[0] != classes
        ):
            raise ctx.error(f"weights should be a vector of {classes or 'C'} numbers")
    loss = each if reduction == "none" else ()
    return s.tensor(ctx.dtype(0), loss), ctx.type(0)


OPS: dict[Key, OpDef] = {
    ("", "NegativeLogLikelihoodLoss"): OpDef(_loss, Tolerance.LOSS),
    ("", "SoftmaxCrossEntropyLoss"): OpDef(_loss, Tolerance.LOSS),
}
