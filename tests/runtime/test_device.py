"""Devices: what runs, what is refused, and in what words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isomorph as iso
from isomorph.ir.dims import Constraint, symbol
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, TensorType
from isomorph.runtime.device import compile_graph
from isomorph.runtime.errors import DeviceError, InputError, NoGpuError, RunError

DEVICES = ("cpu", "reference")


def two_outputs() -> Graph:
    graph = Graph("two")
    batch = symbol("batch")
    a = graph.add_input("a", TensorType(DType.FLOAT32, (batch, 3)))
    b = graph.add_input("b", TensorType(DType.FLOAT32, (batch, 3)))
    graph.constraints.append(Constraint(batch, ">=", 2, "a guard at capture"))
    total = graph.add_op("Add", [a, b], outputs=["total"]).output
    product = graph.add_op("Mul", [a, b], outputs=["product"]).output
    total.type = product.type = a.type
    graph.outputs = [total, product]
    return graph


A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("device", DEVICES)
class TestRun:
    def test_outputs_come_in_graph_order(self, device: str):
        run = compile_graph(two_outputs(), device)
        total, product = run(A, B)
        assert np.array_equal(total, A + B)
        assert np.array_equal(product, A * B)

    def test_outputs_come_by_name(self, device: str):
        found = compile_graph(two_outputs(), device).named(b=B, a=A)
        assert list(found) == ["total", "product"]
        assert np.array_equal(found["product"], A * B)

    def test_inputs_may_be_mixed(self, device: str):
        total, _ = compile_graph(two_outputs(), device)(A, b=B)
        assert np.array_equal(total, A + B)

    @pytest.mark.parametrize(
        ("arrays", "named", "words"),
        [
            ((A,), {}, ["missing: b"]),
            ((A, B, B), {}, ["3 arrays were given by position"]),
            ((A, B), {"c": B}, ["there is no input 'c'"]),
            ((A, B), {"a": B}, ["'a' was given by position and by name"]),
            ((A.astype("f8"), B), {}, ["'a' is float64", "astype('float32')"]),
            ((A[0], B), {}, ["shape (3,)", "float32[batch, 3]"]),
            ((A[:, :2], B), {}, ["'a', axis 1: size 2, 3 is wanted"]),
            ((A, np.ones((4, 3), "f4")), {}, ["'b', axis 0: size 4, but batch = 2 by input 'a'"]),
            ((A[:1], B[:1]), {}, ["batch >= 2 does not hold for batch = 1", "a guard at capture"]),
            ((A.astype("f8"),), {"z": B}, ["missing: b", "no input 'z'", "'a' is float64"]),
        ],
    )
    def test_inputs_that_do_not_fit(
        self, device: str, arrays: tuple[Any, ...], named: dict[str, Any], words: list[str]
    ):
        run = compile_graph(two_outputs(), device)
        with pytest.raises(InputError) as caught:
            run(*arrays, **named)
        for word in words:
            assert word in str(caught.value)


def test_a_dim_that_is_an_expression_is_checked():
    graph = Graph("twice")
    n = symbol("n")
    graph.add_input("a", TensorType(DType.FLOAT32, (n,)))
    graph.add_input("b", TensorType(DType.FLOAT32, (2 * n,)))
    graph.outputs = [graph.add_op("Relu", [graph.inputs[1]]).output]
    run = compile_graph(graph, "reference")
    run(np.zeros(2, "f4"), np.zeros(4, "f4"))
    with pytest.raises(InputError, match=r"2\*n = 4"):
        run(np.zeros(2, "f4"), np.zeros(3, "f4"))


def test_an_unknown_device_is_told_the_known_ones():
    with pytest.raises(DeviceError, match=r"'cpu': onnxruntime.*'reference'"):
        compile_graph(two_outputs(), "tpu")


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_a_machine_without_a_driver_is_told_what_to_install(
    device: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("isomorph.runtime.cuda.LIBRARY", "libcuda-that-is-not-there.so.1")
    with pytest.raises(NoGpuError, match=r"pip install 'isomorph\[cuda\]'.*sim:sm_90"):
        compile_graph(two_outputs(), device)


def test_the_simulator_knows_its_architectures():
    with pytest.raises(DeviceError, match="'sim:sm_80'"):
        compile_graph(two_outputs(), "sim:sm_42")


def test_only_the_simulator_checks():
    with pytest.raises(DeviceError, match="does not check kernels"):
        compile_graph(two_outputs(), "cpu", checking=True)


def test_compile_is_the_public_name():
    run = iso.compile(two_outputs(), device="reference")
    assert run.inputs == ("a", "b")
    assert run.outputs == ("total", "product")


def test_a_kernel_that_fails_says_why():
    graph = Graph("pad")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (symbol("n"),)))
    shape = graph.add_input("s", TensorType(DType.INT64, (1,)))
    graph.outputs = [graph.add_op("Reshape", [x, shape], outputs=["y"]).output]
    run = compile_graph(graph, "cpu")
    with pytest.raises(RunError, match="Reshape"):
        run(np.zeros(4, "f4"), np.array([3]))
