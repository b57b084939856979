"""What a run time is known to do wrong with operators that it loads and runs.

`check` tells it as a risk, the coverage matrix as a note, and tests expect it: a row that no longer
holds of the installed release fails one (`tests/exporters/runtimes/test_limitations.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from isomorph.exporters.runtimes.tables import type_text
from isomorph.ir.constants import integers, numbers
from isomorph.ir.schema import ML
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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


def _lengths(op: Op) -> tuple[int | None, int | None]:
    """A DFT's operand's size along its axis, and how many points it transforms, where known."""
    first, axis, stated = op.input(0), numbers(op.input(2)), numbers(op.input(1))
    kind = first.type if first is not None else None
    shape = kind.shape if isinstance(kind, TensorType) else None
    size = None
    if shape is not None and (axis is not None or op.input(2) is None):
        along = op.attr("axis", 1) if op.version < 20 else -2 if axis is None else int(axis)
        size = shape[along]
    size = size if isinstance(size, int) else None
    if op.input(1) is not None:
        return size, None if stated is None else int(stated.reshape(-1)[0])
    mirrored = op.attr("inverse") and op.attr("onesided")
    return size, size if size is None or not mirrored else 2 * (size - 1)


def _inverse_of_no_power(op: Op) -> bool:
    _, points = _lengths(op)
    return bool(op.attr("inverse")) and (points is None or bool(points & (points - 1)))


def _mirrored_otherwise(op: Op) -> bool:
    """Whether a one-sided inverse states another length than its frequencies have."""
    size, points = _lengths(op)
    if not (op.attr("inverse") and op.attr("onesided")) or points is None or size is None:
        return False
    return points // 2 + 1 != size


def _asks_for_double(op: Op) -> bool:
    return op.attributes.get("output_datatype") == DType.FLOAT64.value


def _aligns_one_pixel(op: Op) -> bool:
    sizes = integers(op.input(1))
    return bool(op.attr("align_corners")) and sizes is not None and 1 in sizes[2:]


_WINDOW = Limitation(
    "makes float64 windows of float32 constants",
    "rely on no more than float32 tells, or make the window a constant",
    when=_asks_for_double,
    shown_by=("", "symmetric", "run-time size", "run-time size, symmetric", "one element"),
)


def _repeats_keys(op: Op) -> bool:
    for name, value in op.attributes.items():
        if name.startswith("keys_"):
            given = value.numpy().reshape(-1).tolist() if isinstance(value, Weight) else value
            keys = list(cast("Iterable[Any]", given))
            if len(set(keys)) < len(keys):
                return True
    return False


def _transforms_one(op: Op) -> bool:
    targets = op.attr("targets" if op.type == "LinearRegressor" else "n_targets", 1)
    return targets == 1 and op.attr("post_transform", "NONE") not in {"NONE", "PROBIT", 0, 4}


def _votes_for_some(op: Op) -> bool:
    classes = op.attr("classlabels_int64s") or op.attr("classlabels_strings") or ()
    voted = set(op.attr("class_ids") or ())
    return not op.attr("base_values") and (len(classes) > 2 or len(voted) > 1)


def _two_by_lines(op: Op) -> bool:
    classes = op.attr("classlabels_ints") or op.attr("classlabels_strings") or ()
    return len(classes) == 2 and not sum(op.attr("vectors_per_class") or ())


def _length(op: Op, index: int) -> object:
    """The length of an operand that is (batch, length, …), or (batch, heads, length, size)."""
    value = op.input(index)
    kind = value.type if value is not None else None
    shape = kind.shape if isinstance(kind, TensorType) else None
    if shape is None:
        return None
    return shape[2] if len(shape) == 4 else shape[1]


def _causal_over_more(op: Op) -> bool:
    """Whether there are, or may be, more new keys than queries."""
    queries, keys = _length(op, 0), _length(op, 1)
    if not op.attr("unidirectional", 0) or op.input(1) is None or queries == keys:
        return False
    return not (isinstance(queries, int) and isinstance(keys, int) and keys < queries)


def _filters_lowest(op: Op) -> bool:
    mask = op.input(3 if op.type == "Attention" else 4)
    value = op.attr("mask_filter_value")
    return bool(op.attr("unidirectional", 0)) and mask is not None and (value or 0.0) < -1e38


_LOWEST = Limitation(
    "gives keys that come later the lowest score, so that they count where every other key of a "
    "query is filtered by as low a number",
    "leave mask_filter_value away, or mask no query's every key",
    when=_filters_lowest,
    shown_by=("causal, the first keys filtered by the lowest",),
)
_KEPT = Limitation(
    "reads beyond what it is given where the present keys and values are not asked for",
    "ask for the present keys and values, too",
    when=lambda op: (
        op.input(3 if op.type == "GroupQueryAttention" else 6) is not None
        and (len(op.outputs) < 3 or None in op.outputs[1:3])
    ),
)

_ONE_SCORE = Limitation(
    "does not transform the one score of a regressor, unless by PROBIT",
    "apply the transform with an operator of its own after it",
    when=_transforms_one,
)


def _skips_zeros(op: Op) -> bool:
    """Whether a MatMulNBits has packed zero points, and says which block each weight is of."""
    zeros = op.input(3)
    kind = None if zeros is None else zeros.type
    packed = isinstance(kind, TensorType) and kind.dtype is DType.UINT8
    return packed and op.input(4) is not None


LIMITATIONS: dict[Key, tuple[Limitation, ...]] = {
    (DOMAIN, "MatMulNBits"): (
        Limitation(
            "does not read packed zero points where g_idx is given",
            "order the weights by block, and leave g_idx out",
            ("float16", "float32"),
            when=_skips_zeros,
        ),
    ),
    (DOMAIN, "Attention"): (
        Limitation(
            "dies where there is no bias",
            "give it a bias of zeros",
            when=lambda op: op.input(2) is None,
        ),
        _LOWEST,
    ),
    (DOMAIN, "GroupQueryAttention"): (_KEPT,),
    (DOMAIN, "MultiHeadAttention"): (
        Limitation(
            "lets the last query see every key, where there are more new keys than queries",
            "add -inf to the scores of later keys, by attention_bias",
            when=_causal_over_more,
        ),
        _LOWEST,
        _KEPT,
        Limitation(
            "shows the lowest number among the scores of keys that come later, instead of -inf",
            "hide the scores of those keys",
            ("float32",),
            when=lambda op: bool(op.attr("unidirectional", 0)) and len(op.outputs) > 3,
        ),
    ),
    (ML, "CastMap"): (
        Limitation(
            'puts "0.f" in the place of texts that a sparse map lacks',
            when=lambda op: (op.attr("map_form"), op.attr("cast_to")) == ("SPARSE", "TO_STRING"),
        ),
    ),
    (ML, "LabelEncoder"): (
        Limitation(
            "takes the first value of a key that occurs twice, not the last",
            "state each key once",
            when=_repeats_keys,
        ),
    ),
    (ML, "LinearRegressor"): (_ONE_SCORE,),
    (ML, "SVMClassifier"): (
        Limitation(
            "says the second of two classes of a linear machine whenever a score is above 0",
            "use a LinearClassifier",
            when=_two_by_lines,
        ),
    ),
    (ML, "SVMRegressor"): (
        Limitation(
            "does not transform its score",
            "apply the transform with an operator of its own after it",
            when=lambda op: op.attr("post_transform") != "NONE" and not op.attr("one_class"),
        ),
    ),
    (ML, "TreeEnsemble"): (
        Limitation(
            "takes a post_transform of 1 for LOGISTIC and of 2 for SOFTMAX",
            "apply the transform with an operator of its own after it",
            when=lambda op: op.attr("post_transform") in {1, 2},
        ),
    ),
    (ML, "TreeEnsembleClassifier"): (
        Limitation(
            "passes over classes that get no vote, and labels two classes that both get some 1 "
            "and 0",
            "give every class a base value",
            when=_votes_for_some,
            shown_by=("three, none above 0", "two, both"),
        ),
    ),
    (ML, "TreeEnsembleRegressor"): (_ONE_SCORE,),
    ("", "AffineGrid"): (
        Limitation(
            "puts a single pixel at its far edge when corners are aligned, where the definition "
            "says nothing and PyTorch has its middle",
            "do not align corners, or choose a size of 2 or more",
            when=_aligns_one_pixel,
        ),
    ),
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
    ("", "BlackmanWindow"): (_WINDOW,),
    ("", "DFT"): (
        Limitation(
            "multiplies an inverse in float64 by a float32 factor",
            "use a length that is a power of two, or float32",
            ("float64",),
            _inverse_of_no_power,
        ),
        Limitation(
            "neither crops nor pads the frequencies of a one-sided inverse to the stated length",
            "slice or pad them before",
            when=_mirrored_otherwise,
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
    ("", "HammingWindow"): (_WINDOW,),
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
