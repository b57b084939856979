"""Tree ensembles: every row walks down every tree at once, one level a step.

The three operators say the same in two encodings, and are read into one `Forest`. A target that
no leaf votes for has 0, whatever the function; base values are added last. Of two classes of which
one alone gets votes the definition says nothing: the scores here are onnxruntime's. NaN goes the
way that nodes_missing_value_tracks_true says, else where its comparison leads, as everywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics._scores import (
    both,
    labels_of,
    problem,
    transform_of,
    transformed,
)
from isomorph.ir.types import DType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.semantics import Call

LEAF = -1
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""In the order of TreeEnsemble's numbers; 6 is membership of a set."""
MEMBER = 6
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(frozen=True)
class Forest:
    """Nodes of every tree in a row.

    Attributes:
        roots: the node that each tree starts at.
        mode: a place in MODES, MEMBER, or LEAF.
        feature, split: what is compared, and with what.
        yes, no: the node that follows.
        missing: whether NaN goes the way of yes.
        members: the set of each node, by node.
        voter, target, weight: of each vote its leaf, its target and what it counts.
    """

    roots: np.ndarray
    mode: np.ndarray
    feature: np.ndarray
    split: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    missing: np.ndarray
    members: dict[int, np.ndarray]
    voter: np.ndarray
    target: np.ndarray
    weight: np.ndarray


# -- encodings ----------------------------------------------------------------------------------


def _numbers(call: Call, name: str) -> np.ndarray:
    """Floats of an attribute, or of its `_as_tensor` form, in the type that they are stored in."""
    for given in (call.attr(f"{name}_as_tensor"), call.attr(name)):
        if isinstance(given, Weight):
            return given.numpy().reshape(-1)
        if given:
            return np.array(given, np.float32)
    return np.zeros(0, np.float32)


def _whole(call: Call, name: str, size: int | None = None) -> np.ndarray:
    found = np.array(call.attr(name) or (), np.int64)
    if size is not None and found.size != size:
        raise problem(call, f"{found.size} numbers in {name}, {size} were expected")
    return found


def by_ids(call: Call, votes: str) -> Forest:
    """The forest of TreeEnsembleRegressor and -Classifier: nodes are pairs of ids."""
    trees, names = _whole(call, "nodes_treeids"), call.attr("nodes_modes") or ()
    count = trees.size
    if len(names) != count:
        raise problem(call, f"{len(names)} nodes_modes for {count} nodes")
    ids = _whole(call, "nodes_nodeids", count)
    mode = np.array([LEAF if m == "LEAF" else _mode(call, m) for m in names], np.int64)
    places = {pair: n for n, pair in enumerate(zip(trees.tolist(), ids.tolist(), strict=True))}
    inner = (mode != LEAF).tolist()
    yes, no = (
        _followers(call, trees, _whole(call, f"nodes_{n}nodeids", count), inner, places)
        for n in ("true", "false")
    )
    split = _numbers(call, "nodes_values")
    if split.size != count:
        raise problem(call, f"{split.size} nodes_values for {count} nodes")
    missing = _whole(call, "nodes_missing_value_tracks_true")
    weight = _numbers(call, f"{votes}_weights")
    voters = zip(
        _whole(call, f"{votes}_treeids", weight.size).tolist(),
        _whole(call, f"{votes}_nodeids", weight.size).tolist(),
        strict=True,
    )
    _, first = np.unique(trees, return_index=True)
    return Forest(
        roots=np.sort(first),
        mode=mode,
        feature=_whole(call, "nodes_featureids", count),
        split=split,
        yes=yes,
        no=no,
        missing=(missing if missing.size else np.zeros(count, np.int64)) > 0,
        members={},
        voter=np.array([_place(call, places, pair) for pair in voters], np.int64),
        target=_whole(call, f"{votes}_ids", weight.size),
        weight=weight,
    )


def _mode(call: Call, name: str) -> int:
    if name not in MODES:
        raise problem(call, f"a node of mode {name!r}; LEAF or one of {', '.join(MODES)} expected")
    return MODES.index(name)


def _place(call: Call, places: dict[tuple[int, int], int], pair: tuple[int, int]) -> int:
    if pair not in places:
        raise problem(call, f"tree {pair[0]} has no node {pair[1]}")
    return places[pair]


