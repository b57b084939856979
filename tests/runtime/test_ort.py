"""The adaptor to onnxruntime: sessions, element types, and a process that may die."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from isomorph.exporters.onnx.writer import write
from isomorph.ir.budget import BudgetError, Limits
from isomorph.ir.text import parse
from isomorph.runtime.errors import RunError, RuntimeLoadError
from isomorph.runtime.ort import Session, load_in_subprocess

if TYPE_CHECKING:
    from pathlib import Path


def cast(source: int, target: int) -> bytes:
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=target)],
        "cast",
        [helper.make_tensor_value_info("x", source, [None])],
        [onnx.ValueInfoProto(name="y")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return made.SerializeToString()


X = np.array([0.25, 1.0, 2.0, -3.0, 5.0, 6.0, 7.0], np.float32)


@pytest.mark.parametrize(
    ("number", "dtype"),
    [
        (TensorProto.FLOAT16, np.float16),
        (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
        (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
        (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
        (TensorProto.INT4, ml_dtypes.int4),
        (TensorProto.BOOL, np.bool_),
        (TensorProto.INT64, np.int64),
    ],
)
def test_element_types_go_out_and_in(number: int, dtype: type):
    (out,) = Session(cast(TensorProto.FLOAT, number), optimize=False).run({"x": X})
    assert out.dtype == np.dtype(dtype)
    assert np.array_equal(out.astype(np.float32)[1:], X.astype(dtype).astype(np.float32)[1:])
    (back,) = Session(cast(number, TensorProto.FLOAT), optimize=False).run({"x": out})
    assert np.array_equal(back, out.astype(np.float32))


def test_a_file_that_is_no_model(tmp_path: Path):
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"not a model")
    with pytest.raises(RuntimeLoadError, match=r"bad\.onnx"):
        Session(path, optimize=True)
    with pytest.raises(RuntimeLoadError, match=r"bad\.onnx"):
        load_in_subprocess(path)


def test_a_model_loads_in_a_process_of_its_own(tmp_path: Path):
    path = tmp_path / "good.onnx"
    path.write_bytes(cast(TensorProto.FLOAT, TensorProto.INT64))
    load_in_subprocess(path)


def test_a_failing_kernel_speaks_in_one_line():
    session = Session(cast(TensorProto.FLOAT, TensorProto.INT64), optimize=True)
    with pytest.raises(RunError) as caught:
        session.run({"x": np.zeros(3, np.int32)})
    assert "\n" not in str(caught.value)


def test_a_model_that_takes_too_long_to_load_is_given_up(tmp_path: Path):
    """Constants are folded while a model is loaded."""
    lines = "\n".join(f"a{n + 1} = MatMul(a{n}, a0)" for n in range(40))
    graph = parse(
        '<ir_version: 10, opset_import: ["": 21]> g (float[n] x) => (float y)'
        f"<float[1] w = {{0.5}}, int64[2] s = {{2000, 2000}}> {{ a0 = Expand(w, s)\n{lines}\n"
        "m = ReduceMax <keepdims = 0> (a40) r = ReduceMax <keepdims = 0> (x) y = Add(m, r) }"
    )
    path = tmp_path / "m.onnx"
    write(graph, path)
    started = time.monotonic()
    with pytest.raises(BudgetError, match=r"m\.onnx within 0\.5 seconds; .*--max-seconds"):
        load_in_subprocess(path, Limits(seconds=0.5))
    assert time.monotonic() - started < 60
