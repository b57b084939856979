"""A kernel loaded into this process, and its launches."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from isomorph.codegen.flatten import source
from isomorph.simulator.build import build
from isomorph.simulator.report import Finding, SimulationError, Traffic, failures, findings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.codegen.spec import KernelSpec

_ROOM = 1 << 16
_ONE_AT_A_TIME = Lock()
"""A library that two programs load is one, with one state."""
WRITABLE, INITIALISED = 1, 2


@dataclass(frozen=True, slots=True)
class Memory:
    """A range that a kernel may touch.

    Attributes:
        address, size: in bytes.
        writable: the kernel may write it.
        initialised: it holds data before the launch.
    """

    address: int
    size: int
    writable: bool = True
    initialised: bool = True


class Kernel:
    """A kernel of the simulator.

    Args:
        text: the flattened source.
        entry: the kernel's name in it.
        checking: shadow memory for every access; slow.
        defines: macros.
    """

    def __init__(
        self, text: str, entry: str, *, checking: bool = False, defines: tuple[str, ...] = ()
    ) -> None:
        self.entry = entry
        self.checking = checking
        self._path = build(text, entry, checking=checking, defines=defines)
        self._library = ctypes.CDLL(str(self._path))
        self._launch = getattr(self._library, f"{entry}_launch")
        self._launch.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_uint32,
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_size_t,
        ]
        if checking:
            self._library.check_report.restype = ctypes.c_size_t

    @staticmethod
    def of(spec: KernelSpec, *, checking: bool = False, defines: tuple[str, ...] = ()) -> Kernel:
        """The kernel of a spec."""
        return Kernel(source(spec), spec.kernel, checking=checking, defines=defines)

    def launch(
        self,
        grid: Sequence[int],
        threads: int,
        parameters: Sequence[bytes],
        *,
        shared: int = 0,
        seed: int = 0,
        memory: Sequence[Memory] = (),
    ) -> tuple[Traffic, ...]:
        """Run it; in checking mode, the traffic of each line.

        Args:
            grid: blocks in x, y, z.
            threads: of a block.
            parameters: the bytes of each.
            shared: bytes of dynamic shared memory.
            seed: of the order of threads and blocks; 0 is program order.
            memory: what it may touch, in checking mode.

        Raises:
            SimulationError: with every finding, by file:line.
        """
        if 0 in grid:
            return ()
        with _ONE_AT_A_TIME:
            return self._launched(grid, threads, parameters, shared, seed, memory)

    def _launched(
        self,
        grid: Sequence[int],
        threads: int,
        parameters: Sequence[bytes],
        shared: int,
        seed: int,
        memory: Sequence[Memory],
    ) -> tuple[Traffic, ...]:
        if self.checking:
            self._register(memory)
        buffers = [ctypes.create_string_buffer(p, len(p)) for p in parameters]
        pointers = (ctypes.c_void_p * max(1, len(buffers)))(*(ctypes.addressof(b) for b in buffers))
        size = (ctypes.c_uint * 3)(*(*grid, 1, 1)[:3])
        block = (ctypes.c_uint * 3)(threads, 1, 1)
        report = ctypes.create_string_buffer(_ROOM)
        failed = self._launch(size, block, shared, seed, pointers, report, _ROOM)
        found: list[Finding] = failures(report.value.decode(), self._path) if failed else []
        if not self.checking:
            if found:
                raise SimulationError(self.entry, found)
            return ()
        text = self._checked()
        more, traffic = findings(text, self._path)
        kinds = {(f.kind, f.where) for f in found}
        found += [f for f in more if (f.kind, f.where) not in kinds]
        if found:
            raise SimulationError(self.entry, found)
        return tuple(traffic)

    def _register(self, memory: Sequence[Memory]) -> None:
        self._library.check_reset()
        for m in memory:
            flags = WRITABLE * m.writable + INITIALISED * m.initialised
            self._library.check_buffer(
                ctypes.c_void_p(m.address), ctypes.c_size_t(m.size), ctypes.c_int(flags)
            )

    def _checked(self) -> str:
        room = _ROOM
        while True:
            text = ctypes.create_string_buffer(room)
            needed = self._library.check_report(text, ctypes.c_size_t(room))
            if needed <= room:
                return text.value.decode()
            room = needed
