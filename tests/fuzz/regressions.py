"""What the fuzzer found, made small: each once ended in something other than a typed error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx.parser

if TYPE_CHECKING:
    from collections.abc import Callable


HEAD = '<ir_version: 10, opset_import: ["": 21, "my.ops": 3]>'


def model(body: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{HEAD}\n{body}")


def text(body: str) -> bytes:
    return model(body).SerializeToString()


def absent_operand() -> bytes:
    made = model("g (float x) => (float y) { y = Reciprocal (x) }")
    made.graph.node[0].input[0] = ""
    return made.SerializeToString()


REGRESSIONS: dict[str, Callable[[], bytes]] = {
    "a required operand is absent": absent_operand,
    "an attribute names no element type": lambda: text("""
        g (float[2] x) => (float[2] y) { y = Cast <to = 256> (x) }
    """),
    "a shape of more sizes than memory holds": lambda: text("""
        g (float[1, 4, 5] x, int64[4611686018427387904] image, int64["b"] block) => (float y) {
            y = Col2Im (x, image, block)
        }
    """),
    "more outputs are counted than there are": lambda: text("""
        g (float[2, 8] x) => (float[2, 4] y, float[2, 4] z) {
            y, z = Split <axis = 1, num_outputs = 4611686018427387904> (x)
        }
    """),
    "operands of which no type is stated do not fit": lambda: text("""
        g (float[2] x, int64[2] i) => (float[2] y) { h = Exp(x)  k = Abs(i)  y = Add(h, k) }
    """),
    "a subgraph captures a constant twice once equal ones are one": lambda: text("""
        g (bool up) => (float[2] y) <float[2] v = {1, 2}, float[2] w = {1, 2}> {
            y = If (up) <then_branch = t () => (float[2] p) { p = Mul (v, w) },
                         else_branch = e () => (float[2] q) { q = Neg (w) }>
        }
    """),
    "a scale is infinite": lambda: text("""
        g (float[1, 1, 2, 2] x) => (float[1, 1, "h", "w"] y) <float[4] s = {1, 1, 1e38, 1}> {
            t = Mul (s, s)
            y = Resize (x, , t)
        }
    """),
    "a constant index is out of bounds, in a branch": lambda: text("""
        g (bool c) => (float[1] y) <float[2] v = {1, 2}, int64[1] i = {7}> {
            y = If (c) <then_branch = t () => (float[1] p) { p = Gather (v, i) },
                         else_branch = e () => (float[1] q) { q = Gather (v, i) }>
        }
    """),
    "a depth is infinite": lambda: text("""
        g (int64[2] i, float[2] v) => (float[2, "d"] y) <float s = {1e38}> {
            d = Mul (s, s)
            y = OneHot (i, d, v)
        }
    """),
    "a result has another rank than is stated, before an upgrade": lambda: text("""
        g (float[1, 1, 2, 2] x, float[4] s) => (float[1, 1, 4] y) {
            y = Resize <mode = "linear"> (x, s)
        }
    """).replace(b"\x10\x15", b"\x10\x0a"),
    "an output of a type that Identity does not take is constant": lambda: (
        text("""
        g () => (float[2] y) <float[2] w = {1, 2}> { y = Cast <to = 27> (w) }
    """)
        .replace(b"\x10\x15", b"\x10\x1c")
        .replace(b"\x08\x01\x12\x04", b"\x08\x1b\x12\x04")
    ),
    "a string is no text": lambda: text("""
        g (float[2] x) => (float[2] y) { y = my.ops.Use <s = "QQ"> (x) }
    """).replace(b"QQ", b"\xff\xfe"),
}
