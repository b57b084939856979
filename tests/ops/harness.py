"""Checks that hold for any operator: each takes (key, instance, dtype) and says what is wrong.

Two evaluations of one function may differ by rounding alone. `slack` bounds that by norm, from the
dtype, the tolerance class and the size of the operands; it is a test of meaning, not of precision.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf, prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import onnx
import onnx.checker
import onnx.shape_inference
import pytest

from isomorph.exporters.onnx.downgrade import DOWNGRADES, downgrade
from isomorph.frontends.onnx.upgrade import UPGRADES, upgrade
from isomorph.ir import schema
from isomorph.ir.copies import copy_graph
from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, Instance, build, dtypes_of
from isomorph.ir.interpret import interpret, widen
from isomorph.ir.opdef import OPS, Key, Tolerance
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.proto.encode import encode_model
from isomorph.ir.semantics import SEMANTICS
from isomorph.ir.types import DType, TensorType, innermost
from isomorph.ir.verify import verify
from isomorph.parity.leaves import leaves
from tests.ops._contained import DEADLY, assert_survived
from tests.ops._typed import assert_fits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from isomorph.ir.graph import Graph
    from isomorph.ir.versions import Inexpressible

REPRESENTATIVE = ("float32", "bfloat16", "int32", "uint8", "bool", "string")
"""One element type of each kind, for checks whose subject is structure."""
RUNTIME_OPSET = 26
"""The newest opset that the onnxruntime release in the constraints file loads."""
ILL_TYPED = frozenset({"MeanVarianceNormalization"})
"""Operators whose function body fits float32 alone, so that onnx's full check refuses the rest."""
OPSETS = range(11, schema.CANONICAL[""] + 1)


def cases(
    keys: Iterable[Key | str],
    dtypes: Sequence[str] = (),
    *,
    where: Callable[[Key, Instance, DType], bool] = lambda *_: True,
) -> list[Any]:
    """One pytest parameter (key, instance, dtype) per instance and element type of these ops.

    `dtypes` restricts the main variable's element types, unless an instance has none of them.
    """
    found: list[Any] = []
    for key in (("", k) if isinstance(k, str) else k for k in keys):
        for number, instance in enumerate(INSTANCES.get(key) or ()):
            every = dtypes_of(key, instance)
            chosen = [d for d in every if str(d) in dtypes] or list(every[:1] if dtypes else every)
            for dtype in chosen if dtypes else every:
                if where(key, instance, dtype):
                    note = f"-{instance.note}" if instance.note else ""
                    name = f"{key[1]}-{number}{note}-{dtype}".replace(" ", "_")
                    found.append(pytest.param(key, instance, dtype, id=name))
    return found


def incomplete(keys: Iterable[Key | str]) -> list[str]:
    """What these operators lack, aspect by aspect; every version step must have its row."""
    missing: list[str] = []
    for key in (("", k) if isinstance(k, str) else k for k in keys):
        known = schema.versions(*key)
        in_force = schema.since_version(*key, schema.LOWEST_READ) or known[0]
        missing += [
            f"{key[1]}: no {what}"
            for what, table in (("OPS", OPS), ("SEMANTICS", SEMANTICS), ("INSTANCES", INSTANCES))
            if not table.get(key)
        ]
        up, down = UPGRADES.get(key) or {}, DOWNGRADES.get(key) or {}
        missing += [f"{key[1]}: no upgrade to {v}" for v in known if v > in_force and v not in up]
        missing += [f"{key[1]}: upgrade to unknown version {v}" for v in up if v not in known]
        missing += [f"{key[1]}: downgrade of unknown version {v}" for v in down if v not in known]
        missing += [f"{key[1]}: no downgrade of {v}" for v in known if v > 11 and v not in down]
    return missing


# -- evaluation ---------------------------------------------------------------------------


def encode(graph: Graph, opset: int) -> onnx.ModelProto:
    """A graph whose ops have the versions of this opset, as a message."""
    opsets = {"": opset}
    for op in (op for _, op in graph.walk() if op.domain):
        newest = schema.imported(*op.key)
        opsets[op.domain] = min(opsets.get(op.domain, newest), newest)
    return encode_model(graph, opsets, schema.ir_version_for(opset))


