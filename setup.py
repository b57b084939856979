"""Computes the list of packages from the tree; everything else is in pyproject.toml.

Each root folder of pyproject's `package-dir` is mounted as a package. Every folder below it that
holds a module or a data file is one of its sub-packages, so none can be forgotten.
"""

import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
TOOL = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
SHIPPED = ["*.py", *TOOL["package-data"]["*"]]


def folders(root: Path) -> list[Path]:
    """The folders under a root, itself among them, that ship a file."""
    every = (root, *sorted(path for path in root.rglob("*") if path.is_dir()))
    return [p for p in every if any(f.is_file() for shape in SHIPPED for f in p.glob(shape))]


setup(
    packages=[
        ".".join((package, *folder.relative_to(HERE / root).parts))
        for package, root in TOOL["package-dir"].items()
        for folder in folders(HERE / root)
    ]
)
