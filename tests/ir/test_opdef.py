"""Aspect tables: found by family, one row per key; and steps between versions."""

from __future__ import annotations

import importlib
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from isomorph.exporters.onnx.downgrade import DOWNGRADES
from isomorph.frontends.onnx.upgrade import UPGRADES
from isomorph.ir import schema
from isomorph.ir.graph import Graph, Op
from isomorph.ir.instances import INSTANCES
from isomorph.ir.opdef import FAMILIES, OPS, Manifest
from isomorph.ir.semantics import SEMANTICS
from isomorph.ir.verify import verify
from isomorph.ir.versions import SAME, InexpressibleError, fits, move
from tests.ir.graphs import VECTOR, build, conditional, contents, tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Rewrite, Same

ASPECTS = {
    "ops": OPS,
    "semantics": SEMANTICS,
    "instances": INSTANCES,
    "upgrade": UPGRADES,
    "downgrade": DOWNGRADES,
}


@pytest.mark.parametrize("aspect", ASPECTS)
def test_every_family_is_there(aspect: str):
    table = ASPECTS[aspect]
    for family in FAMILIES:
        module = importlib.import_module(f"{table.package}.{family}")
        assert isinstance(getattr(module, table.table), dict)
    for key in table.rows():
        assert table.family(key) in table.families
        internal = table.family(key) not in FAMILIES  # what passes make is not in the standard
        assert internal or schema.versions(*key), f"{key} is no operator"


@pytest.mark.parametrize("aspect", ["semantics", "instances", "upgrade", "downgrade"])
def test_an_operator_has_one_family_in_every_aspect(aspect: str):
    wrong = {
        key: (ASPECTS[aspect].family(key), OPS.family(key))
        for key in ASPECTS[aspect].rows()
        if OPS.get(key) is not None and ASPECTS[aspect].family(key) != OPS.family(key)
    }
    assert not wrong


def test_two_rows_for_one_key_are_an_error(monkeypatch: pytest.MonkeyPatch):
    for family in ("first", "second"):
        module = ModuleType(f"made_up.{family}")
        module.ROWS = {("", "Relu"): 1, ("my", family): 2}
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, "made_up", ModuleType("made_up"))
    one = Manifest("made_up", "ROWS", ("first",))
    assert (one.get(("", "Relu")), one.get(("", "None"))) == (1, None)
    assert (one.family(("my", "first")), one.family(("my", "second"))) == ("first", None)
    both = Manifest("made_up", "ROWS", ("first", "second"))
    with pytest.raises(ValueError, match="made_up: Relu has rows in first and in second"):
        both.rows()


class TestMoving:
    """From Neg to Exp to Abs: invented steps, for what drives them."""

    def test_until_nothing_is_left(self):
        graph, _ = build("a = Neg(x)\nb = Neg(a)")
        assert move(graph, next_of({"Neg": becomes("Exp"), "Exp": becomes("Abs")})) == (True, [])
        verify(graph)
        assert [op.type for op in graph.sorted_ops()] == ["Abs", "Abs"]
        assert graph.outputs[0].name == "b"
        assert move(graph, lambda _: None) == (False, [])

    def test_into_subgraphs(self):
        graph = conditional()
        move(graph, next_of({"Mul": becomes("Div")}))
        verify(graph)
        assert {op.type for _, op in graph.walk()} == {"If", "Add", "Div"}

    def test_a_stuck_op_leaves_nothing_behind(self):
        def refused(op: Op, patch: Patch) -> None:
            patch.op("Exp", [op.inputs[0], patch.weight([1.0])][:1])
            raise InexpressibleError("it cannot", "try another", 9)

        graph, _ = build("a = Neg(x)\nb = Abs(a)")
        before, nodes = contents(graph), list(graph.nx)
        changed, (stuck,) = move(graph, next_of({"Neg": refused}))
        assert not changed
        assert (stuck.op.type, stuck.reason, stuck.remedy, stuck.lowest) == (
            *("Neg", "it cannot", "try another", 9),
        )
        assert contents(graph) == before
        assert list(graph.nx) == nodes

    def test_an_op_that_another_step_took_out_is_passed_over(self):
        def swallow(op: Op, patch: Patch) -> None:
            (reader,) = patch.graph.consumers(op.output)
            patch.replace_op(reader, patch.op("Abs", op.inputs))
            patch.remove(op)

        graph, _ = build("a = Neg(x)\nb = Exp(a)")
        assert move(graph, next_of({"Neg": swallow, "Exp": becomes("Log")})) == (True, [])
        verify(graph)
        assert [op.type for op in graph.ops()] == ["Abs"]

    def test_what_an_output_needs_is_moved_too(self):
        """An Identity that the edit itself adds, behind an input, is an op like any other."""

        def gone(op: Op, patch: Patch) -> None:
            patch.replace(op.output, op.inputs[0])
            patch.remove(op)

        graph, _ = build("a = Neg(x)")
        move(graph, next_of({"Neg": gone, "Identity": SAME}))
        assert [(op.type, op.version) for op in graph.ops()] == [("Identity", 13)]


def becomes(kind: str) -> Rewrite:
    def step(op: Op, patch: Patch) -> None:
        patch.replace_op(op, patch.op(kind, op.inputs))

    return step


def next_of(table: dict[str, Rewrite | Same]) -> Callable[[Op], tuple[int, Rewrite | Same] | None]:
    """Rewrites by type of op; `SAME` takes an op to version 13."""

    def next_step(op: Op) -> tuple[int, Rewrite | Same] | None:
        step = table.get(op.type)
        if step is None or (step is SAME and op.version == 13):
            return None
        return 13, step

    return next_step


@pytest.mark.parametrize(
    ("kind", "dtypes", "attributes", "version", "reason"),
    [
        ("Relu", ["float32"], {}, 6, ""),
        ("Relu", ["int8"], {}, 13, "Relu-13 does not allow int8"),
        ("Clip", ["float32", "float32"], {}, 6, "Clip-6 takes at most 1 inputs, not 2"),
        ("Celu", ["float32"], {}, 11, "Celu does not exist at version 11"),
        ("ArgMax", ["float32"], {"select_last_index": 0}, 11, ""),
        ("ArgMax", ["float32"], {"select_last_index": 1}, 11, "no attribute 'select_last_index'"),
        ("Unsqueeze", ["float32", "int64"], {}, 11, "takes at most 1 inputs"),
        ("Unsqueeze", ["float32"], {}, 11, "needs the attribute 'axes'"),
        ("Slice", ["float32"], {}, 10, r"needs input 1 \(starts\)"),
    ],
)
def test_fitting_another_version(
    kind: str, dtypes: list[str], attributes: dict[str, int], version: int, reason: str
):
    graph = Graph()
    operands = [graph.add_input("x", tensor(dtype, 4)) for dtype in dtypes]
    op = graph.add_op(kind, operands, attributes)
    op.output.type = VECTOR if dtypes == ["float32"] and kind != "ArgMax" else None
    found = fits(op, version)
    assert bool(found) == bool(reason)
    assert re.search(reason, found), found
