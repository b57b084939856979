"""One-op models to try a run time with: every version, every element type of every operator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.exporters.onnx.downgrade import LOWEST_WRITTEN, downgrade
from isomorph.exporters.runtimes.tables import rank_of, signature
from isomorph.exporters.runtimes.worker import Job
from isomorph.ir import schema
from isomorph.ir.copies import copy_graph
from isomorph.ir.errors import IsomorphError
from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, Instance, build, dtypes_of
from isomorph.ir.proto.encode import encode_model
from isomorph.ir.proto.tensors import encode_tensor
from isomorph.ir.types import DType, TensorType, innermost
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.opdef import Key

_FOREIGN = frozenset(d for d in DType if d.numpy.kind == "V" or d.name.startswith("FLOAT8"))
UNFED = _FOREIGN | {DType.STRING}
"""Element types that onnxruntime's Python binding takes no arrays of: they go in as constants."""


@dataclass(frozen=True, slots=True)
class Case:
    """A one-op model of one version, ready to be tried."""

    key: Key
    version: int
    signature: str
    rank: int | None
    job: Job
    note: str


def cases(key: Key, opset: int, ir_version: int, unbuilt: list[str]) -> Iterator[Case]:
    """Every case of an operator at opsets up to `opset`."""
    seen: set[bytes] = set()
    for instance, main in uses(key):
        try:
            with np.errstate(invalid="ignore"):  # NaN has no value as an integer
                graph, arrays = build(key, instance, main)
            infer(graph)
        except (IsomorphError, TypeError, ValueError, OverflowError) as error:
            unbuilt.append(f"{key[1]} {main} {instance.note}: {error}")
            continue
        for version, target in wanted_versions(key, opset):
            moved, _ = copy_graph(graph)
            if downgrade(moved, target):
                continue
            ops = moved.ops()
            if len(ops) != 1 or ops[0].key != key or ops[0].version != version:
                continue
            case = _case(moved, ops[0], arrays, target, ir_version, instance)
            if case is not None and case.job.model not in seen:
                seen.add(case.job.model)
                yield case


def wanted_versions(key: Key, opset: int) -> list[tuple[int, int]]:
    """(version, opset to try it at) of each version that opsets 11 to `opset` mean."""
    if key[0]:
        return [(v, opset) for v in schema.versions(*key)[-1:]]
    found: dict[int, int] = {}
    for target in range(LOWEST_WRITTEN, opset + 1):
        since = schema.since_version(*key, target)
        if since is not None:
            found.setdefault(since, target)
    return list(found.items())


def uses(key: Key) -> Iterator[tuple[Instance, DType]]:
    """Each instance at each type of its main variable, then its other variables one at a time."""
    known = schema.canonical(*key)
    for instance in INSTANCES.get(key) or ():
        mains = dtypes_of(key, instance)
        for main in mains:
            yield instance, main
        if known is None:
            continue
        for other in variations(key, instance):
            for main in mains:
                yield other, main


def variations(key: Key, instance: Instance) -> Iterator[Instance]:
    """The instance with another type of one other variable, or another result type asked for."""
    known = schema.canonical(*key)
    if known is None:
        return
    used = {a.dtype for a in instance.inputs if a is not None} - {instance.main}
    for variable in sorted(used & set(known.type_vars)):
        for dtype in DType:
            if dtype.schema_name in known.type_vars[variable]:
                yield replace(instance, bind={**instance.bind, variable: str(dtype)})
    output = known.output(0)
    for name in ("to", "dtype"):
        if name in instance.attributes and output is not None:
            for dtype in DType:
                if dtype.schema_name in output.dtypes:
                    yield replace(instance, attributes={**instance.attributes, name: dtype.value})


def _case(
    graph: Graph, op: Op, values: list[Any], opset: int, ir_version: int, instance: Instance
) -> Case | None:
    text = signature(op)
    if text is None:
        return None
    opsets = {"": opset} | ({op.domain: schema.imported(*op.key)} if op.domain else {})
    version = min(max(schema.ir_version_for(opset), 4), ir_version)
    proto = encode_model(graph, opsets, version)
    feeds: dict[str, Any] = {}
    for value, given in zip(graph.inputs, values, strict=True):
        kind = innermost(value.type)
        if kind is None or (not isinstance(value.type, TensorType) and kind.dtype in _FOREIGN):
            return None  # nothing feeds that
        if not isinstance(value.type, TensorType):
            feeds[value.name] = _plain(given)
        elif kind.dtype in UNFED:
            tensor = encode_tensor(Weight.of(given, kind.dtype), value.name)
            proto.graph.initializer.append(tensor)
            kept = [i for i in proto.graph.input if i.name != value.name]
            del proto.graph.input[:]
            proto.graph.input.extend(kept)
        else:
            feeds[value.name] = np.ascontiguousarray(given)
    job = Job(proto.SerializeToString(deterministic=True), feeds)
    return Case(op.key, op.version, text, rank_of(op), job, instance.note)


def _plain(value: Any) -> Any:
    """A map with the plain numbers that the binding takes."""
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        entries = cast("dict[Any, Any]", value).items()
        return {k: _number(v) for k, v in entries}
    return value


def _number(value: Any) -> Any:
    return cast("Any", value).item() if isinstance(value, np.generic) else value