def by_reference(model: onnx.ModelProto, feeds: Sequence[Any]) -> list[Any]:
    """What `onnx.reference` computes; skips, with its complaint, what it cannot."""
    from onnx.reference import ReferenceEvaluator

    weights = {w.name for w in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in weights]
    try:
        with np.errstate(all="ignore"):
            return ReferenceEvaluator(model).run(None, dict(zip(names, feeds, strict=True)))
    except Exception as error:  # noqa: BLE001 - it raises anything
        return pytest.skip(f"the reference interpreter fails: {type(error).__name__}: {error}")


def by_runtime(model: onnx.ModelProto, feeds: Sequence[Any]) -> list[Any]:
    """What onnxruntime computes on the CPU, unoptimized; skips what it has no kernel for."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # noqa: BLE001 - its exceptions share no base
        return pytest.skip(f"onnxruntime does not load it: {str(error)[:200]}")
    names = [i.name for i in session.get_inputs()]
    try:
        return [_stored(v) for v in session.run(None, dict(zip(names, feeds, strict=True)))]
    except Exception as error:  # noqa: BLE001 - its exceptions share no base
        return pytest.skip(f"onnxruntime refuses to run it: {str(error)[:200]}")


def _stored(value: Any) -> Any:
    """A result with the floats of maps as float32, which the binding hands out as Python's."""
    if isinstance(value, list):
        return [_stored(v) for v in cast("list[Any]", value)]
    if isinstance(value, dict):
        held = cast("dict[Any, Any]", value)
        return {k: np.float32(v) if isinstance(v, float) else v for k, v in held.items()}
    return value


def slack(key: Key, feeds: Sequence[Any], truth: Any, unit: float) -> float:
    """How far two evaluations of one op may differ: rounded operations, unit and magnitude.

    DISCONTINUOUS ops are exact but for Cast, which rounds once: to a float, if at all. What is
    drawn at random has no bound.
    """
    definition = OPS.get(key)
    if definition is not None and definition.tolerance is Tolerance.RANDOM:
        return inf
    if definition is None or definition.tolerance is Tolerance.EXACT:
        return 0.0
    floats = [np.abs(widen(f)) for f in feeds if isinstance(f, np.ndarray) and _is_float(f)]
    peaks = [float(f[np.isfinite(f)].max(initial=1.0)) for f in floats]
    wide = np.abs(np.asarray(truth, np.float64)) if _is_float(np.asarray(truth)) else np.zeros(1)
    magnitude = max(prod(peaks), float(wide[np.isfinite(wide)].max(initial=1.0)))
    steps = definition.ulps
    if definition.tolerance is not Tolerance.ELEMENTWISE:
        steps = max([definition.ulps, *(float(f.size) for f in floats)])
    return 4 * steps * unit * magnitude


def unit_of(dtype: DType) -> float:
    """The unit roundoff of a float type; 0 for others."""
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype.numpy).eps) / 2 if dtype.is_float else 0.0


def difference(found: Any, wanted: Any, bound: float = 0.0) -> str:
    """How two results differ in kind, dtype, shape or by more than the bound; empty if not."""
    if isinstance(wanted, list) or isinstance(found, list):
        if type(found) is not type(wanted) or len(found) != len(wanted):
            return f"found {found}, wanted {wanted}"
        every = (difference(f, w, bound) for f, w in zip(found, wanted, strict=True))
        return "; ".join(filter(None, every))
    if isinstance(wanted, dict) or isinstance(found, dict):
        if type(found) is not type(wanted) or found.keys() != wanted.keys():
            return f"found {found}, wanted {wanted}"
        return difference([found[k] for k in wanted], [*wanted.values()], bound)
    if found is None or wanted is None:
        return "" if found is wanted else f"found {found}, wanted {wanted}"
    found, wanted = np.asarray(found), np.asarray(wanted)
    texts = [a.dtype.kind in "OUST" for a in (found, wanted)]
    if found.dtype != wanted.dtype and not all(texts):
        return f"found dtype {found.dtype}, wanted {wanted.dtype}"
    if found.shape != wanted.shape:
        return f"found shape {found.shape}, wanted {wanted.shape}"
    if bound == inf:
        return ""
    if all(texts) or not _is_float(wanted):
        bad = np.asarray(found != wanted)
    else:
        a, b = widen(found), widen(wanted)
        with np.errstate(all="ignore"):
            close = (np.abs(a - b) <= bound) | (a == b) | (np.isnan(a) & np.isnan(b))
        bad = np.asarray(~close)
    if not bad.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return (
        f"{int(bad.sum())} of {bad.size} elements differ by more than {bound:.3g}, "
        f"at {at}: found {found[at]!r}, wanted {wanted[at]!r}"
    )


