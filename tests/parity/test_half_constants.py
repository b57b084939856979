"""A constant stored in 16 bits was rounded once: that explains a difference, and nothing larger."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import isomorph as iso
from isomorph.parity.verdict import Status


def tenth(x):
    return x * np.asarray(0.1, x.dtype)


@pytest.mark.parametrize(("stored", "wanted"), [(0.1, Status.PASS), (0.101, Status.FAIL)])
def test_a_number_of_the_source_in_float16(stored, wanted, tmp_path):
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT16, ["n"]) for n in ("x", "output"))
    weight = numpy_helper.from_array(np.float16(stored), "w")
    node = helper.make_node("Mul", ["x", "w"], ["output"])
    graph = helper.make_graph([node], "g", [x], [y], [weight])
    opsets = [helper.make_opsetid("", 21)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "m.onnx")
    verdict = iso.verify(tenth, tmp_path / "m.onnx", inputs=["x: float16[n]"], cases=20)
    assert verdict.status is wanted, str(verdict)
