"""Ways to lay a dataflow graph on networkx, at 100,000 operators: time and memory of each.

`python benchmarks/ir_layout.py [--ops 100000] [--repeat 3] [--write]` prints a table; `--write`
stores the figures in `benchmarks/results/ir_layout.json`. Times are CPU seconds, best of `repeat`.

- digraph: operators are nodes, an edge carries the values between two of them. This is the layout
  of `isomorph.ir.graph`.
- multidigraph: operators are nodes, each use of a value is an edge of its own.
- bipartite: operators and values are nodes, edges carry nothing.
- isomorph: the first, through `Graph.add_op`, with everything that a graph of ours records.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
from conditions import conditions

from isomorph.ir.bulk import uncollected
from isomorph.ir.copies import copy_graph
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Buffer, Weight

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).with_name("results") / "ir_layout.json"
F32 = TensorType(DType.FLOAT32, (8, 8))
STEPS = ("build", "build, collected", "sort", "scan", "copy")


class Value:
    """A named result."""

    __slots__ = ("name", "producer", "type")

    def __init__(self, name: str, producer: Op | None) -> None:
        self.name, self.producer, self.type = name, producer, F32


class Op:
    """An operator."""

    __slots__ = ("attributes", "inputs", "outputs", "type")

    def __init__(self, type: str, inputs: tuple[Value, ...]) -> None:  # noqa: A002
        self.type, self.inputs = type, inputs
        self.attributes: dict[str, Any] = {}
        self.outputs = (Value(type, self),)


Plan = list[tuple[str, tuple[int, ...]]]


def plan(ops: int) -> Plan:
    """(type, operands) of residual blocks of six ops; -1 is the input, -2 a new weight."""
    found: Plan = []
    value = -1
    while len(found) < ops:
        at = len(found)
        found += (
            ("MatMul", (value, -2)),
            ("Add", (at, -2)),
            ("Relu", (at + 1,)),
            ("Sigmoid", (at + 1,)),
            ("Mul", (at + 2, at + 3)),
            ("Add", (at + 4, value)),
        )
        value = at + 5
    return found


def digraph(steps: Plan) -> nx.DiGraph:
    """Operators as nodes, the values between two of them on their edge."""
    graph = nx.DiGraph()
    source = Value("x", None)
    graph.add_node(source)
    made: list[Value] = []
    for kind, operands in steps:
        inputs = tuple(_operand(i, made, source, graph) for i in operands)
        op = Op(kind, inputs)
        graph.add_node(op)
        for value in inputs:
            node = value.producer or value
            edge = graph.succ[node].get(op)
            if edge is None:
                graph.add_edge(node, op, values=[value])
            else:
                edge["values"].append(value)
        made.append(op.outputs[0])
    return graph


def multidigraph(steps: Plan) -> nx.MultiDiGraph:
    """Operators as nodes, every use of a value as an edge."""
    graph = nx.MultiDiGraph()
    source = Value("x", None)
    graph.add_node(source)
    made: list[Value] = []
    for kind, operands in steps:
        inputs = tuple(_operand(i, made, source, graph) for i in operands)
        op = Op(kind, inputs)
        graph.add_node(op)
        for index, value in enumerate(inputs):
            graph.add_edge(value.producer or value, op, key=index, value=value)
        made.append(op.outputs[0])
    return graph


def bipartite(steps: Plan) -> nx.DiGraph:
    """Operators and values as nodes."""
    graph = nx.DiGraph()
    source = Value("x", None)
    graph.add_node(source)
    made: list[Value] = []
    for kind, operands in steps:
        inputs = tuple(_operand(i, made, source, graph) for i in operands)
        op = Op(kind, inputs)
        graph.add_node(op)
        for value in inputs:
            graph.add_edge(value, op)
        for value in op.outputs:
            graph.add_edge(op, value)
        made.append(op.outputs[0])
    return graph


def isomorph(steps: Plan) -> Graph:
    """Through the interface of `isomorph.ir`."""
    graph = Graph()
    source = graph.add_input("x", F32)
    made: list[Any] = []
    weight = Weight(F32.dtype, (8, 8), Buffer(bytes(256)))
    for kind, operands in steps:
        inputs = [
            source if i == -1 else graph.add_weight(weight) if i == -2 else made[i]
            for i in operands
        ]
        made.append(graph.add_op(kind, inputs).output)
    graph.outputs = [made[-1]]
    return graph


def _operand(index: int, made: list[Value], source: Value, graph: nx.DiGraph) -> Value:
    if index >= 0:
        return made[index]
    if index == -1:
        return source
    weight = Value("w", None)
    graph.add_node(weight)
    return weight


def scan(graph: Any) -> int:
    """Look at every operator, its operands and their types, as a pass does."""
    if isinstance(graph, Graph):
        return sum(v.name != "" for op in graph.ops() for v in op.operands)
    return sum(v.type is F32 for op in graph if isinstance(op, Op) for v in op.inputs)


def sort(graph: Any) -> int:
    """Every node after those it depends on."""
    if isinstance(graph, Graph):
        return len(graph.sorted_ops())
    return sum(1 for _ in nx.topological_sort(graph))


def copy(graph: Any) -> Any:
    """A second graph that can be changed alone (the bare ones share their nodes)."""
    return copy_graph(graph)[0] if isinstance(graph, Graph) else graph.copy()


LAYOUTS: dict[str, Callable[[Plan], Any]] = {
    "digraph": digraph,
    "multidigraph": multidigraph,
    "bipartite": bipartite,
    "isomorph": isomorph,
}


def resident() -> int:
    """Bytes of memory that this process holds."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def measure(layout: str, ops: int, repeat: int) -> dict[str, float]:
    """Seconds of each step, the best of some; bytes an operator."""
    build, steps = LAYOUTS[layout], plan(ops)
    gc.collect()
    before = resident()
    with uncollected():
        first = build(steps)
    size = resident() - before
    taken: dict[str, float] = {}
    del first
    for _ in range(repeat):
        gc.collect()
        with uncollected():
            best(taken, "build", lambda: build(steps))
        graph = best(taken, "build, collected", lambda: build(steps))
        best(taken, "sort", partial(sort, graph))
        best(taken, "scan", partial(scan, graph))
        best(taken, "copy", partial(copy, graph))
    return {**taken, "bytes": size / len(steps), "ops": len(steps)}


def best(taken: dict[str, float], step: str, work: Callable[[], Any]) -> Any:
    """Run once and keep the shorter time."""
    start = time.process_time()
    found = work()
    taken[step] = min(time.process_time() - start, taken.get(step, float("inf")))
    return found


def main() -> None:
    """Measure each layout in a process of its own, print, and store when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one, given.ops, given.repeat)))
        return
    rows: dict[str, dict[str, float]] = {}
    print(f"{'':14}" + "".join(f"{s + ' s':>20}" for s in STEPS) + f"{'bytes/op':>10}")
    for layout in LAYOUTS:
        command = [sys.executable, __file__, "--one", layout, "--ops", str(given.ops)]
        command += ["--repeat", str(given.repeat)]
        done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")  # noqa: S603 - itself
        rows[layout] = row = json.loads(done.stdout)
        shown = "".join(f"{row[s]:>20.3f}" for s in STEPS)
        print(f"{layout:14}{shown}{row['bytes']:>10.0f}")
    if given.write:
        RESULTS.parent.mkdir(exist_ok=True)
        document = {"conditions": conditions("networkx", "numpy", "onnx"), "layouts": rows}
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
