"""What is installed here, and what each missing piece costs."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

from isomorph.codegen import nvrtc
from isomorph.runtime.cuda import probe
from isomorph.runtime.errors import NoGpuError
from isomorph.simulator.toolchain import NoCompilerError, compiler

_RUNTIMES = ("onnxruntime", "onnxruntime-gpu")


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing looked at: whether it is well, what was found, and the repair if it is not."""

    name: str
    ok: bool
    found: str
    repair: str = ""

    def __str__(self) -> str:
        mark = "ok  " if self.ok else "FIX "
        return f"{mark} {self.name}: {self.found}" + (
            f"\n     repair: {self.repair}" if self.repair else ""
        )

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def examine() -> list[Examined]:
    """Everything that isomorph can use, in the order in which a user meets it."""
    return [
        Examined("python", True, f"{platform.python_version()} on {platform.platform()}"),
        *(_package(name) for name in ("numpy", "onnx", "networkx", "hypothesis", "ml-dtypes")),
        runtime_package(installed_runtimes()),
        _runtime_works(),
        _optional("torch", "PyTorch models", "pip install 'isomorph[torch]'"),
        _compiler(),
        _cubins(),
    ]


def installed_runtimes() -> dict[str, str]:
    """Which distributions of onnxruntime are installed, with their versions."""
    found: dict[str, str] = {}
    for name in _RUNTIMES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def runtime_package(installed: dict[str, str]) -> Examined:
    """Exactly one distribution of onnxruntime should own the `onnxruntime` module."""
    wanted = "onnxruntime-gpu" if _gpu_wheel_here() else "onnxruntime"
    pip = f"{sys.executable} -m pip"
    shown = ", ".join(f"{n} {v}" for n, v in installed.items())
    if not installed:
        return Examined("onnxruntime", False, "not installed", f"{pip} install {wanted}")
    if len(installed) > 1:
        return Examined(
            "onnxruntime",
            False,
            f"{shown} are both installed and overwrite each other's files",
            f"{pip} uninstall -y {' '.join(installed)} && {pip} install {wanted}",
        )
    return Examined("onnxruntime", True, shown)


def _gpu_wheel_here() -> bool:
    return (sys.platform, platform.machine()) in (("linux", "x86_64"), ("win32", "AMD64"))


def _runtime_works() -> Examined:
    """Import it in a process of its own: a broken build takes the process with it."""
    code = "import onnxruntime as o; print(o.__version__, ','.join(o.get_available_providers()))"
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, a constant program
            [sys.executable, "-c", code],
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Examined("run time", False, "importing onnxruntime hangs", "reinstall onnxruntime")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return Examined("run time", False, last, "reinstall onnxruntime")
    version, providers = done.stdout.split()
    cuda = "CUDAExecutionProvider" in providers and shutil.which("nvidia-smi") is not None
    device = "CPU and CUDA" if cuda else "CPU"
    return Examined("run time", True, f"onnxruntime {version} serves {device}")


def _package(name: str) -> Examined:
    try:
        return Examined(name, True, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Examined(name, False, "not installed", f"{sys.executable} -m pip install {name}")


def _optional(name: str, what: str, repair: str) -> Examined:
    try:
        return Examined(name, True, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Examined(name, True, f"not installed; only {what} need it", repair)


def _compiler() -> Examined:
    """What the simulator needs: a C++ compiler, and the tool that turns addresses into lines."""
    name = "kernel simulator (device sim:sm_90)"
    try:
        found = compiler()
    except NoCompilerError as error:
        return Examined(name, True, f"not available: {error}")
    if shutil.which("addr2line") is None:
        return Examined(name, True, f"{found.version}; without addr2line, findings have no lines")
    return Examined(name, True, found.version)


def _cubins() -> Examined:
    """What cubins need."""
    try:
        return Examined("CUDA kernels", True, f"NVRTC {nvrtc.version()} builds cubins; {_gpu()}")
    except nvrtc.NvrtcError as error:
        return Examined("CUDA kernels", True, f"no cubins: {error}")


def _gpu() -> str:
    try:
        probe("cuda:0")
    except NoGpuError as error:
        return str(error).partition(". ")[0]
    return "a driver is here"
