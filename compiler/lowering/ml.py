"""ml: features, linear models and trees on tables of numbers."""

from __future__ import annotations

from functools import partial
from math import isnan, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.codegen.spec import Block, KernelSpec, Launch
from isomorph.ir.schema import ML
from isomorph.ir.semantics import Call
from isomorph.ir.semantics import _trees as trees
from isomorph.ir.types import DType
from isomorph.lowering.context import (
    Group,
    Lowered,
    blocks,
    constant,
    ctype,
    dtype_of,
    shape_of,
)
from isomorph.lowering.elementwise import expression
from isomorph.lowering.errors import NoKernel
from isomorph.lowering.expressions import literal
from isomorph.lowering.indexing import gathered
from isomorph.lowering.linear import Product, product
from isomorph.lowering.normalization import NORM_1, NORM_2, NORM_MOST, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key


def _extract(group: Group) -> Lowered:
    x, index = group.operand(0), group.operand(1)
    shape = shape_of(x)
    if not shape:
        raise NoKernel("its first operand is a scalar")
    return gathered(group, x, index, len(shape) - 1)


def _binarize(group: Group) -> Lowered:
    x = group.operand(0)
    text = f"(a0 > {literal(group.main.attr('threshold'))} ? 1 : 0)"
    return expression(group.output, [(x, shape_of(x))], text)


def _per_feature(group: Group, values: Sequence[float], dtype: np.dtype[Any], name: str) -> Value:
    features = (shape_of(group.operand(0)) or (1,))[-1]
    if len(values) not in {1, features}:
        raise NoKernel(f"{len(values)} numbers in {name} for {features} features")
    kept = np.array(values, np.float32) if dtype.kind == "f" else np.array(values)
    return constant(kept.astype(dtype), name)


def _scale(group: Group) -> Lowered:
    x, kind = group.operand(0), np.dtype(np.float32)
    if dtype_of(x) is DType.FLOAT64:
        raise NoKernel("float64 is rounded before it is scaled")
    offset = _per_feature(group, group.main.attr("offset") or (0.0,), kind, "offset")
    scale = _per_feature(group, group.main.attr("scale") or (1.0,), kind, "scale")
    reads = [(v, shape_of(v)) for v in (x, offset, scale)]
    return expression(group.output, reads, "((float(a0) - a1) * a2)")


def _impute(group: Group) -> Lowered:
    x, op = group.operand(0), group.main
    whole = dtype_of(x).is_integer
    values = op.attr("imputed_value_int64s" if whole else "imputed_value_floats") or ()
    replaced = op.attr("replaced_value_int64" if whole else "replaced_value_float")
    given = _per_feature(group, values, dtype_of(x).numpy, "imputed values")
    if not whole and isnan(replaced):
        missing = "is_nan(a0)"
    else:
        missing = f"a0 == {f'int64_t({int(replaced)})' if whole else literal(replaced)}"
    reads = [(v, shape_of(v)) for v in (x, given)]
    return expression(group.output, reads, f"({missing} ? a1 : a0)")


def _normalize(group: Group) -> Lowered:
    kinds = {"MAX": NORM_MOST, "L1": NORM_1, "L2": NORM_2}
    return rows(group, kinds[group.main.attr("norm")], (shape_of(group.operand(0)) or (1,))[-1])


def _untransformed(group: Group) -> None:
    name = group.main.attr("post_transform", "NONE")
    if name not in {"NONE", 0}:
        raise NoKernel(f"post_transform {name!r}; NONE has a kernel")


def _regress(group: Group) -> Lowered:
    _untransformed(group)
    x, op = group.operand(0), group.main
    targets, shape = int(op.attr("targets", 1) or 1), shape_of(x)
    weights = np.array(op.attr("coefficients") or (), np.float32)
    if len(shape) != 2 or weights.size != targets * shape[1]:
        raise NoKernel(f"{weights.size} coefficients for {targets} targets of {x.type}")
    offsets = op.attr("intercepts") or ()
    first = []
    if offsets:
        made = constant(np.array(offsets, np.float32), "intercepts")
        first = [(made, (len(offsets),), "({x} + {a})")]
    m, k = shape
    w = constant(weights, "coefficients")
    functor = group.functor(first, exclude=(x,))
    return product(group, Product(x, w, m, targets, k, (k, 1), (1, k)), functor)


def _trees(group: Group, *, by_places: bool) -> Lowered:
    _untransformed(group)
    call, x, out = Call(group.main), group.operand(0), group.output
    acc = ctype(out)
    if acc not in {"float", "double"} or (acc == "double") != (dtype_of(x) is DType.FLOAT64):
        raise NoKernel(f"scores of {dtype_of(out)} for {dtype_of(x)}")
    dtype = dtype_of(out).numpy
    forest = trees.by_places(call) if by_places else trees.by_ids(call, "target")
    shape, targets = shape_of(x), trees.targets_of(call)
    how = group.main.attr("aggregate_function")
    kind = int(how) if by_places else trees.AGGREGATES.index(str(how))
    inner = forest.mode != trees.LEAF
    if len(shape) != 2 or not (forest.feature[inner] < shape[1]).all() or _in_a_circle(forest):
        raise NoKernel("its nodes do not fit its rows, or run in a circle")
    bounds, members, at = np.zeros((len(forest.mode), 2), np.int64), [np.zeros(1)], 1
    for node, found in forest.members.items():
        bounds[node] = at, at + len(found)
        members.append(found)
        at += len(found)
    order = np.argsort(forest.voter, kind="stable")
    starts = np.searchsorted(forest.voter[order], np.arange(len(forest.mode) + 1))
    columns = (forest.mode, forest.feature, forest.yes, forest.no, forest.missing, *bounds.T)
    tables = {
        "nodes": np.stack(columns, 1).astype(np.int32),
        "splits": forest.split.astype(dtype),
        "members": np.concatenate(members).astype(dtype),
        "roots": forest.roots.astype(np.int32),
        "votes": starts.astype(np.int32),
        "targets": forest.target[order].astype(np.int32),
        "weights": forest.weight[order].astype(dtype),
        "base": np.zeros(1, dtype) if by_places else trees.base_of(call, targets, dtype),
    }
    spec = KernelSpec(
        "tree_ensemble", (("T", ctype(x)), ("ACC", acc)), (("HOW", kind),), sectors=32.0
    )
    n = prod(shape_of(out))
    bases = 0 if by_places else tables["base"].size
    words = (n, targets, shape[1], len(forest.roots), bases)
    block = Block((x, *(constant(a, name) for name, a in tables.items()), out), words)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,))]


def _in_a_circle(forest: trees.Forest) -> bool:
    """Whether a walk need not end."""
    at = np.unique(forest.roots)
    for _ in range(len(forest.mode) + 1):
        at = at[forest.mode[at] != trees.LEAF]
        if not at.size:
            return False
        at = np.unique(np.concatenate([forest.yes[at], forest.no[at]]))
    return True


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    (ML, "ArrayFeatureExtractor"): _extract,
    (ML, "Binarizer"): _binarize,
    (ML, "Imputer"): _impute,
    (ML, "LinearRegressor"): _regress,
    (ML, "Normalizer"): _normalize,
    (ML, "Scaler"): _scale,
    (ML, "TreeEnsemble"): partial(_trees, by_places=True),
    (ML, "TreeEnsembleRegressor"): partial(_trees, by_places=False),
}
