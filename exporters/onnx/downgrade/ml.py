"""ml: how the canonical version becomes older ones, and which version of the domain can be had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.exporters.onnx.downgrade._older import refuse
from isomorph.ir import schema
from isomorph.ir.build import restate
from isomorph.ir.schema import ML
from isomorph.ir.types import DType
from isomorph.ir.versions import InexpressibleError
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from isomorph.ir.graph import Attribute, Graph, Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Rewrite, Steps

    Attributes = dict[str, Attribute]
    Change = Callable[[Op, Mapping[str, Attribute]], Attributes]

LISTS = {DType.FLOAT32: "floats", DType.INT64: "int64s", DType.STRING: "strings"}
DEFAULTS = {
    DType.FLOAT32: "default_float",
    DType.INT64: "default_int64",
    DType.STRING: "default_string",
}


def _as_lists(op: Op, given: Mapping[str, Attribute]) -> Attributes:
    """LabelEncoder-2: tensors of keys and values as lists."""
    made = dict(given)
    for what in ("keys", "values"):
        tensor = made.pop(f"{what}_tensor", None)
        if not isinstance(tensor, Weight):
            continue
        if tensor.dtype not in LISTS:
            refuse(op, f"LabelEncoder-2 has no {what} of {tensor.dtype}")
        made[f"{what}_{LISTS[tensor.dtype]}"] = tuple(tensor.numpy().reshape(-1).tolist())
        default = made.pop("default_tensor", None) if what == "values" else None
        if isinstance(default, Weight):
            (made[DEFAULTS[tensor.dtype]],) = default.numpy().reshape(-1).tolist()
    made.pop("default_tensor", None)
    return made


def _as_classes(op: Op, given: Mapping[str, Attribute]) -> Attributes:
    """LabelEncoder-1: texts whose numbers are their places."""
    for texts, numbers, default in (
        ("keys_strings", "values_int64s", "default_int64"),
        ("values_strings", "keys_int64s", "default_string"),
    ):
        if texts not in given or numbers not in given:
            continue
        words, places = (tuple(cast("Iterable[Any]", given[n])) for n in (texts, numbers))
        if places == tuple(range(len(words))) and len(set(words)) == len(words):
            known = op.attr(default) if default not in given else given[default]
            return {"classes_strings": words, default: known}
    return refuse(op, "LabelEncoder-1 has texts alone, numbered from 0 on")


def _single(op: Op, given: Mapping[str, Attribute]) -> Attributes:
    """TreeEnsemble*-1: tensors of doubles as lists, where those are floats."""
    made: Attributes = {}
    for name, value in given.items():
        if not isinstance(value, Weight):
            made[name] = value
            continue
        exact = value.numpy().reshape(-1)
        with np.errstate(over="ignore"):
            single = exact.astype(np.float32)
        if not ((single == exact) | np.isnan(exact)).all():
            refuse(op, f"{op.type}-1 has floats alone, and {name} holds numbers that are none")
        made[name.removesuffix("_as_tensor")] = tuple(single.tolist())
    return made


CHANGES: dict[Key, dict[int, tuple[int, Change]]] = {
    (ML, "LabelEncoder"): {4: (2, _as_lists), 2: (1, _as_classes)},
    (ML, "TreeEnsembleClassifier"): {3: (1, _single)},
    (ML, "TreeEnsembleRegressor"): {3: (1, _single)},
}
"""The version that a step leaves → the one that it reaches, and what it makes of attributes."""


def _step(key: Key, version: int) -> Rewrite:
    reached, change = CHANGES[key][version]

    def step(op: Op, patch: Patch) -> None:
        restate(op, patch, reached, attributes=change(op, op.attributes))

    return step


def domain_version(graph: Graph) -> int | None:
    """The version of ai.onnx.ml that a graph is written for; `None` to leave its ops as they are.

    That which it was read from, where that can express all of its ops; else the lowest that can.
    """
    ops = [op for _, op in graph.walk() if op.domain == ML and schema.versions(*op.key)]
    own = graph.opsets.get(ML)
    if not ops or own is None:
        return None
    versions = (own, *range(1, schema.CANONICAL[ML] + 1))
    lowest = {op: _lowest(op) for op in ops}
    for ended in (True, False):
        for version in versions:
            if all(_can(op, lowest[op], version, ended=ended) for op in ops):
                return version
    return None


def _can(op: Op, lowest: int, version: int, *, ended: bool) -> bool:
    meant = schema.since_version(*op.key, version)
    last = schema.ended(*op.key)
    alive = not ended or last is None or version < last
    return meant is not None and lowest <= meant <= op.version and alive


def _lowest(op: Op) -> int:
    """The oldest version of an op that says the same."""
    version, given = op.version, dict(op.attributes)
    while version in CHANGES.get(op.key, {}):
        reached, change = CHANGES[op.key][version]
        try:
            given = change(op, given)
        except InexpressibleError:
            break
        version = reached
    return version


DOWNGRADES: dict[Key, Steps] = {
    key: {version: _step(key, version) for version in changes} for key, changes in CHANGES.items()
}
