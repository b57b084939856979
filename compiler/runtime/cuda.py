"""The machine that runs kernels on an NVIDIA GPU, through the driver.

It is written against the driver's documentation and has not met a device yet: see docs/kernels.md.
"""

from __future__ import annotations

import ctypes
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from isomorph.codegen.nvrtc import cubin
from isomorph.codegen.spec import PORTABLE
from isomorph.runtime.errors import DeviceError, NoGpuError, RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isomorph.codegen.spec import KernelSpec
    from isomorph.simulator.kernel import Memory

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
DEFAULT_SHARED = 48 << 10
"""Bytes of dynamic shared memory that a kernel may use without asking."""


def probe(device: str) -> Any:
    """The driver's bindings, initialised.

    The driver is looked for before the bindings are asked: without it they fail late and can hang.

    Raises:
        NoGpuError: saying what to install.
    """
    instead = "The same kernels run on the CPU as device 'sim:sm_90'"
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        raise NoGpuError(
            f"device {device!r}: there is no NVIDIA driver here ({LIBRARY} cannot be loaded). "
            f"Install the driver of the GPU, and: pip install 'isomorph[cuda]'. {instead}"
        ) from None
    try:
        driver: Any = import_module("cuda.bindings.driver")
    except ImportError as error:
        raise NoGpuError(
            f"device {device!r}: {error}. Install: pip install 'isomorph[cuda]'. {instead}"
        ) from None
    (status,) = driver.cuInit(0)
    if int(status):
        raise NoGpuError(f"device {device!r}: the driver does not start: {status}. {instead}")
    return driver


class CudaMachine:
    """One GPU, its primary context, the default stream.

    Args:
        device: such as `cuda:0`.

    Raises:
        NoGpuError: when there is no driver or no such GPU.
        DeviceError: when kernels are not built for the GPU's architecture.
    """

    def __init__(self, device: str) -> None:
        self._driver = probe(device)
        ordinal = device.partition(":")[2] or "0"
        if not ordinal.isdigit():
            raise DeviceError(f"device {device!r}: a number is expected, as in 'cuda:0'")
        count = self._check(self._driver.cuDeviceGetCount())
        if int(ordinal) >= count:
            raise NoGpuError(f"device {device!r}: this machine has {count} GPUs")
        handle = self._check(self._driver.cuDeviceGet(int(ordinal)))
        self._context = self._check(self._driver.cuDevicePrimaryCtxRetain(handle))
        names = self._driver.CUdevice_attribute
        major, minor = (
            self._check(self._driver.cuDeviceGetAttribute(name, handle))
            for name in (
                names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        self.arch = f"sm_{major}0"
        if self.arch not in PORTABLE:
            known = ", ".join(PORTABLE)
            raise DeviceError(f"device {device!r} is sm_{major}{minor}; kernels exist for {known}")
        self._functions: dict[KernelSpec, Any] = {}
        self._modules: list[Any] = []

    def allocate(self, size: int) -> int:
        self._enter()
        return int(self._check(self._driver.cuMemAlloc(size)))

    def release(self, address: int) -> None:
        self._enter()
        self._check(self._driver.cuMemFree(address))

    def upload(self, address: int, array: np.ndarray) -> None:
        self._enter()
        self._check(self._driver.cuMemcpyHtoD(address, array.ctypes.data, array.nbytes))

    def download(self, address: int, array: np.ndarray) -> None:
        self._enter()
        self._check(self._driver.cuMemcpyDtoH(array.ctypes.data, address, array.nbytes))

    def copy(self, target: int, source: int, size: int) -> None:
        self._enter()
        self._check(self._driver.cuMemcpyDtoD(target, source, size))

    def prepare(self, specs: Sequence[KernelSpec]) -> None:
        self._enter()
        for spec in specs:
            if spec in self._functions:
                continue
            code = cubin(spec, self.arch).code
            module = self._check(self._driver.cuModuleLoadData(code))
            self._modules.append(module)
            name = spec.kernel.encode()
            self._functions[spec] = self._check(self._driver.cuModuleGetFunction(module, name))

    def launch(
        self,
        spec: KernelSpec,
        grid: tuple[int, int, int],
        parameters: Sequence[bytes],
        shared: int,
        memory: Sequence[Memory],
    ) -> None:
        self.prepare([spec])
        function = self._functions[spec]
        if shared > DEFAULT_SHARED:
            name = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._check(self._driver.cuFuncSetAttribute(function, name, shared))
        buffers = [ctypes.create_string_buffer(p, len(p)) for p in parameters]
        pointers = (ctypes.c_void_p * len(buffers))(*(ctypes.addressof(b) for b in buffers))
        block = (spec.threads, 1, 1)
        where = ctypes.addressof(pointers)  # the driver copies the arguments before it returns
        self._check(self._driver.cuLaunchKernel(function, *grid, *block, shared, 0, where, 0))

    def _enter(self) -> None:
        self._check(self._driver.cuCtxSetCurrent(self._context))

    def _check(self, found: tuple[Any, ...]) -> Any:
        """The result of a driver call; raises RunError with the driver's own name for the error."""
        status, *results = found
        if int(status):
            _, text = self._driver.cuGetErrorString(status)
            said = text.decode() if isinstance(text, bytes) else text
            raise RunError(f"the CUDA driver fails with {status}: {said}")
        return results[0] if results else None