def _followers(
    call: Call,
    trees: np.ndarray,
    ids: np.ndarray,
    inner: Sequence[bool],
    places: dict[tuple[int, int], int],
) -> np.ndarray:
    pairs = zip(trees.tolist(), ids.tolist(), strict=True)
    found = [
        _place(call, places, pair) if goes_on else 0
        for pair, goes_on in zip(pairs, inner, strict=True)
    ]
    return np.array(found, np.int64)


def by_places(call: Call) -> Forest:
    """The forest of TreeEnsemble: nodes and leaves are places, leaves after all nodes."""
    inner: np.ndarray = call.attr("nodes_modes").numpy().reshape(-1).astype(np.int64)
    count = inner.size
    weight: np.ndarray = call.attr("leaf_weights").numpy().reshape(-1)
    split: np.ndarray = call.attr("nodes_splits").numpy().reshape(-1)
    ways: list[np.ndarray] = []
    for name in ("true", "false"):
        ends = _whole(call, f"nodes_{name}leafs", count) > 0
        after = _whole(call, f"nodes_{name}nodeids", count)
        limit = np.where(ends, weight.size, count)
        if ((after < 0) | (after >= limit)).any():
            raise problem(call, f"nodes_{name}nodeids leads to places that do not exist")
        ways.append(np.where(ends, after + count, after))
    missing = _whole(call, "nodes_missing_value_tracks_true")
    nothing = np.zeros(weight.size, np.int64)
    return Forest(
        roots=_whole(call, "tree_roots"),
        mode=np.concatenate([inner, nothing + LEAF]),
        feature=np.concatenate([_whole(call, "nodes_featureids", count), nothing]),
        split=np.concatenate([split, nothing.astype(split.dtype)]),
        yes=np.concatenate([ways[0], nothing]),
        no=np.concatenate([ways[1], nothing]),
        missing=np.concatenate([missing if missing.size else 0 * inner, nothing]) > 0,
        members=_sets(call, inner),
        voter=np.arange(count, count + weight.size),
        target=_whole(call, "leaf_targetids", weight.size),
        weight=weight,
    )


def _sets(call: Call, modes: np.ndarray) -> dict[int, np.ndarray]:
    """The members of each node that tests membership; sets end with NaN."""
    nodes = np.flatnonzero(modes == MEMBER)
    given = call.attr("membership_values")
    values = given.numpy().reshape(-1) if isinstance(given, Weight) else np.zeros(0)
    ends = np.flatnonzero(np.isnan(values))
    if ends.size != nodes.size:
        raise problem(call, f"{ends.size} sets in membership_values for {nodes.size} nodes")
    starts = [0, *(ends + 1)[:-1].tolist()] if ends.size else []
    return {
        int(node): values[start:end] for node, start, end in zip(nodes, starts, ends, strict=True)
    }


# -- evaluation ---------------------------------------------------------------------------------


def leaves(call: Call, forest: Forest, x: np.ndarray) -> np.ndarray:
    """The leaf that each row reaches in each tree [N, T]."""
    at = np.repeat(forest.roots[None], len(x), axis=0)
    rows = np.arange(len(x))[:, None]
    inner = forest.mode != LEAF
    used = forest.feature[inner]
    if used.size and not (used.min() >= 0 and used.max() < x.shape[1]):
        raise problem(call, f"feature {used.max()} of rows of {x.shape[1]}")
    for _ in range(len(forest.mode) + 1):
        going = inner[at]
        if not going.any():
            return at
        value = x[rows, np.where(going, forest.feature[at], 0)]
        taken = _compare(forest, at, value)
        at = np.where(going, np.where(taken, forest.yes[at], forest.no[at]), at)
    raise problem(call, "its nodes run in a circle")


def _compare(forest: Forest, at: np.ndarray, value: np.ndarray) -> np.ndarray:
    split, mode = forest.split[at], forest.mode[at]
    taken = np.select(
        [mode == n for n in range(len(MODES))],
        [
            value <= split,
            value < split,
            value >= split,
            value > split,
            value == split,
            value != split,
        ],
        default=False,
    )
    for node, members in forest.members.items():
        here = at == node
        taken[here] = np.isin(value[here], members)
    missing = np.isnan(value)
    return np.where(
        missing, forest.missing[at] | (taken & (mode == MODES.index("BRANCH_NEQ"))), taken
    )


