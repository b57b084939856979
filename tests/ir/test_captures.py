"""Constants that subgraphs capture."""

from __future__ import annotations

import numpy as np
import onnx.parser

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.captures import own_constants
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.patch import Patch
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.verify import verify

NESTED = """<ir_version: 8, opset_import: ["": 16]>
nested (float[N, 3] x, bool up, bool twice) => (float[M, K] y)
<int64[1] axes = {0}, float[3] weights = {1, 2, 3}> {
    y = If (up) <
        then_branch = then () => (float[M, K] t) {
            t = If (twice) <
                then_branch = inner () => (float[M, K] u) {
                    a = Unsqueeze (x, axes)
                    u = Squeeze (a, axes)
                },
                else_branch = other () => (float[M, K] v) { v = Unsqueeze (weights, axes) }>
        },
        else_branch = otherwise () => (float[M, K] e) { e = Mul (x, weights) }>
}"""
FEEDS = [
    [np.ones((2, 3), np.float32), np.array(up), np.array(twice)]
    for up in (True, False)
    for twice in (True, False)
]


def test_small_constants_move_in_at_any_depth():
    graph = decode_model(onnx.parser.parse_model(NESTED))
    wanted = [interpret(graph, feeds) for feeds in FEEDS]
    assert own_constants(graph)
    verify(graph)
    captured = {v.name for _, op in graph.walk() for v in op.captures}
    assert captured == {"x", "twice"}
    for feeds, old in zip(FEEDS, wanted, strict=True):
        assert np.array_equal(interpret(graph, feeds)[0], old[0])
    assert not own_constants(graph)


def test_axes_captured_from_outside_become_attributes():
    graph = decode_model(onnx.parser.parse_model(NESTED))
    wanted = [interpret(graph, feeds) for feeds in FEEDS]
    assert upgrade(graph) == []
    infer(graph)
    assert downgrade(graph, 11) == []
    verify(graph)
    for feeds, old in zip(FEEDS, wanted, strict=True):
        assert np.array_equal(interpret(graph, feeds)[0], old[0])


def test_a_constant_that_is_captured_twice_moves_in_once():
    graph = decode_model(
        onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 16]>
        twice (bool up) => (float[3] y) <float[3] v = {1, 2, 3}, float[3] w = {1, 2, 3}> {
            y = If (up) <
                then_branch = t () => (float[3] p) { p = Mul (v, w) },
                else_branch = e () => (float[3] q) { q = Neg (w) }>
        }""")
    )
    (op,) = graph.ops()
    patch = Patch(graph)
    patch.replace(op.captures[0], op.captures[1])  # as the merging of equal weights does
    patch.apply()
    assert op.captures[0] is op.captures[1]
    assert own_constants(graph)
    verify(graph)
    assert not op.captures
    assert interpret(graph, [np.array(True)])[0].tolist() == [1, 4, 9]
