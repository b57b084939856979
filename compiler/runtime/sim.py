"""The machine that runs kernels on the CPU."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from isomorph.passes.plan import ALIGNMENT
from isomorph.simulator.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.codegen.spec import KernelSpec
    from isomorph.simulator.kernel import Memory
    from isomorph.simulator.report import Traffic


class SimMachine:
    """The simulator as a machine.

    Args:
        arch: the architecture that the cost model assumes; the kernels are the same source for all.
        checking: check every access; slow.
        seed: of the order of threads and blocks; 0 is program order.

    Attributes:
        traffic: of every launch so far, by kernel, in checking mode.
    """

    def __init__(self, arch: str, *, checking: bool = False, seed: int = 0) -> None:
        self.arch = arch
        self.checking = checking
        self.seed = seed
        self.traffic: dict[str, list[Traffic]] = {}
        self._kernels: dict[KernelSpec, Kernel] = {}
        self._memory: dict[int, np.ndarray] = {}

    def allocate(self, size: int) -> int:
        raw = np.empty(size + ALIGNMENT, np.uint8)
        address = raw.ctypes.data + -raw.ctypes.data % ALIGNMENT
        self._memory[address] = raw
        return address

    def release(self, address: int) -> None:
        del self._memory[address]

    def upload(self, address: int, array: np.ndarray) -> None:
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def download(self, address: int, array: np.ndarray) -> None:
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def prepare(self, specs: Sequence[KernelSpec]) -> None:
        missing = [s for s in specs if s not in self._kernels]
        if not missing:
            return
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(self._build, missing)
            self._kernels.update(zip(missing, made, strict=True))

    def launch(
        self,
        spec: KernelSpec,
        grid: tuple[int, int, int],
        parameters: Sequence[bytes],
        shared: int,
        memory: Sequence[Memory],
    ) -> None:
        self.prepare([spec])
        traffic = self._kernels[spec].launch(
            grid, spec.threads, parameters, shared=shared, seed=self.seed, memory=memory
        )
        if traffic:
            self.traffic.setdefault(spec.name, []).extend(traffic)

    def _build(self, spec: KernelSpec) -> Kernel:
        return Kernel.of(spec, checking=self.checking)
