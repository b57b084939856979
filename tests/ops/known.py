"""Where another implementation is known to be wrong; a row that is no longer true fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isomorph.exporters.runtimes.limitations import limitations_of
from isomorph.exporters.target import installed
from isomorph.ir.infer import infer
from isomorph.ir.instances import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.instances import Instance
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import DType

    Row = tuple[str, Callable[[Instance, str], bool], str]


def _blends(instance: Instance) -> bool:
    """Whether a Resize interpolates to fewer elements."""
    scales = instance.inputs[2]
    return instance.attributes["mode"] != "nearest" and scales is not None and 0.6 in scales.values


REFERENCE: tuple[Row, ...] = (
    (
        "Attention",
        lambda i, d: d == "float32" and i.note == "scores 0",
        "scores of mode 0 are shown after softcap, which the function body applies later",
    ),
    (
        "NegativeLogLikelihoodLoss",
        lambda i, _: i.note == "no class ignored, int32",
        "labels ignored as -1 count in the mean, unlike any others",
    ),
    (
        "Slice",
        lambda i, _: "backward start before" in i.note,
        "Slice-13 clamps a backward start to 0; numpy's slices clamp it to -1",
    ),
    (
        "Pad",
        lambda i, d: d == "string" and i.attributes.get("mode") is None and len(i.inputs) < 3,
        "strings are padded with the empty string (Pad-13), not with the number 0",
    ),
    (
        "Pad",
        lambda i, d: d == "string" and i.note == "axes",
        "strings are padded with the empty string (Pad-13), not with the number 0",
    ),
    (
        "CenterCropPad",
        lambda i, d: d == "string" and (bool(i.note) or "axes" in i.attributes),
        "strings are padded with the number 0",
    ),
    ("Trilu", lambda i, d: d == "string" and i.note != "empty", "strings become the number 0"),
    (
        "Unique",
        lambda i, _: not i.attributes.get("sorted", 1) and "axis" in i.attributes,
        "unsorted values are taken along axis 0, whatever the axis is",
    ),
    (
        "Resize",
        lambda i, d: i.note == "align_corners" and _blends(i) and d == "float32",
        "align_corners divides by the fractional length, not by length_resized - 1",
    ),
    (
        "Loop",
        lambda i, _: i.note in ("constant", "ends early", "while"),
        "scan outputs are concatenated (np.vstack), not stacked",
    ),
    (
        "GridSample",
        lambda i, d: "int" in d and i.attributes.get("mode") is None,
        "weights are integers where X is (GridSample-16: intermediate values are floating point)",
    ),
    (
        "GridSample",
        lambda i, d: "cubic border" in i.note and d == "float32",
        "places beyond the edge are moved to it first: a jump, which PyTorch does not have",
    ),
    ("GridSample", lambda _, d: d == "string", "strings are padded with the number 0"),
    ("AffineGrid", lambda _, d: d != "float32", "the result is float32 whatever theta is"),
    (
        "AffineGrid",
        lambda i, d: i.note == "one pixel, corners aligned" and d == "float32",
        "with corners aligned a single pixel lies at 2 / 0",
    ),
    (
        "SequenceInsert",
        lambda i, _: i.note == "at the end",
        "position n is taken modulo n, so the element is put at the front",
    ),
    ("Optional", lambda *_: True, "the optional is a list of its element"),
    (
        "StringSplit",
        lambda i, _: i.note == "spaces, at most",
        "white space at the end stays behind the last part that maxsplit allows",
    ),
    (
        "StringNormalizer",
        lambda i, _: i.note in ("upper", "lower, any case", "C"),
        "letters lose their accents, and become several, in any locale",
    ),
    (
        "StringNormalizer",
        lambda i, _: i.note == "kept, any case",
        "case counts where case_change_action is NONE, whatever is_case_sensitive says",
    ),
    (
        "TfIdfVectorizer",
        lambda i, _: i.note == "weights",
        "weights are taken by column of the result, not by n-gram of the pool",
    ),
    *(
        (op, lambda _, d: d != "float32", "the result has the operand's element type")
        for op in ("FeatureVectorizer", "LinearRegressor", "Normalizer", "SVMRegressor", "Scaler")
    ),
    *(
        (op, lambda _, d: d != "float32", "scores have the operand's element type")
        for op in ("SVMClassifier", "TreeEnsembleRegressor")
    ),
    (
        "LinearClassifier",
        lambda _, d: d == "float64",
        "scores have the operand's element type",
    ),
    ("DictVectorizer", lambda *_: True, "the result is a vector of float64, whatever the values"),
    (
        "LabelEncoder",
        lambda i, _: i.note == "NaN among keys",
        "NaN finds no key (LabelEncoder-4: NaN keys match any NaN)",
    ),
    (
        "LinearClassifier",
        lambda i, d: i.note == "two by one" and d != "float64",
        "one score s of two classes is made -s and s; nothing is defined, onnxruntime has 1 - s",
    ),
    (
        "LinearRegressor",
        lambda i, d: i.note == "no intercepts" and d == "float32",
        "without intercepts, which are optional, the results are NaN",
    ),
    (
        "Normalizer",
        lambda i, d: i.note == "MAX" and d == "float32",
        "the divisor of MAX is max(|X|), where the definition has max(X)",
    ),
    (
        "OneHotEncoder",
        lambda i, _: i.note == "fractions",
        "floats are looked up as they are; the definition casts them to integers",
    ),
    (
        "SVMClassifier",
        lambda i, _: i.note == "three, probabilities",
        "the products of pairwise probabilities are summed over all pairs (JMLR 5, 2004: of two)",
    ),
    (
        "SVMClassifier",
        lambda i, d: i.note in {"linear", "linear, SOFTMAX"} and d == "float32",
        "with one rho the labels of a linear machine are 1 and 0, however many classes it has",
    ),
    (
        "TreeEnsemble",
        lambda i, _: i.note in {"SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"},
        "post_transform is ignored",
    ),
    (
        "TreeEnsembleClassifier",
        lambda i, _: (
            i.note
            in {
                "two, positive, LOGISTIC",
                "two, positive, second",
                "two, mixed",
                "two, mixed, base",
                "two, mixed, second",
            }
        ),
        "of two classes one gets votes: other scores than onnxruntime's, or of the other class",
    ),
)
"""Where the reference interpreter is wrong, or has what no definition says."""

RULE: tuple[Row, ...] = (
    (
        "DFT",
        lambda i, _: "run-time length" in i.note and "axis" not in i.note,
        "onnx 1.23 keeps the operand's symbolic size along the axis whatever dft_length is",
    ),
)
"""Where `onnx.shape_inference` says more than is true."""


def expect(
    request: pytest.FixtureRequest,
    rows: tuple[Row, ...],
    key: Key,
    instance: Instance,
    dtype: DType,
) -> None:
    """Mark the running test as one that fails, when a row says so."""
    for op, applies, reason in rows:
        if op == key[1] and applies(instance, str(dtype)):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


BODIES = frozenset({("Loop", "no state")})
"""Uses whose bodies run what is limited; those of others may never run."""


def limited(key: Key, instance: Instance, dtype: DType) -> str:
    """What onnxruntime is known to get wrong of this use; empty for the rest."""
    if any(0 in arg.shape for arg in instance.inputs if arg is not None):
        return ""
    graph, _ = build(key, instance, dtype)
    infer(graph)
    release = installed("onnxruntime") or ""
    inside = (key[1], instance.note) in BODIES
    for op in (op for g, op in graph.walk() if inside or g is graph):
        for limitation in limitations_of(op, "onnxruntime", release):
            if limitation.shown_by is None or instance.note in limitation.shown_by:
                return f"onnxruntime {release} {limitation.reason}"
    return ""


def expect_limited(
    request: pytest.FixtureRequest, key: Key, instance: Instance, dtype: DType
) -> None:
    """Mark the running test as one that fails, when a `Limitation` of onnxruntime says so."""
    reason = limited(key, instance, dtype)
    if reason:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
