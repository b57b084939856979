"""An outer value that a body returns is no output of a node there; the file has an Identity."""

from __future__ import annotations

import numpy as np
import onnx

from isomorph.exporters.onnx.writer import to_proto
from isomorph.exporters.target import Target
from isomorph.ir import schema
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight


def test_a_body_that_returns_what_stands_around_it_is_a_file_that_onnx_takes():
    kind, number = TensorType(DType.FLOAT32, (2,)), TensorType(DType.INT64, ())
    body = Graph("body")
    body.add_input("i", number)
    go = body.add_input("go", TensorType(DType.BOOL, ()))
    body.add_input("v", kind)
    outer = body.add_capture("outer", kind)
    same = body.add_op("Identity", [go])
    body.outputs = [same.output, outer]
    graph = Graph("g")
    x = graph.add_input("x", kind)
    count = graph.add_weight(Weight.of(np.array(2)), "n")
    loop = graph.add_op("Loop", [count, None, x], {"body": body}, captures=[x])
    loop.output.type = kind
    graph.outputs = [loop.output]
    graph.opsets = {"": schema.CANONICAL[""]}
    newest = schema.CANONICAL[""]
    model = to_proto(graph, Target(newest, schema.ir_version_for(newest), "any run time"))
    onnx.checker.check_model(model)
