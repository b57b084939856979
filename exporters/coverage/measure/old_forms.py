"""Uses of versions that no newer use turns into: their attributes became inputs, or the reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx.parser

from isomorph.frontends.onnx.reader import read
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph
    from isomorph.ir.opdef import Key

OLD_FORMS: dict[Key, dict[int, str]] = {
    ("", "Dropout"): {
        6: """<ir_version: 4, opset_import: ["": 6]>
            old (float[2,3] x) => (float[2,3] y) { y = Dropout <is_test = 1, ratio = 0.3> (x) }"""
    },
    ("", "GroupNormalization"): {
        18: """<ir_version: 8, opset_import: ["": 18]>
            old (float[2,4,3] x, float[2] scale, float[2] bias) => (float[2,4,3] y) {
                y = GroupNormalization <num_groups = 2> (x, scale, bias) }"""
    },
    ("", "If"): {
        1: """<ir_version: 4, opset_import: ["": 8]>
            old (bool c, float[2] x) => (float[2] y) {
                y = If (c) <then_branch = then () => (float[2] a) { a = Neg (x) },
                            else_branch = other () => (float[2] b) { b = Abs (x) }> }"""
    },
    ("", "LayerNormalization"): {
        1: """<ir_version: 8, opset_import: ["": 13]>
            old (float16[2,3,4] x, float[4] scale, float[4] bias)
            => (float[2,3,4] y, float[2,3,1] mean, float[2,3,1] factor) {
                y, mean, factor = LayerNormalization <epsilon = 0.5> (x, scale, bias) }"""
    },
    ("", "Loop"): {
        1: """<ir_version: 4, opset_import: ["": 8]>
            old (int64 n, bool c, float[2] x) => (float[2] y, float[k,2] all) {
                y, all = Loop (n, c, x) <body = body (int64 i, bool go, float[2] v)
                    => (bool on, float[2] w, float[2] s) {
                        on = Identity (go) w = Add (v, x) s = Neg (v) }> }"""
    },
    ("", "Pad"): {
        2: """<ir_version: 4, opset_import: ["": 9]>
            old (float[2,3] x) => (float[5,4] y) {
                y = Pad <mode = "constant", pads = [1, 0, 2, 1], value = 0.5> (x) }"""
    },
    ("", "Resize"): {
        10: """<ir_version: 5, opset_import: ["": 10]>
            old (float[1,1,2,2] x) => (float[1,1,4,6] y)
            <float[4] scales = {1, 1, 2, 3}> { y = Resize <mode = "linear"> (x, scales) }"""
    },
    ("", "Scan"): {
        8: """<ir_version: 4, opset_import: ["": 8]>
            old (float[2,3] h, float[2,5,3] x) => (float[2,3] last, float[2,5,3] all) {
                last, all = Scan <num_scan_inputs = 1,
                    body = body (float[3] s, float[3] v) => (float[3] t, float[3] o) {
                        t = Add (s, v) o = Neg (t) }> (, h, x) }""",
        9: """<ir_version: 4, opset_import: ["": 9]>
            old (float[3] h, float[5,3] x) => (float[3] last, float[5,3] all) {
                last, all = Scan <num_scan_inputs = 1,
                    body = body (float[3] s, float[3] v) => (float[3] t, float[3] o) {
                        t = Add (s, v) o = Neg (t) }> (h, x) }""",
    },
    ("", "Slice"): {
        1: """<ir_version: 4, opset_import: ["": 9]>
            old (float[3,4] x) => (float[2,2] y) {
                y = Slice <axes = [0, 1], starts = [1, -4], ends = [1000, -2]> (x) }"""
    },
    ("", "TopK"): {
        1: """<ir_version: 4, opset_import: ["": 9]>
            old (float[3,4] x) => (float[3,2] y, int64[3,2] i) {
                y, i = TopK <axis = 1, k = 2> (x) }"""
    },
}
"""By operator and version: a model in ONNX's text form."""


def old_form(key: Key, version: int) -> tuple[Graph, list[Any]] | None:
    """The graph of a form, and inputs for it; `None` where there is none."""
    text = OLD_FORMS.get(key, {}).get(version)
    if text is None:
        return None
    graph = read(onnx.parser.parse_model(text))
    rng = np.random.default_rng(0)
    feeds: list[Any] = []
    for value in graph.inputs:
        kind = value.type
        if not isinstance(kind, TensorType) or kind.static_shape is None:
            raise TypeError(f"{key[1]}-{version}: {value} has no fixed shape")
        drawn = rng.uniform(-2, 2, kind.static_shape) if kind.dtype.is_float else np.array(3)
        feeds.append(drawn.astype(kind.dtype.numpy))
    return graph, feeds
