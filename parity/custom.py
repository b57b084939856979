"""Operators of a user's own library: nobody but that library can say what they compute.

In a float64 evaluation each is run by onnxruntime, as a model of one node, in the dtypes that its
operands have in the file. What it gives carries its own roundings, so that the whole is compared in
the precision of the file.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from isomorph.ir.errors import UnsupportedError
from isomorph.ir.proto.encode import encode_attribute
from isomorph.ir.types import DType, TensorType
from isomorph.parity.arrays import is_tensor
from isomorph.runtime.errors import RuntimeLoadError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.parity.worker import Worker
    from isomorph.runtime.settings import Settings

DEFINED = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft")
"""Domains whose operators have a definition."""


def custom_ops(graph: Graph) -> list[str]:
    """The types of the operators that only a library knows, in branches and loops too."""
    found = (f"{op.domain}.{op.type}" for _, op in graph.walk() if op.domain not in DEFINED)
    return list(dict.fromkeys(found))


class CustomOps:
    """Runs single custom operators.

    Args:
        worker: the process that runs onnxruntime.
        settings: with the libraries.
        graph: that the operators are in.
        folder: for the models of one node.
    """

    def __init__(self, worker: Worker, settings: Settings, graph: Graph, folder: Path) -> None:
        self._worker, self._settings, self._graph, self._folder = worker, settings, graph, folder
        self._sessions: dict[object, int] = {}
        self._numbers = count()

    def __call__(self, op: Op, operands: Sequence[Any]) -> list[Any] | None:
        """The results in their own dtypes; `None` for operators that have a definition.

        Raises:
            UnsupportedError: when the libraries do not know the operator either.
        """
        if op.domain in DEFINED:
            return None
        given = [
            (f"x{i}", _stored(value, array))
            for i, (value, array) in enumerate(zip(op.inputs, operands, strict=True))
            if value is not None
        ]
        kinds = tuple((name, DType.of(array.dtype), array.ndim) for name, array in given)
        key = (id(op), kinds)
        if key not in self._sessions:
            self._sessions[key] = self._load(op, dict(given))
        return self._worker.run(self._sessions[key], dict(given))

    def close(self) -> None:
        """Forget the sessions."""
        for session in self._sessions.values():
            self._worker.unload(session)
        self._sessions.clear()

    def _load(self, op: Op, given: dict[str, np.ndarray]) -> int:
        names = [f"x{i}" if v is not None else "" for i, v in enumerate(op.inputs)]
        results = [f"y{i}" if v is not None else "" for i, v in enumerate(op.outputs)]
        node = helper.make_node(op.type, names, results, domain=op.domain)
        node.attribute.extend(encode_attribute(n, v) for n, v in op.attributes.items())
        graph = helper.make_graph(
            [node],
            op.type,
            [
                helper.make_tensor_value_info(n, DType.of(a.dtype).value, [None] * a.ndim)
                for n, a in given.items()
            ],
            [helper.make_empty_tensor_value_info(n) for n in results if n],
        )
        opsets = {"": 17, **self._graph.opsets}
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(d, v) for d, v in opsets.items()],
            ir_version=self._graph.extra.get("ir_version", 8),
        )
        path = self._folder / f"custom{next(self._numbers)}.onnx"
        path.write_bytes(model.SerializeToString())
        try:
            return self._worker.load(path, optimize=False, settings=self._settings)
        except RuntimeLoadError as error:
            raise UnsupportedError(f"{op}: {error}") from error


def _stored(value: Value, array: Any) -> np.ndarray:
    """An operand in the dtype that it has in the file; float32 where that is not known."""
    if not is_tensor(array):
        raise UnsupportedError(f"%{value.name}: custom operators of sequences cannot be evaluated")
    if array.dtype != np.float64:
        return np.asarray(array)
    kind = value.type
    dtype = kind.dtype.numpy if isinstance(kind, TensorType) else np.float32
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype)
