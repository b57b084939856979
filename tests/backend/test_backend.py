"""`isomorph.backend`: what suites may hand it, what it refuses, and a sample of ONNX's own."""

from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import onnx
import onnx.helper
import pytest
from onnx.backend.base import Backend

from isomorph import backend
from isomorph.exporters.coverage.report import ExportError
from isomorph.exporters.target import make_target
from isomorph.ir.errors import InvalidModelError
from isomorph.lowering.errors import NoKernelError
from isomorph.runtime.errors import DeviceError, InputError, NoGpuError
from tests.backend import conformance
from tests.backend.suite import suite
from tests.kernels.support import needs_compiler

SAMPLE = 60
"""Cases of the node suite that are judged anew, another choice each time."""
REMEDY = "if it is right now: python -m tests.backend.conformance --write"


def one_op(
    op: str,
    dtypes: list[int],
    output: int,
    *,
    opset: int = 21,
    domain: str = "",
    shape: tuple[int, ...] = (2, 2),
    **attributes: object,
) -> onnx.ModelProto:
    names = [f"x{n}" for n in range(len(dtypes))]
    given = [
        onnx.helper.make_tensor_value_info(n, d, shape) for n, d in zip(names, dtypes, strict=True)
    ]
    node = onnx.helper.make_node(op, names, ["y"], domain=domain, **attributes)
    result = [onnx.helper.make_tensor_value_info("y", output, None)]
    graph = onnx.helper.make_graph([node], "one", given, result)
    imports = [onnx.helper.make_opsetid("", opset)]
    if domain:
        imports.append(onnx.helper.make_opsetid(domain, 1))
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=10)


FLOAT, BFLOAT16, INT4, FLOAT8 = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.BFLOAT16,
    onnx.TensorProto.INT4,
    onnx.TensorProto.FLOAT8E4M3FN,
)


@pytest.mark.parametrize("device", ["CPU", "REFERENCE"])
def test_a_model_runs(device: str):
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    assert backend.supports_device(device)
    (y,) = backend.run_model(one_op("MatMul", [FLOAT, FLOAT], FLOAT), [x, x], device)
    np.testing.assert_array_equal(y, x @ x)


@pytest.mark.parametrize("device", ["CPU", "REFERENCE"])
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(BFLOAT16, ml_dtypes.bfloat16), (INT4, ml_dtypes.int4), (FLOAT8, ml_dtypes.float8_e4m3fn)],
    ids=["bfloat16", "int4", "float8"],
)
def test_element_types_that_numpy_lacks_go_in_and_come_out(device: str, kind: int, dtype: type):
    x = np.array([[1, 2], [3, -4]])
    (wide,) = backend.run_model(one_op("Cast", [kind], FLOAT, to=FLOAT), [x.astype(dtype)], device)
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    (narrow,) = backend.run_model(one_op("Cast", [FLOAT], kind, to=kind), [wide], device)
    assert narrow.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(narrow.astype(np.float32), wide)


@pytest.mark.parametrize("device", ["CPU", "REFERENCE"])
@pytest.mark.parametrize("given", [np.float32(3), 3, 3.0, np.array(3, np.float32)], ids=repr)
def test_scalars_of_every_kind_are_taken(device: str, given: object):
    (y,) = backend.run_model(one_op("Neg", [FLOAT], FLOAT, shape=()), [given], device)
    assert y == -3


def test_inputs_may_come_alone_or_by_name():
    run = backend.prepare(one_op("Neg", [FLOAT], FLOAT)).run
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(run(x)[0], -x)
    np.testing.assert_array_equal(run({"x0": x})[0], -x)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [([], "x0"), ([1, 2], "2 inputs"), ({"z": 1}, "z"), ([None], "None")],
    ids=str,
)
def test_wrong_inputs_are_typed_errors(inputs: object, says: str):
    run = backend.prepare(one_op("Neg", [FLOAT], FLOAT)).run
    with pytest.raises(InputError, match=says):
        run(inputs)


def test_a_sequence_goes_in_as_a_list():
    sequence = onnx.helper.make_tensor_sequence_value_info("s", FLOAT, None)
    node = onnx.helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)
    result = onnx.helper.make_tensor_value_info("y", FLOAT, None)
    graph = onnx.helper.make_graph([node], "g", [sequence], [result])
    imports = [onnx.helper.make_opsetid("", 21)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=10)
    parts = [np.ones(2, np.float32), np.zeros(3, np.float32)]
    for device in ("CPU", "REFERENCE"):
        (y,) = backend.run_model(model, [parts], device)
        np.testing.assert_array_equal(y, np.concatenate(parts))


def test_a_node_runs():
    node = onnx.helper.make_node("Add", ["a", "b"], ["c"])
    (c,) = backend.CPU.run_node(node, [np.float32(1), np.ones(2, np.float32)])
    np.testing.assert_array_equal(c, [2, 2])


