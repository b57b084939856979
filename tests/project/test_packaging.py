"""What is installed is what is in the tree, and asks for what pyproject.toml says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from email.parser import Parser
from importlib import metadata
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project.tree import PYPROJECT, ROOT, files, shipped

if TYPE_CHECKING:
    from email.message import Message
    from pathlib import Path

RUN_TIMES = {"onnxruntime", "onnxruntime-gpu"}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the tree: an old build folder would leak into it."""
    copy = tmp_path_factory.mktemp("tree")
    for file in files():
        (copy / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, copy / file)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir=dist"]
    done = subprocess.run(command, cwd=copy, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = (copy / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="session")
def described(wheel: Path) -> Message:
    """The metadata inside the wheel."""
    with ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def test_the_wheel_holds_every_module_and_data_file_and_nothing_else(wheel: Path):
    with ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == set(shipped())


def test_the_wheel_asks_for_what_pyproject_says(described: Message):
    extras = PYPROJECT["project"]["optional-dependencies"]
    wanted = {str(Requirement(line)) for line in PYPROJECT["project"]["dependencies"]}
    for extra, lines in extras.items():
        for line in lines:
            name, _, marker = line.partition(";")
            only = f'extra == "{extra}"' if not marker else f'({marker}) and extra == "{extra}"'
            wanted.add(str(Requirement(f"{name}; {only}")))
    asked = {str(Requirement(line)) for line in described.get_all("Requires-Dist", [])}
    assert asked == wanted
    assert set(described.get_all("Provides-Extra", [])) == set(extras)


def test_the_wheel_brings_a_command_and_a_pytest_plugin(wheel: Path):
    with ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/entry_points.txt"))
        text = archive.read(name).decode()
    assert text.split() == [
        *("[console_scripts]", "isomorph", "=", "isomorph.cli:main"),
        *("[pytest11]", "isomorph", "=", "isomorph.parity.plugin"),
    ]


def test_what_is_installed_here_is_not_stale(described: Message):
    installed = metadata.metadata("isomorph")
    for key in ("Version", "Requires-Python", "Requires-Dist", "Provides-Extra"):
        assert installed.get_all(key) == described.get_all(key), "install isomorph again"


@pytest.mark.parametrize(
    ("system", "machine", "run_time"),
    [
        ("linux", "x86_64", "onnxruntime-gpu"),
        ("win32", "AMD64", "onnxruntime-gpu"),
        ("linux", "aarch64", "onnxruntime"),
        ("win32", "ARM64", "onnxruntime"),
        ("darwin", "arm64", "onnxruntime"),
        ("darwin", "x86_64", "onnxruntime"),
    ],
)
def test_each_platform_gets_exactly_one_run_time(system: str, machine: str, run_time: str):
    platform = {"sys_platform": system, "platform_machine": machine}
    chosen = [
        requirement.name
        for requirement in map(Requirement, PYPROJECT["project"]["dependencies"])
        if requirement.name in RUN_TIMES
        and (requirement.marker is None or requirement.marker.evaluate(platform))
    ]
    assert chosen == [run_time]


def test_the_constraints_pin_all_that_the_tests_install():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(m[1]) for line in lines if (m := re.match(r"([\w.-]+)==", line))}
    assert closure("isomorph", {"test"}) - {"isomorph"} - pinned == set()


def closure(name: str, extras: set[str]) -> set[str]:
    """An installed distribution and everything it needs here, with these extras of it."""
    found: set[str] = set()
    open_ends = [(name, frozenset(extras))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while open_ends:
        seen.add(end := open_ends.pop())
        found.add(canonicalize_name(end[0]))
        for requirement in map(Requirement, metadata.requires(end[0]) or ()):
            if needed(requirement, end[1]):
                further = (requirement.name, frozenset(requirement.extras))
                open_ends += [further] if further not in seen else []
    return found


def needed(requirement: Requirement, extras: frozenset[str]) -> bool:
    """Whether a requirement holds on this machine under any of these extras."""
    marker = requirement.marker
    return marker is None or any(
        marker.evaluate({**default_environment(), "extra": extra}) for extra in (*extras, "")
    )
