"""What figures were measured on; `page.py` prints it under each table."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib import metadata
from pathlib import Path


def conditions(*packages: str) -> dict[str, str]:
    """Processor, Python, and the versions of those packages that are installed."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [s for s in info.read_text(encoding="utf-8").splitlines() if "model name" in s]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    found = {"cpu": f"{cpu}, {os.cpu_count()} cores", "python": platform.python_version()}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):  # the other wheel of a run time, or an extra
            found[name] = metadata.version(name)
    return found