def test_what_is_refused_is_refused_in_prepare_with_all_its_reasons():
    with pytest.raises(ExportError) as caught:
        backend.prepare(one_op("Mystery", [FLOAT], FLOAT, domain="nobody"))
    assert caught.value.report.findings[0].op == "Mystery"
    assert not backend.CPU.is_compatible(one_op("Mystery", [FLOAT], FLOAT, domain="nobody"))


def test_an_opset_that_the_run_time_does_not_load_is_rewritten_for_it():
    newest = make_target().opset
    prepared = backend.prepare(one_op("Neg", [FLOAT], FLOAT, opset=28), "CPU")
    assert prepared.model.opset_import[0].version == min(newest, 28)
    reference = backend.prepare(one_op("Neg", [FLOAT], FLOAT, opset=28), "REFERENCE")
    assert reference.model.opset_import[0].version == 28


def test_an_opset_whose_operators_have_no_kernel_is_rewritten():
    prepared = backend.prepare(one_op("Add", [FLOAT, FLOAT], FLOAT, opset=6), "CPU")
    assert prepared.model.opset_import[0].version == make_target().opset
    (y,) = prepared.run([np.ones((2, 2), np.float32)] * 2)
    assert (y == 2).all()


def test_an_opset_below_the_lowest_written_stays_as_it_is():
    prepared = backend.prepare(one_op("Neg", [FLOAT], FLOAT, opset=8))
    assert prepared.model.opset_import[0].version == 8


def test_what_is_no_model_is_refused():
    with pytest.raises(InvalidModelError):
        backend.prepare(onnx.ModelProto())


@pytest.mark.parametrize("device", ["CUDA", "CUDA:1"])
def test_a_gpu_that_is_not_there_is_refused_by_name(device: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("isomorph.runtime.cuda.LIBRARY", "libcuda-that-is-not-there.so.1")
    assert not backend.supports_device(device)
    with pytest.raises(NoGpuError, match="no NVIDIA driver"):
        backend.prepare(one_op("Neg", [FLOAT], FLOAT), device)


@needs_compiler
def test_the_simulator_runs_a_model_on_our_kernels():
    prepared = backend.prepare(one_op("Neg", [FLOAT], FLOAT), "SIM")
    (found,) = prepared.run([np.arange(4, dtype=np.float32).reshape(2, 2)])
    assert found.tolist() == [[0, -1], [-2, -3]]


@needs_compiler
def test_what_has_no_kernel_is_refused_in_prepare():
    with pytest.raises(NoKernelError, match="no kernel computes RandomNormalLike"):
        backend.prepare(one_op("RandomNormalLike", [FLOAT], FLOAT), "SIM")


def test_an_unknown_device_is_refused():
    with pytest.raises(DeviceError, match="TPU"):
        backend.prepare(one_op("Neg", [FLOAT], FLOAT), "TPU")


def test_there_is_a_backend_class_per_device():
    for name, kind in backend.CLASSES.items():
        assert issubclass(kind, Backend)
        if name in conformance.DEVICES:
            assert kind.supports_device("CPU")


# -- conformance ------------------------------------------------------------------------------


def test_a_sample_of_the_node_suite_is_judged_as_recorded():
    known = conformance.recorded()
    if known["releases"] != conformance.releases():
        pytest.skip(f"verdicts were recorded with {known['releases']}")
    cases = known["cases"]
    assert set(cases) == set(suite()), REMEDY
    seed = int(os.environ.get("CONFORMANCE_SEED") or np.random.default_rng().integers(10**6))
    names = np.random.default_rng(seed).choice(sorted(cases), SAMPLE, replace=False).tolist()
    devices = [
        *conformance.DEVICES,
        *(conformance.KERNELS if backend.supports_device("SIM") else ()),
    ]
    chosen = [(n, d) for n in names for d in devices if d in cases[n] or d in conformance.DEVICES]
    drift = [
        f"{name} on {device}: {result.verdict}, recorded {cases[name][device]}: {result.reason}"
        for name, device, result in conformance.judge_all(chosen)
        if result.verdict != cases[name][device]
    ]
    text = "\n".join(drift)
    assert not drift, (
        f"CONFORMANCE_SEED={seed}\n{text}\npython -m tests.backend.conformance --write"
    )


def test_a_case_that_kills_its_process_is_a_mismatch(monkeypatch: pytest.MonkeyPatch):
    worker = conformance.Worker()
    process = worker._start()
    process.kill()
    process.wait()
    assert worker.judge("test_abs", "CPU").verdict == "mismatch"
    assert worker.judge("test_abs", "CPU").verdict == "pass"
    worker.close()
