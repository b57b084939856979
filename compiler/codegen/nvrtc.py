"""Cubins through NVRTC, which needs neither a driver nor a GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from isomorph.codegen.cache import Cache
from isomorph.codegen.flatten import source
from isomorph.ir.errors import IsomorphError

if TYPE_CHECKING:
    from isomorph.codegen.spec import KernelSpec

OPTIONS = ("--std=c++17", "--ptxas-options=-v")
_RESOURCES = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"(\d+) bytes smem")


class NvrtcError(IsomorphError):
    """NVRTC is missing, or refuses a kernel; carries its log."""


@dataclass(frozen=True, slots=True)
class Cubin:
    """A kernel's machine code for one architecture, and what the assembler said of it.

    Attributes:
        code: the cubin.
        registers: a thread's.
        spills: bytes stored to and loaded from local memory for lack of registers.
        shared: bytes of static shared memory.
    """

    code: bytes
    registers: int
    spills: int
    shared: int


@cache
def version() -> str:
    """NVRTC's version, such as `13.5`.

    Raises:
        NvrtcError: when it cannot be loaded.
    """
    bindings = _bindings()
    try:
        result, major, minor = bindings.nvrtcVersion()
    except Exception as error:  # noqa: BLE001 - the loader's errors share no base
        raise NvrtcError(f"NVRTC cannot be loaded: {error}. {_REPAIR}") from None
    if int(result):
        raise NvrtcError(f"NVRTC fails with {result}. {_REPAIR}")
    return f"{major}.{minor}"


def cubin(spec: KernelSpec, arch: str) -> Cubin:
    """A kernel built for an architecture such as `sm_90`; from the cache where it is there.

    Raises:
        NvrtcError: when NVRTC is missing or refuses the kernel.
    """
    if arch not in spec.archs:
        raise NvrtcError(f"{spec.name} is made for {', '.join(spec.archs)}, not for {arch}")
    text = source(spec)
    options = (f"--gpu-architecture={arch}", *OPTIONS)
    key = (text, *options, version(), arch)
    raw = Cache("cubin", ".bin").get(key, lambda: _packed(_build(text, spec.name, options)))
    length = int.from_bytes(raw[:8], "little")
    return _described(raw[8 + length :], raw[8 : 8 + length].decode(errors="replace"))


_REPAIR = "Install it with: pip install 'isomorph[cuda]'"


def _bindings() -> Any:
    try:
        return import_module("cuda.bindings.nvrtc")
    except ImportError as error:
        raise NvrtcError(f"cubins need cuda-bindings and NVRTC: {error}. {_REPAIR}") from None


def _packed(built: tuple[bytes, bytes]) -> bytes:
    code, log = built
    return len(log).to_bytes(8, "little") + log + code


def _build(text: str, name: str, options: tuple[str, ...]) -> tuple[bytes, bytes]:
    nvrtc = _bindings()

    def checked(found: tuple[Any, ...]) -> Any:
        if int(found[0]):
            raise NvrtcError(f"NVRTC fails on {name} with {found[0]}")
        return found[1] if len(found) > 1 else None

    program = checked(nvrtc.nvrtcCreateProgram(text.encode(), f"{name}.cu".encode(), 0, [], []))
    try:
        encoded = [o.encode() for o in options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        log = b" " * checked(nvrtc.nvrtcGetProgramLogSize(program))
        checked(nvrtc.nvrtcGetProgramLog(program, log))
        log = log.rstrip(b"\0 ")
        if int(status):
            raise NvrtcError(f"NVRTC refuses {name}:\n{log.decode(errors='replace')}")
        code = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
        checked(nvrtc.nvrtcGetCUBIN(program, code))
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return code, log


def _described(code: bytes, log: str) -> Cubin:
    used, spilled, shared = _RESOURCES.search(log), _SPILLS.search(log), _SHARED.search(log)
    if used is None or spilled is None:
        raise NvrtcError(f"the assembler's report cannot be read: {log!r}")
    spills = int(spilled[1]) + int(spilled[2])
    return Cubin(code, int(used[1]), spills, int(shared[1]) if shared else 0)
