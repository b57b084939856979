"""loss: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.instances import Arg, Instance

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

    Several = tuple[Instance, ...]

CLASSES = 5


def _uses(outputs: int) -> Several:
    def use(
        note: str = "",
        *behind: int,
        weights: bool = False,
        ignored: int | None = None,
        results: int = 1,
        labels: str = "int64",
        **given: Any,
    ) -> Instance:
        """Labels run through the classes; of those that may be ignored, every third is."""
        shape = (3, *behind)
        count = 3
        for size in behind:
            count *= size
        drawn = [(7 * i + 2) % CLASSES for i in range(count)]
        if ignored is not None:
            drawn = [ignored if i % 3 == 1 else n for i, n in enumerate(drawn)]
        operands: list[Arg | None] = [Arg((3, CLASSES, *behind)), Arg(shape, "Tind", drawn)]
        if weights:
            operands.append(Arg((CLASSES,), low=0.25, high=2))
        attributes = {"ignore_index": ignored, **given}
        attributes = {k: v for k, v in attributes.items() if v is not None}
        return Instance(tuple(operands), attributes, results, note=note, bind={"Tind": labels})

    return (
        use(),
        use("sum", reduction="sum"),
        use("each", reduction="none"),
        use("weights", weights=True),
        use("weights, each, int32", weights=True, reduction="none", labels="int32"),
        use("sequences", 4),
        use("images, sum, weights", 2, 3, weights=True, reduction="sum"),
        use("volumes, each", 2, 1, 3, reduction="none", results=outputs),
        use("a class ignored", 4, ignored=1),
        use("no class ignored, int32", ignored=-1, labels="int32", results=outputs),
        use("ignored, weights", 4, ignored=255, weights=True, results=outputs),
        use("ignored, each, weights", 2, 3, ignored=-100, weights=True, reduction="none"),
        use("ignored, sum", ignored=2, reduction="sum"),
    )


INSTANCES: dict[Key, Several] = {
    ("", "NegativeLogLikelihoodLoss"): _uses(1),
    ("", "SoftmaxCrossEntropyLoss"): _uses(2),
}
