"""What a run time is known to do wrong with operators that it loads and runs.

`check` tells it as a risk, the coverage matrix as a note, and tests expect it: a row that no longer
holds of the installed release fails one (`tests/exporters/runtimes/test_limitations.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.exporters.runtimes.tables import type_text
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key


@dataclass(frozen=True, slots=True)
class Limitation:
    """Wrong results of an operator.

    Attributes:
        reason: what the run time does, after its name.
        remedy: what to do about it.
        dtypes: element types of the first operand that it is about; any where empty.
        when: the uses that it is about; all by default.
        shown_by: notes of the uses in `ir.instances` that show it; `None` for all of those that it
            is about.
        runtime, releases: which run time it was observed of.
    """

    reason: str
    remedy: str = "compare its results there, or use another release"
    dtypes: tuple[str, ...] = ()
    when: Callable[[Op], bool] | None = None
    shown_by: tuple[str, ...] | None = None
    runtime: str = "onnxruntime"
    releases: tuple[str, ...] = ("1.31.1",)

    def __str__(self) -> str:
        """What a note says of it."""
        at = f"at {', '.join(self.dtypes)}: " if self.dtypes else ""
        return f"{at}{self.runtime} {', '.join(self.releases)} {self.reason}; {self.remedy}"

    def concerns(self, op: Op, runtime: str, release: str) -> bool:
        """Whether it is about this use at this release."""
        if runtime != self.runtime or release not in self.releases:
            return False
        first = op.input(0)
        dtype = type_text(first.type) if first is not None else ""
        return (not self.dtypes or dtype in self.dtypes) and (self.when is None or self.when(op))


def limitations_of(op: Op, runtime: str, release: str) -> list[Limitation]:
    """What is known to be wrong with a use at a release."""
    return [r for r in LIMITATIONS.get(op.key, ()) if r.concerns(op, runtime, release)]


def _rows_of_several(op: Op) -> bool:
    """Whether what an index along the first axis selects has several elements, or may have."""
    first = op.input(0)
    kind = first.type if first is not None else None
    shape = kind.shape if isinstance(kind, TensorType) else None
    return op.attributes.get("axis", 0) == 0 and (shape is None or shape[1:] not in ((), (1,)))


def _shows_masked_scores(op: Op) -> bool:
    return len(op.outputs) > 3 and op.attributes.get("qk_matmul_output_mode") == 2


LIMITATIONS: dict[Key, tuple[Limitation, ...]] = {
    ("", "Attention"): (
        Limitation(
            "computes it in float64 with a scale that is rounded to float32",
            "state no more than float32 can tell, or give a scale of few digits",
            ("float64",),
            shown_by=("", "scale", "softcap", "bias", "past"),
        ),
        Limitation(
            "runs an older definition in float64: rows without a key are NaN, and what is causal "
            "does not move with the number of keys that count",
            "use float32, or export at opset 22 or older",
            ("float64",),
            lambda op: op.input(3) is not None or op.input(6) is not None,
            ("a row without keys", "some keys count, causal", "fewer keys count than queries"),
        ),
        Limitation(
            "masks with the lowest number, and shows that instead of -inf among the scores",
            "hide the scores where the mask does",
            ("float32", "float16"),
            _shows_masked_scores,
            ("scores 2", "scores 2, causal"),
        ),
    ),
    ("", "Gather"): (
        Limitation(
            "returns empty strings where an index selects more than one element",
            "gather numbers, and look the texts up outside of the model",
            ("string",),
            _rows_of_several,
        ),
    ),
    ("", "Gelu"): (
        Limitation(
            "computes its tanh form with float32 constants",
            "use its exact form, or float32",
            ("float64",),
            lambda op: op.attributes.get("approximate") in ("tanh", b"tanh"),
        ),
    ),
    ("", "GroupNormalization"): (
        Limitation("computes it in float32", "rely on no more than float32 tells", ("float64",)),
    ),
    ("", "LSTM"): (
        Limitation(
            "does not clip what the last activation is given",
            "clip outside of the layer, or not at all",
            ("float32",),
            when=lambda op: op.attributes.get("clip") is not None,
            shown_by=("peepholes, clipped",),
        ),
    ),
    ("", "MaxUnpool"): (
        Limitation(
            "counts indices in output_shape, not in the shape that the attributes imply "
            "(https://github.com/onnx/onnx/issues/2398)",
            "leave output_shape away, and pad afterwards",
            when=lambda op: op.input(2) is not None,
        ),
    ),
    ("", "Shrink"): (
        Limitation(
            "computes it with float32 constants",
            "choose lambd and bias that float32 holds",
            ("float64",),
            shown_by=("", "scalar", "lambd 1.5 bias 1.5", "bias 0.5"),
        ),
    ),
    ("", "Sign"): (
        Limitation(
            "maps NaN to 0", "look for NaN with IsNaN", ("float16",), None, ("special values",)
        ),
    ),
    ("", "StringSplit"): (
        Limitation(
            "takes the space alone for white space",
            "state the delimiter",
            when=lambda op: not op.attributes.get("delimiter"),
            shown_by=("other white space",),
        ),
        Limitation(
            "finds no part in an empty text, where the definition has an empty one",
            "see to it that no text is empty",
            when=lambda op: bool(op.attributes.get("delimiter")),
            shown_by=("empty texts",),
        ),
    ),
}
