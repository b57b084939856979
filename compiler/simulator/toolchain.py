"""The host compiler that the simulator needs, and what it is asked for."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from isomorph.ir.errors import IsomorphError

HERE = Path(__file__).parent


class NoCompilerError(IsomorphError):
    """The simulator has no C++ compiler, or not the processor that it is written for."""


class BuildError(IsomorphError):
    """The host compiler refuses a kernel; carries what it said."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler: its path, its own description, and flags for this processor."""

    path: str
    version: str
    flags: tuple[str, ...]


@cache
def compiler() -> Compiler:
    """`$ISOMORPH_CXX`, else g++, else clang++.

    Raises:
        NoCompilerError: when there is none, or the machine is not Linux on x86-64.
    """
    if platform.machine() not in {"x86_64", "AMD64"} or platform.system() != "Linux":
        raise NoCompilerError(
            f"the kernel simulator runs on Linux on x86-64, not on {platform.system()} on "
            f"{platform.machine()}. Devices that run here: 'cpu', 'reference'"
        )
    chosen = os.environ.get("ISOMORPH_CXX")
    found = shutil.which(chosen) if chosen else shutil.which("g++") or shutil.which("clang++")
    if found is None:
        wanted = f"$ISOMORPH_CXX = {chosen!r} is no program" if chosen else "none was found"
        raise NoCompilerError(
            f"the kernel simulator needs a C++ compiler, g++ or clang++; {wanted}. "
            "On Debian and Ubuntu: apt install g++"
        )
    said = subprocess.run([found, "--version"], capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    version = said.stdout.partition("\n")[0]
    flags = ["-march=x86-64-v3"] if _modern_processor() else []
    if "clang" not in version:
        flags.append("-fno-gnu-unique")
    return Compiler(found, version, tuple(flags))


def run(command: list[str], what: str) -> None:
    """Run the compiler; raises BuildError with its words."""
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    if done.returncode:
        raise BuildError(f"{Path(command[0]).name} refuses {what}:\n{done.stderr[:4000]}")


def _modern_processor() -> bool:
    """Whether it has what x86-64-v3 means: AVX2, FMA, F16C."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return all(f" {flag}" in text for flag in ("avx2", "fma", "f16c", "bmi2"))