def agree(
    key: Key, feeds: Sequence[Any], found: Sequence[Any], wanted: Sequence[Any], unit: float
) -> None:
    """Assert that results are one function's, up to rounding at this unit."""
    assert len(found) == len(wanted)
    for index, (f, w) in enumerate(zip(found, wanted, strict=True)):
        bound = 0.0
        if not isinstance(w, list) and w is not None:
            kind = np.asarray(w)
            own = unit_of(DType.of(kind.dtype)) if key[0] and _is_float(kind) else 0.0
            bound = slack(key, feeds, w, max(unit, own))
        problem = difference(f, w, bound)
        assert not problem, f"output {index}: {problem}"


def sweep(
    check: Callable[..., Any],
    key: Key | str,
    dtypes: Sequence[str] = (),
    *,
    where: Callable[[Key, Instance, DType], bool] = lambda *_: True,
    limited: Callable[[Key, Instance, DType], str] = lambda *_: "",
) -> list[Any]:
    """What a check returns for every instance and element type of one op; all failures at once.

    Where `limited` gives a reason, the check has to fail.
    """
    found: list[Any] = []
    skipped: list[str] = []
    failed: list[str] = []
    for case in cases([key], dtypes, where=where):
        expected = limited(*case.values)
        try:
            found.append(check(*case.values))
            if expected:
                failed.append(f"{case.id}: it does not fail any more: {expected}")
        except pytest.skip.Exception as reason:
            skipped.append(str(reason))
        except Exception as error:  # noqa: BLE001 - all of them are reported below
            if not expected:
                failed.append(f"{case.id}: {type(error).__name__}: {error}")
    assert not failed, f"{len(failed)} cases fail:\n" + "\n".join(failed[:20])
    if not found:
        pytest.skip(skipped[0] if skipped else "no case applies")
    return found


# -- checks -------------------------------------------------------------------------------


def check_reference(key: Key, instance: Instance, dtype: DType, *, seed: int = 0) -> None:
    """Our semantics in the operands' dtype against the reference interpreter."""
    graph, feeds = build(key, instance, dtype, seed=seed)
    infer(graph)
    wanted = by_reference(encode(graph, schema.CANONICAL[""]), feeds)
    agree(key, feeds, interpret(graph, feeds), wanted, max(unit_of(dtype), _unit(instance)))


def check_runtime(
    key: Key,
    instance: Instance,
    dtype: DType,
    *,
    opsets: Sequence[int] = (RUNTIME_OPSET,),
    seed: int = 0,
) -> None:
    """Our semantics against onnxruntime, which runs the op downgraded to each of these opsets."""
    graph, feeds = build(key, instance, dtype, seed=seed)
    infer(graph)
    found = interpret(graph, feeds)
    held = [np.asarray(t) for value in (*feeds, *found) for _, t in leaves(value)]
    foreign = {a.dtype for a in held if a.dtype.isbuiltin == 2}
    if foreign:
        pytest.skip(f"onnxruntime's Python binding takes no {foreign.pop()} arrays")
    refusals: list[str] = []
    for opset in opsets:
        moved = copy_graph(graph)[0]
        try:
            stuck = downgrade(moved, opset)
            if stuck:
                pytest.skip(stuck[0].reason)
            model = encode(moved, opset)
            if (*key, instance.note) in DEADLY:
                assert_survived(model, feeds)
            wanted = by_runtime(model, feeds)
        except pytest.skip.Exception as reason:
            refusals.append(str(reason))
            continue
        agree(key, feeds, found, wanted, max(unit_of(dtype), _unit(instance)))
    if len(refusals) == len(opsets):
        pytest.skip(refusals[0])


def check_runtime_at_older_opsets(key: Key, instance: Instance, dtype: DType) -> None:
    """The same where most operators have another version, or none of their own."""
    check_runtime(key, instance, dtype, opsets=(11, 13, 17, 19))


