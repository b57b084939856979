"""What mutants start from: small models of the standard's suite, every construct."""

from __future__ import annotations

from functools import cache

import onnx
import onnx.parser

from tests.frontends.onnx.constructs import CONSTRUCTS
from tests.frontends.onnx.suite import suite_models

LARGEST = 6000
"""Bytes of a seed: what is larger takes longer and holds nothing more."""

FILES = {"w.bin": bytes(64), "v.bin": bytes(range(256))}
"""Data files beside every mutant."""

TEXTS = (
    """
    <ir_version: 10, opset_import: ["": 21, "local": 1]>
    g (float["n", "2*n + 1"] x, bool c, int64[2] s) => (float[2] y, float["n", "m"] z)
    <float[2] w = {1, 2}, int4[3] q = {1, 2, 3}>
    {
        a = local.f <alpha: float = 3.0> (w)
        y = If (c) <then_branch = t () => (float[2] p) { p = Mul(a, w) },
                    else_branch = e () => (float[2] r) { r = Identity(w) }>
        z = Reshape <allowzero: int = 1> (x, s)
    }
    <domain: "local", opset_import: ["": 21]>
    f <alpha: float = 2.0> (x) => (y) { y = LeakyRelu <alpha: float = @alpha> (x) }
    """,
    """
    <ir_version: 8, opset_import: ["": 13, "ai.onnx.ml": 2],
     metadata_props: ["isomorph.constraints": "n >= 4; n % 8 == 0",
                      "isomorph.domains": "x in 0..9"]>
    g (float["n", 3] x) => (float["n", 3] y) {
        k = Constant <value = float[3] {1, 2, 3}> ()
        s = Add(x, k)
        y = Clip(s, , )
    }
    """,
)


def external() -> onnx.ModelProto:
    """A model with data in two files."""
    model = onnx.parser.parse_model(TEXTS[0])
    for tensor, location, offset, length in zip(
        model.graph.initializer, FILES, ("8", "254"), ("8", "2"), strict=True
    ):
        tensor.ClearField("float_data")
        tensor.ClearField("int32_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=value)
    return model


def by_hand() -> list[onnx.ModelProto]:
    """Everything but the standard's suite."""
    made = [external(), *(onnx.parser.parse_model(t) for t in TEXTS)]
    return made + [make() for make in CONSTRUCTS.values()]


@cache
def seeds(*, suite: bool = True) -> tuple[bytes, ...]:
    """Serialized models; those that were made by hand come first."""
    own = [m.SerializeToString() for m in by_hand()]
    more = suite_models().values() if suite else ()
    return (*own, *(d for m in more if len(d := m.SerializeToString()) <= LARGEST))
