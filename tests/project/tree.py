"""The repository as the tests of this folder see it: its files, mounted roots and modules."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MOUNTS: dict[str, str] = PYPROJECT["tool"]["setuptools"]["package-dir"]
DATA_PATTERNS: list[str] = PYPROJECT["tool"]["setuptools"]["package-data"]["*"]
UNTRACKED = {".git", ".venv", ".cache", "build", "dist", "__pycache__", ".hypothesis"}


@cache
def files() -> tuple[Path, ...]:
    """Every file of the project, relative to its root: tracked, or new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    if listed.returncode == 0:
        names = {Path(name) for name in listed.stdout.split("\0") if name}
    else:  # an unpacked archive has no .git
        names = {p.relative_to(ROOT) for p in ROOT.rglob("*")}
        names = {p for p in names if not UNTRACKED.intersection(p.parts)}
    return tuple(sorted(p for p in names if (ROOT / p).is_file()))


def shipped() -> dict[str, Path]:
    """The modules and data files of the mounted roots: path inside the wheel → path in the tree."""
    found = {}
    for package, folder in MOUNTS.items():
        for file in files():
            if file.parts[0] == folder and any(map(file.match, ("*.py", *DATA_PATTERNS))):
                found["/".join((*package.split("."), *file.parts[1:]))] = file
    return found


@cache
def modules() -> dict[str, Path]:
    """Every module of the package: dotted name → path in the tree."""
    found = {}
    for inside, file in shipped().items():
        if inside.endswith(".py"):
            name = inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            found[name] = file
    return found