def check_narrow(key: Key, instance: Instance, dtype: DType, *, seed: int = 0) -> None:
    """Semantics in the operands' dtype against the same in float64: one function, typed right."""
    graph, feeds = build(key, instance, dtype, seed=seed)
    infer(graph)
    narrow, wide = interpret(graph, feeds), interpret(graph, feeds, wide=True)
    for index, (value, n, w) in enumerate(zip(graph.outputs, narrow, wide, strict=True)):
        kind = innermost(value.type)
        assert kind is not None, f"output {index} is {value.type}"
        for place, found in leaves(n):
            dtype = found.dtype if isinstance(found, np.ndarray | np.generic) else object
            assert DType.of(dtype) is kind.dtype, f"output {index}{place} is {dtype}"
        if kind.dtype.is_float:
            tensor = isinstance(value.type, TensorType)
            bound = slack(key, feeds, w, unit_of(kind.dtype)) if tensor else 0.0
            problem = difference(widen(n), w, bound)
            assert not problem, f"output {index}: {problem}"


def check_rule(key: Key, instance: Instance, dtype: DType, *, seed: int = 0) -> None:
    """The shape rule against execution and `onnx.shape_inference`, with fixed and symbolic dims."""
    for dynamic in (False, True):
        graph, feeds = build(key, instance, dtype, dynamic=dynamic, seed=seed)
        model = encode(graph, schema.CANONICAL[""])
        infer(graph)
        results = interpret(graph, feeds)
        bound: dict[str, int] = {}
        for value, array in zip(graph.inputs, feeds, strict=True):
            if isinstance(value.type, TensorType) and dynamic:
                for dim, size in zip(value.type.shape or (), array.shape, strict=True):
                    bound[str(dim)] = size
        theirs = onnx.shape_inference.infer_shapes(model, check_type=True, data_prop=True)
        for value, result, known in zip(graph.outputs, results, theirs.graph.output, strict=True):
            where = f"{'symbolic' if dynamic else 'fixed'} output %{value.name}: {value.type}"
            assert_fits(value.type, result, known.type, bound, where)


def check_versions(
    key: Key, instance: Instance, dtype: DType, *, opsets: Iterable[int] = OPSETS, seed: int = 0
) -> dict[int, Inexpressible]:
    """Downgraded to each opset, and upgraded again, it computes the same; returns what is stuck.

    Every downgraded graph passes `onnx.checker`, and a stuck op's `lowest` opset must be true.
    """
    graph, feeds = build(key, instance, dtype, seed=seed)
    infer(graph)
    narrow, wide = interpret(graph, feeds), interpret(graph, feeds, wide=True)
    seen: set[str] = set()
    stuck: dict[int, Inexpressible] = {}
    for opset in sorted(opsets, reverse=True):
        moved = copy_graph(graph)[0]
        problems = downgrade(moved, opset)
        if problems:
            assert all(p.reason for p in problems)
            lowest = problems[0].lowest
            assert lowest is None or lowest > opset, f"opset {opset}: {problems[0]}"
            assert lowest is None or not any(o >= lowest for o in stuck if o > opset), problems[0]
            stuck[opset] = problems[0]
            continue
        signature = "; ".join(f"{op}{sorted(op.attributes)}" for _, op in moved.walk())
        if signature in seen:
            continue
        seen.add(signature)
        for _, op in moved.walk():
            assert op.domain or op.version == schema.since_version("", op.type, opset), f"{op}"
        verify(moved, f"downgrade to {opset}")
        _check(moved, opset)
        _same(key, feeds, interpret(moved, feeds), narrow, f"at opset {opset}")
        _same(key, feeds, interpret(moved, feeds, wide=True), wide, f"at opset {opset}, wide")
        left = upgrade(moved)
        assert not left, f"downgraded to {opset}, then stuck on the way up: {left}"
        verify(moved, f"upgrade from {opset}")
        _check(moved, schema.CANONICAL[""])
        _same(key, feeds, interpret(moved, feeds), narrow, f"from opset {opset}")
        _same(key, feeds, interpret(moved, feeds, wide=True), wide, f"from opset {opset}, wide")
    return stuck


