"""What is asked of the CUDA driver, by a driver that only remembers. No GPU is proved by it."""
# ruff: noqa: N802 - the driver's own names

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isomorph.ir.text import parse
from isomorph.runtime import cuda
from isomorph.runtime.device import compile_graph
from isomorph.runtime.errors import DeviceError, NoGpuError, RunError
from tests.kernels.support import needs_nvrtc

ADD = """<ir_version: 10, opset_import: ["" : 21]>
g (float[2, 3] x, float[3] b) => (float[2, 3] y) { y = Add(x, b) }"""


class Driver:
    """Host memory in the place of a GPU's; launches are noted, not run."""

    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR="major",
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR="minor",
    )
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="shared")

    def __init__(self, major: int = 9, count: int = 1) -> None:
        self.major, self.count = major, count
        self.memory: dict[int, Any] = {}
        self.launches: list[tuple[Any, ...]] = []
        self.loaded: list[bytes] = []
        self.status = 0

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return 0, self.count

    def cuDeviceGet(self, ordinal: int) -> tuple[int, int]:
        return 0, ordinal

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, str]:
        return 0, f"context {device}"

    def cuCtxSetCurrent(self, context: str) -> tuple[int]:
        return (0,)

    def cuDeviceGetAttribute(self, name: str, device: int) -> tuple[int, int]:
        return 0, self.major if name == "major" else 0

    def cuMemAlloc(self, size: int) -> tuple[int, int]:
        raw = ctypes.create_string_buffer(size)
        self.memory[ctypes.addressof(raw)] = raw
        return 0, ctypes.addressof(raw)

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> tuple[int]:
        ctypes.memmove(to, source, size)
        return (0,)

    def cuMemcpyDtoH(self, to: int, source: int, size: int) -> tuple[int]:
        ctypes.memmove(to, source, size)
        return (0,)

    def cuModuleLoadData(self, code: bytes) -> tuple[int, str]:
        self.loaded.append(code)
        return 0, "module"

    def cuModuleGetFunction(self, module: str, name: bytes) -> tuple[int, str]:
        return 0, f"{module} {name.decode()}"

    def cuLaunchKernel(self, *arguments: Any) -> tuple[int]:
        pointers = (ctypes.c_void_p * 2).from_address(arguments[9])
        first = ctypes.string_at(pointers[0], 12)
        self.launches.append((*arguments[:9], first))
        return (self.status,)

    def cuGetErrorString(self, status: int) -> tuple[int, bytes]:
        return 0, b"an illegal memory access was encountered"


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setattr(cuda, "probe", lambda _: made)
    return made


@needs_nvrtc
def test_a_launch_has_its_cubin_its_grid_and_its_parameters(driver: Driver):
    run = compile_graph(parse(ADD), "cuda:0")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    run(x, np.ones(3, np.float32))
    run(x, np.ones(3, np.float32))
    assert len(driver.loaded) == 1
    assert driver.loaded[0].startswith(b"\x7fELF")
    assert len(driver.launches) == 2
    function, *shape, shared, stream, first = driver.launches[0]
    assert function == "module elementwise"
    assert (shape, shared, stream) == ([1, 1, 1, 256, 1, 1], 0, 0)
    assert int.from_bytes(first[8:], "little") == 6
    assert run.engine.arena.allocations == 1


@needs_nvrtc
def test_an_error_of_the_driver_keeps_its_words(driver: Driver):
    run = compile_graph(parse(ADD), "cuda:0")
    driver.status = 700
    with pytest.raises(RunError, match="700: an illegal memory access"):
        run(np.zeros((2, 3), np.float32), np.zeros(3, np.float32))


def test_a_gpu_that_is_not_there(driver: Driver):
    with pytest.raises(NoGpuError, match="this machine has 1 GPUs"):
        compile_graph(parse(ADD), "cuda:3")
    with pytest.raises(DeviceError, match="a number is expected"):
        compile_graph(parse(ADD), "cuda:first")


def test_a_gpu_without_kernels(driver: Driver):
    driver.major = 7
    with pytest.raises(DeviceError, match="sm_70; kernels exist for sm_80"):
        compile_graph(parse(ADD), "cuda:0")
