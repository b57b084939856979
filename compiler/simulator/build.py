"""A kernel's source as a shared library of the host, from the cache where it is there."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from isomorph.codegen.cache import Cache
from isomorph.ir.scratch import scratch
from isomorph.simulator.toolchain import HERE, compiler, run

if TYPE_CHECKING:
    from pathlib import Path

_COMMON = ("-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-w")
_KERNEL = (*_COMMON, "-gdwarf-4", "-fno-optimize-sibling-calls", "-x", "c++")
_FAST = ("-O2",)
_CHECKING = ("-O1", "-fsanitize=thread", "-fno-omit-frame-pointer")


def build(source: str, name: str, *, checking: bool, defines: tuple[str, ...] = ()) -> Path:
    """The library of a flattened source.

    Args:
        source: of the kernel.
        name: the entry's; lines of the main file are found under it.
        checking: instrument every access.
        defines: macros, such as those that plant a bug.

    Raises:
        NoCompilerError: when there is no compiler.
        BuildError: when it refuses the source.
    """
    made = compiler()
    flags = (
        *made.flags,
        *_KERNEL,
        *(_CHECKING if checking else _FAST),
        *(f"-D{d}" for d in defines),
    )
    key = (name, source, _runtime_sources(), made.version, *flags)

    def make() -> bytes:
        with scratch() as folder:
            text, object_file, library = (folder / f"{name}{s}" for s in (".cu", ".o", ".so"))
            text.write_text(source, encoding="utf-8")
            run([made.path, *flags, "-I", str(HERE), "-c", str(text), "-o", str(object_file)], name)
            parts = [str(object_file), str(_runtime("scheduler"))]
            if checking:
                parts.append(str(_runtime("check")))
            run([made.path, "-shared", "-o", str(library), *parts, "-lm"], name)
            return library.read_bytes()

    return Cache("sim", ".so").path(key, make)


@cache
def _runtime_sources() -> str:
    names = ("sim.hpp", "scheduler.cpp", "check.cpp")
    return "\0".join((HERE / n).read_text(encoding="utf-8") for n in names)


def _runtime(part: str) -> Path:
    """The scheduler or the checker, compiled once."""
    made = compiler()
    flags = (*made.flags, *_COMMON, "-O2")

    def make() -> bytes:
        with scratch() as folder:
            target = folder / f"{part}.o"
            source = str(HERE / f"{part}.cpp")
            run([made.path, *flags, "-c", source, "-o", str(target)], f"{part}.cpp")
            return target.read_bytes()

    return Cache("sim", ".o").path((part, _runtime_sources(), made.version, *flags), make)
