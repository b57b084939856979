"""The shape of the project: imports run one way, files stay small, the tree stands alone."""

from __future__ import annotations

import re

import pytest

from tests.project.imports import Import, cycles, imports
from tests.project.tree import MOUNTS, ROOT, files, modules

# Lowest first. A module may import from its own layer and those before it. The longest prefix wins.
LAYERS = (
    ("isomorph.ir",),
    ("isomorph.passes",),
    ("isomorph.exporters",),
    (
        "isomorph.frontends",
        "isomorph.lowering",
        "isomorph.codegen",
        "isomorph.kernels",
        "isomorph.simulator",
        "isomorph.runtime",
    ),
    ("isomorph.parity",),
    (
        "isomorph.exporters.coverage.measure",
        "isomorph.backend",
        "isomorph.api",
        "isomorph.cli",
        "isomorph.doctor",
        "isomorph.__main__",
    ),
)
FRONT_DOOR = "isomorph"
"""The package itself re-exports the public names, lazily; only the command line asks it."""
MAY_USE_FRONT_DOOR = ("isomorph.cli", "isomorph.__main__")
SOURCE_SUFFIXES = {".py", ".cu", ".cuh", ".cpp", ".hpp"}
MOST_LINES = 500
MACHINE_PATH = re.compile(r"(?<![\w.:/~-])(?:/(?:tmp|work|root|home|Users|farm|mnt)/\w|[A-Z]:\\\w)")
OUTSIDE = re.compile(r"\.\./" + "shared")


def layer(module: str) -> int | None:
    """The index of a module's layer; None for the front door and for modules that have none."""
    homes = {prefix: i for i, prefixes in enumerate(LAYERS) for prefix in prefixes}
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        found = homes.get(".".join(parts[:length]))
        if found is not None:
            return found
    return None


def all_imports() -> list[Import]:
    """Every import of every module of the package."""
    known = modules()
    return [
        found
        for name, path in known.items()
        for found in imports(
            (ROOT / path).read_text(encoding="utf-8"),
            name,
            package=path.name == "__init__.py",
            known=known,
        )
    ]


def within(module: str, prefixes: tuple[str, ...]) -> bool:
    """Whether a module is one of these, or inside one of these packages."""
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes)


def wrong_way(found: Import) -> bool:
    """Whether an import runs upward, or asks the front door from below."""
    if found.importer == FRONT_DOOR or not within(found.target, (FRONT_DOOR,)):
        return False
    if found.target == FRONT_DOOR:
        return not within(found.importer, MAY_USE_FRONT_DOOR)
    source, target = layer(found.importer), layer(found.target)
    return source is not None and target is not None and target > source


def describe(found: Import) -> str:
    """The place and content of an import, for a person who has to move it."""
    return f"{modules()[found.importer]}:{found.line}: {found.importer} names {found.target}"


def test_every_module_has_a_layer():
    homeless = [m for m in modules() if m != FRONT_DOOR and layer(m) is None]
    assert not homeless, f"give them a layer in {__name__}: {homeless}"


def test_imports_run_one_way():
    wrong = [describe(found) for found in all_imports() if wrong_way(found)]
    assert not wrong, "\n".join(wrong)


def test_no_import_cycles():
    edges: dict[str, set[str]] = {}
    for found in all_imports():
        if found.target in modules() and not found.in_string:
            edges.setdefault(found.importer, set()).add(found.target)
    assert cycles(edges) == []


def test_mounted_folders_are_never_imported_under_their_bare_names():
    bare = tuple(MOUNTS.values())
    wrong = [describe(f) for f in all_imports() if not f.in_string and within(f.target, bare)]
    assert not wrong, "\n".join(wrong)


def test_no_file_is_longer_than_a_person_reads_at_once():
    lengths = {
        path: len((ROOT / path).read_text(encoding="utf-8").splitlines())
        for path in files()
        if path.suffix in SOURCE_SUFFIXES
    }
    long = {str(path): n for path, n in lengths.items() if n > MOST_LINES}
    assert not long, f"split along what the file does: {long}"


@pytest.mark.parametrize("pattern", [MACHINE_PATH, OUTSIDE], ids=["machine path", "outside"])
def test_the_tree_names_nothing_outside_itself(pattern: re.Pattern[str]):
    wrong = []
    for path in files():
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:  # weights, arrays
            continue
        wrong += [
            f"{path}:{number}: {line.strip()}"
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    assert not wrong, "\n".join(wrong)


KNOWN = ("isomorph", "isomorph.ir", "isomorph.ir.graph", "isomorph.api", "isomorph.passes.fold")
UPWARD = {
    "plain": "import isomorph.api",
    "plain, renamed": "import isomorph.api as up",
    "from package": "from isomorph import api",
    "from module": "from isomorph.api import export",
    "front door": "from isomorph import export",
    "relative": "from .. import api",
    "relative module": "from ..api import export",
    "in a function": "def f():\n    import isomorph.api",
    "for types alone": "if TYPE_CHECKING:\n    from isomorph.passes.fold import Fold",
    "in a string": "load('isomorph.api')",
}


@pytest.mark.parametrize("source", UPWARD.values(), ids=UPWARD.keys())
def test_an_upward_import_is_seen_in_every_form(source: str):
    found = imports(source, "isomorph.ir.graph", package=False, known=KNOWN)
    assert [wrong_way(one) for one in found] == [True]


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("isomorph.passes.fold", "from isomorph.ir import graph"),
        ("isomorph.ir.graph", "import networkx, isomorphism"),
        ("isomorph", "from isomorph.api import export"),
        ("isomorph.cli.export", "import isomorph"),
        ("isomorph.exporters.coverage.measure", "from isomorph import api"),
    ],
)
def test_a_downward_import_is_allowed(importer: str, source: str):
    assert not any(map(wrong_way, imports(source, importer, package=False, known=KNOWN)))


def test_relative_imports_count_from_the_package():
    found = imports("from .graph import Graph", "isomorph.ir", package=True, known=KNOWN)
    assert [one.target for one in found] == ["isomorph.ir.graph"]


def test_a_cycle_is_seen():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}}) == [["b", "c"], ["d"]]
