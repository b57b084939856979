"""The installed onnxruntime asked about single ops of a graph, where its table says nothing."""

from __future__ import annotations

import atexit
import os
import threading
from functools import cache
from typing import TYPE_CHECKING

from isomorph.exporters.runtimes.prober import Prober
from isomorph.exporters.runtimes.worker import Job
from isomorph.ir import schema
from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.graph import Graph, Value
from isomorph.ir.proto.encode import encode_model
from isomorph.ir.types import OptionalType, SequenceType, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isomorph.exporters.runtimes.tables import Outcome
    from isomorph.ir.graph import Op
    from isomorph.ir.types import Type

CONSTANT_BYTES = 4096
"""Constant operands up to this size go into the one-op model; larger ones become inputs."""

_answers: dict[bytes, tuple[Outcome, str]] = {}
_lock = threading.Lock()


def ask(models: Iterable[bytes]) -> dict[bytes, tuple[Outcome, str]]:
    """Whether each one-op model loads: outcome and reason. Asked once per process."""
    with _lock:
        for model in models:
            if model not in _answers:
                _answers[model] = _prober(os.getpid()).ask(Job(model, {}, run=False))
    return _answers


@cache
def _prober(process: int) -> Prober:
    """The one of this process, which ends with it: a fork does not share its parent's."""
    del process
    prober = Prober()
    atexit.register(prober.close)
    return prober


def alone(op: Op, opsets: Mapping[str, int], ir_version: int) -> bytes | None:
    """A model of just this op, its operands as inputs of their types; results are for it to type.

    `None` when that cannot be made, because an operand's type is unknown.
    """
    graph = Graph("alone")
    made: dict[Value, Value] = {}
    for value in op.operands:
        if value in made:
            continue
        if value.type is None:
            return None
        if value.weight is not None and value.weight.nbytes <= CONSTANT_BYTES:
            made[value] = graph.add_weight(value.weight, f"c{len(made)}")
        else:
            made[value] = graph.add_input(f"x{len(made)}", anonymous(value.type))
    copied = graph.add_op(
        op.type,
        [None if v is None else made[v] for v in op.inputs],
        op.attributes,
        outputs=[None if v is None else f"y{n}" for n, v in enumerate(op.outputs)],
        domain=op.domain,
        version=op.version,
        captures=[made[v] for v in op.captures],
    )
    graph.outputs = list(copied.results)
    wanted = {"": opsets[""]}
    if op.domain:
        wanted[op.domain] = opsets.get(op.domain) or schema.imported(*op.key)
    try:
        return encode_model(graph, wanted, ir_version).SerializeToString(deterministic=True)
    except InvalidGraphError:
        return None


def anonymous(kind: Type | None) -> Type | None:
    """The type without its dims (the rank stays), so that equal uses make equal models."""
    match kind:
        case TensorType():
            return TensorType(kind.dtype, None if kind.shape is None else (None,) * len(kind.shape))
        case SequenceType():
            inner = anonymous(kind.element)
            return SequenceType(inner) if inner is not None else None
        case OptionalType():
            inner = anonymous(kind.element)
            return OptionalType(inner) if inner is not None else None
        case _:
            return kind