def aggregate(
    call: Call, forest: Forest, at: np.ndarray, how: str, targets: int, dtype: np.dtype[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """What the votes of the leaves reached make of each target, and how many votes it got."""
    if forest.target.size and not (forest.target.min() >= 0 and forest.target.max() < targets):
        raise problem(call, f"a vote for target {forest.target.max()} of {targets}")
    shape = (len(forest.mode), targets)
    weight, counts = forest.weight.astype(dtype), np.zeros(shape, np.int64)
    np.add.at(counts, (forest.voter, forest.target), 1)
    start = {"MIN": np.inf, "MAX": -np.inf}.get(how, 0.0)
    value = np.full(shape, start, dtype)
    merge = {"MIN": np.minimum, "MAX": np.maximum}.get(how, np.add)
    merge.at(value, (forest.voter, forest.target), weight)
    voted = counts[at].sum(1)
    found: np.ndarray = merge.reduce(value[at], axis=1, initial=dtype.type(start))
    found = np.where(voted > 0, found, dtype.type(0))
    if how == "AVERAGE":
        found = found / dtype.type(forest.roots.size)
    return found, voted


def rows_of_trees(call: Call, x: Any) -> np.ndarray:
    """Rows [N, F]; whole numbers as float32, what the splits are; others as they are."""
    given = np.asarray(x)
    if given.ndim != 2:
        raise problem(call, f"its operand has shape {given.shape}; a matrix was expected")
    if given.dtype.kind in "iu":
        return given.astype(np.float64 if call.wide else np.float32)
    return given


def base_of(call: Call, targets: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Base values: one for each target, or one in all."""
    base = _numbers(call, "base_values").astype(dtype)
    if base.size not in {0, 1, targets}:
        raise problem(call, f"{base.size} base_values for {targets} targets")
    return base if base.size else np.zeros(1, dtype)


def summed(call: Call, x: Any) -> np.ndarray:
    """Scores [N, E] before the transform, of any of the three operators."""
    rows = rows_of_trees(call, x)
    if call.op.type == "TreeEnsemble":
        forest, how = by_places(call), AGGREGATES[int(call.attr("aggregate_function"))]
        dtype = rows.dtype
    else:
        regressor = call.op.type == "TreeEnsembleRegressor"
        forest = by_ids(call, "target" if regressor else "class")
        how = str(call.attr("aggregate_function")) if regressor else "SUM"
        dtype = call.float_dtype(DType.FLOAT32)
    if how not in AGGREGATES:
        given: Any = how
        raise problem(
            call, f"aggregate_function {given!r}; one of {', '.join(AGGREGATES)} expected"
        )
    targets = targets_of(call)
    found, _ = aggregate(call, forest, leaves(call, forest, rows), how, targets, dtype)
    return found if call.op.type == "TreeEnsemble" else found + base_of(call, targets, dtype)


def targets_of(call: Call) -> int:
    """How many scores there are."""
    if call.op.type == "TreeEnsembleClassifier":
        return labels_of(call, "classlabels_int64s").size
    return int(call.attr("n_targets", 1))


def ensemble(call: Call, x: Any) -> np.ndarray:
    """TreeEnsemble."""
    return transformed(transform_of(call), summed(call, x))


def regress(call: Call, x: Any) -> np.ndarray:
    """TreeEnsembleRegressor."""
    return transformed(transform_of(call), summed(call, x))


def classify(call: Call, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """TreeEnsembleClassifier: labels, and scores."""
    labels, name = labels_of(call, "classlabels_int64s"), transform_of(call)
    if labels.size < 2:
        raise problem(call, f"{labels.size} class label; at least 2 were expected")
    scores = summed(call, x)
    voted = set(call.attr("class_ids") or ())
    if labels.size > 2 or len(voted) != 1:
        return labels[scores.argmax(1)], transformed(name, scores)
    if _numbers(call, "base_values").size > 1:
        raise problem(call, "two base_values for the one class that gets votes mean nothing")
    positive = (_numbers(call, "class_weights") >= 0).all()
    (only,) = voted
    score = scores[:, only : only + 1]
    winners = labels[(score[:, 0] > (0.5 if positive else 0.0)).astype(np.int64)]
    if only:
        scores = np.concatenate([0 * score, score], 1)
        return winners, transformed(name, scores)
    if name == "LOGISTIC" or positive:
        return winners, both(call, score, name)
    if name == "PROBIT":
        raise problem(call, "PROBIT of one score for two classes is defined nowhere")
    return winners, np.concatenate([-score, score], 1)
