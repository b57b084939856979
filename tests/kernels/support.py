"""What tests of kernels share: skips, planting, aligned arrays, and graphs from text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.codegen import nvrtc
from isomorph.codegen.flatten import flatten_text, source
from isomorph.simulator.kernel import Kernel, Memory
from isomorph.simulator.toolchain import NoCompilerError, compiler

if TYPE_CHECKING:
    from isomorph.runtime.device import Run


def _without_compiler() -> str:
    try:
        compiler()
    except NoCompilerError as error:
        return str(error)
    return ""


def _without_nvrtc() -> str:
    try:
        nvrtc.version()
    except nvrtc.NvrtcError as error:
        return str(error)
    return ""


needs_compiler = pytest.mark.skipif(bool(_without_compiler()), reason=_without_compiler() or "-")
HAS_NVRTC = not _without_nvrtc()
needs_nvrtc = pytest.mark.skipif(bool(_without_nvrtc()), reason=_without_nvrtc() or "-")


def aligned(array: Any) -> np.ndarray:
    """A copy at a multiple of 256 bytes."""
    array = np.ascontiguousarray(array)
    raw = np.zeros(array.nbytes + 256, np.uint8)
    at = -raw.ctypes.data % 256
    made = raw[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def memory(array: np.ndarray, *, writable: bool = False, initialised: bool = True) -> Memory:
    """What a kernel may do with an array."""
    return Memory(array.ctypes.data, array.nbytes, writable, initialised)


def words(*arguments: Any) -> bytes:
    """A parameter block: addresses of arrays, then 4-byte words."""
    raw = b""
    for a in arguments:
        match a:
            case np.ndarray():
                raw += a.ctypes.data.to_bytes(8, "little")
            case float():
                raw += np.float32(a).tobytes()
            case _:
                raw += int(a).to_bytes(4, "little", signed=a < 0)
    return raw.ljust(-(-len(raw) // 8) * 8, b"\0")


def planted(text: str, good: str, bad: str) -> str:
    """A source with a bug in it, the lines staying where they are."""
    assert text.count(good) == 1, f"{good!r} stands {text.count(good)} times in the source"
    return text.replace(good, bad)


def uses_its_arena(run: Run, *inputs: np.ndarray) -> None:
    """Assert that a run uses all of the arena that was promised, no more, and asks for it once."""
    outputs = run(*inputs)
    engine: Any = run.engine
    arena, memory = engine.arena, engine.machine._memory
    assert arena.used == arena.capacity == run.plan.peak_bytes
    assert arena.allocations == 1
    room, before = memory[arena.base], dict.fromkeys(memory)
    begin = arena.base - room.ctypes.data
    room[:] = 0xA5
    again = run(*inputs)
    written = np.flatnonzero(room != 0xA5)
    end = -(-(int(written[-1]) + 1 - begin) // 256) * 256
    assert (int(written[0]) >= begin, end) == (True, run.plan.peak_bytes)
    assert dict.fromkeys(memory) == before
    assert arena.allocations == 1
    assert all(np.array_equal(a, b) for a, b in zip(outputs, again, strict=True))


def checked(text: str, entry: str, *, name: str = "") -> Kernel:
    """A kernel in checking mode, from flattened source or from a text of the test's own."""
    return Kernel(flatten_text(name, text) if name else text, entry, checking=True)


def line_of(name: str, fragment: str) -> str:
    """file:line of a fragment of one of our kernels."""
    from isomorph.kernels import FOLDER

    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if fragment in line]
    return f"{name}:{number}"


__all__ = [
    "HAS_NVRTC",
    "aligned",
    "checked",
    "line_of",
    "memory",
    "needs_compiler",
    "needs_nvrtc",
    "planted",
    "source",
    "uses_its_arena",
    "words",
]
