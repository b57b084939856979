"""The memory that a program runs in: one block for intermediates, and one per constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isomorph.codegen.spec import KernelSpec
    from isomorph.simulator.kernel import Memory


class Machine(Protocol):
    """What runs kernels: memory by address, and launches.

    Attributes:
        arch: the architecture whose kernels it runs.
    """

    arch: str

    def allocate(self, size: int) -> int:
        """The address of new memory, aligned to 256 bytes; it lives as long as the machine."""
        ...

    def release(self, address: int) -> None:
        """Give memory back."""
        ...

    def upload(self, address: int, array: np.ndarray) -> None:
        """Copy a contiguous array to the machine."""
        ...

    def download(self, address: int, array: np.ndarray) -> None:
        """Copy from the machine into a contiguous array, when all launches are done."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes within the machine's memory, after all launches before."""
        ...

    def prepare(self, specs: Sequence[KernelSpec]) -> None:
        """Build kernels ahead of their first launch."""
        ...

    def launch(
        self,
        spec: KernelSpec,
        grid: tuple[int, int, int],
        parameters: Sequence[bytes],
        shared: int,
        memory: Sequence[Memory],
    ) -> None:
        """Run a kernel; `memory` says what it may touch."""
        ...


class Arena:
    """One block of memory that grows when a larger plan comes, and never otherwise.

    Attributes:
        base: its address.
        capacity: its bytes.
        used: bytes up to the end of the furthest tensor that a run has placed in it.
        allocations: how often memory was asked for.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.base = 0
        self.capacity = 0
        self.used = 0
        self.allocations = 0

    def ensure(self, size: int) -> None:
        """Have at least so many bytes; the content is lost when it grows."""
        if size <= self.capacity:
            return
        if self.capacity:
            self._machine.release(self.base)
        self.base = self._machine.allocate(size)
        self.capacity = size
        self.allocations += 1

    def touch(self, end: int) -> None:
        """A tensor that ends at this offset is in use."""
        self.used = max(self.used, end)