def check_upgrade(
    model: onnx.ModelProto,
    feeds: Sequence[Any],
    wanted: Sequence[Any] | None = None,
    *,
    runtime: bool = True,
    unit: float = 2.0**-24,
) -> Graph:
    """A model of an old opset: our old semantics, the upgraded graph, and other sources agree.

    The others are the reference interpreter, or `wanted` where that is known to be wrong, and
    onnxruntime where it runs the model, unless it is known to differ. Returns the upgraded graph.
    """
    onnx.checker.check_model(model)
    graph = decode_model(model)
    key = graph.ops()[0].key
    old, wide = interpret(graph, feeds), interpret(graph, feeds, wide=True)
    agree(key, feeds, old, by_reference(model, feeds) if wanted is None else wanted, unit)
    if runtime:
        with suppress(pytest.skip.Exception):
            agree(key, feeds, old, by_runtime(model, feeds), unit)
    left = upgrade(graph)
    assert not left, left
    verify(graph, "upgrade")
    _check(graph, schema.CANONICAL[""])
    infer(graph)
    _same(key, feeds, interpret(graph, feeds), old, "upgraded")
    _same(key, feeds, interpret(graph, feeds, wide=True), wide, "upgraded, wide")
    return graph


def old_model(
    opset: int,
    op: str,
    inputs: Sequence[np.ndarray],
    outputs: int = 1,
    consts: Sequence[int] = (),
    like: Sequence[int] = (),
    **attributes: Any,
) -> tuple[onnx.ModelProto, list[np.ndarray]]:
    """A one-op model of an old opset and its feeds, for `check_upgrade`.

    Args:
        opset: of the default domain.
        op: the operator's name.
        inputs: operands; their dtypes and shapes become the graph inputs' types.
        outputs: how many results.
        consts: positions of the operands that are initializers.
        like: for each result that onnx does not type, the operand whose shape it has (the first).
        attributes: of the node.
    """
    helper = onnx.helper
    reads = [f"x{n}" for n in range(len(inputs))]
    node = helper.make_node(op, reads, [f"y{n}" for n in range(outputs)], **attributes)
    given, weights, feeds = [], [], []
    for n, array in enumerate(inputs):
        kind = DType.of(array.dtype).value
        given.append(helper.make_tensor_value_info(f"x{n}", kind, array.shape))
        if n in consts:
            weights.append(onnx.numpy_helper.from_array(array, f"x{n}"))
        else:
            feeds.append(array)
    given = [g for n, g in enumerate(given) if n not in consts or schema.ir_version_for(opset) < 4]
    results = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], op, given, results, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = max(schema.ir_version_for(opset), 4)
    model = onnx.shape_inference.infer_shapes(model)
    for n, result in enumerate(model.graph.output):
        if not result.type.WhichOneof("value"):
            kind, shape = DType.of(inputs[0].dtype).value, inputs[like[n] if like else 0].shape
            result.CopyFrom(helper.make_tensor_value_info(result.name, kind, shape))
    return model, feeds


def _check(graph: Graph, opset: int) -> None:
    """What the checker says, unless onnx has no definition of an operator of its own domain."""
    if any(schema.is_own(*op.key, op.version) and not op.domain for op in graph.ops()):
        return
    full = not any(op.type in ILL_TYPED for op in graph.ops())
    onnx.checker.check_model(encode(graph, opset), full_check=full)


def _same(
    key: Key, feeds: Sequence[Any], found: Sequence[Any], wanted: Sequence[Any], where: str
) -> None:
    for index, (f, w) in enumerate(zip(found, wanted, strict=True)):
        bound = 0.0
        if isinstance(w, np.ndarray | np.generic):
            kind = np.asarray(w)
            bound = slack(key, feeds, w, unit_of(DType.of(kind.dtype)) if _is_float(kind) else 0.0)
        problem = difference(f, w, bound)
        assert not problem, f"{where}, output {index}: {problem}"


def _unit(instance: Instance) -> float:
    """The coarsest unit among the instance's fixed element types."""
    names = {a.dtype for a in instance.inputs if a is not None} | set(instance.bind.values())
    names = {instance.bind.get(n, n) for n in names}
    kinds = [DType[n.upper()] for n in names if n.upper() in DType.__members__]
    return max((unit_of(k) for k in kinds), default=0.0)


def _is_float(array: np.ndarray) -> bool:
    return array.dtype.kind not in "OUSTbiuc" and DType.of(array.dtype).is_float
