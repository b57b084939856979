"""What instructions a cubin has, through NVIDIA's disassembler, which needs no driver."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

PACKAGE = "nvidia-cuda-nvdisasm"
_LINE = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", re.MULTILINE)


@cache
def disassembler() -> str | None:
    """The path of nvdisasm: of the package, or on PATH."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name in {"nvdisasm", "nvdisasm.exe"}:
            return str(file.locate())
    return shutil.which("nvdisasm")


needs_disassembler = pytest.mark.skipif(
    disassembler() is None, reason=f"nvdisasm is not here: pip install {PACKAGE}"
)


def opcodes(cubin: bytes) -> Counter[str]:
    """How often each instruction stands in the code, with its modifiers: `LDG.E.128`."""
    tool = disassembler()
    assert tool is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run(
            [tool, "-c", str(path)], capture_output=True, encoding="utf-8", check=True
        )
    found = Counter(_LINE.findall(done.stdout))
    assert found, done.stdout[:500]
    return found
