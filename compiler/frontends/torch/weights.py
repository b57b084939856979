"""Parameters, buffers and constants as weights that share their memory with the module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ml_dtypes
import torch

from isomorph.frontends.torch.errors import TraceError
from isomorph.frontends.torch.symbols import dtype_of
from isomorph.ir.source import Source
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from isomorph.ir.graph import Graph, Value

_THROUGH = {
    torch.bfloat16: (torch.uint16, ml_dtypes.bfloat16),
    torch.float8_e4m3fn: (torch.uint8, ml_dtypes.float8_e4m3fn),
    torch.float8_e4m3fnuz: (torch.uint8, ml_dtypes.float8_e4m3fnuz),
    torch.float8_e5m2: (torch.uint8, ml_dtypes.float8_e5m2),
    torch.float8_e5m2fnuz: (torch.uint8, ml_dtypes.float8_e5m2fnuz),
}
"""Dtypes that numpy lacks: the same bits as integers, and what to read them as."""

Layout = tuple[tuple[int, ...], tuple[int, ...]]
"""Shape and strides."""


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """A numpy view of a tensor's memory, strides and all; nothing is copied on the CPU.

    Raises:
        TypeError: for sparse, quantized or otherwise memoryless tensors.
    """
    plain = tensor.detach()
    if plain.layout is not torch.strided or plain.is_meta or plain.is_quantized:
        kind = "meta" if plain.is_meta else str(plain.layout).removeprefix("torch.")
        raise TypeError(f"a {kind} tensor of {plain.dtype} has no plain memory")
    if plain.device.type != "cpu":
        plain = plain.cpu()
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    through = _THROUGH.get(plain.dtype)
    if through is None:
        return plain.numpy()
    bits, kind = through
    return plain.view(bits).numpy().view(kind)


@dataclass
class _Memory:
    """One stretch of memory: its tensor, the layouts it is read in, and the value of each."""

    tensor: torch.Tensor
    layouts: dict[Layout, str] = field(default_factory=dict[Any, str])
    values: dict[Layout, Value] = field(default_factory=dict[Any, Any])
    base: Layout | None = None


class Weights:
    """The weights of one graph: memory that several names share becomes one of them.

    Call `expect` for every use first; `value` then gives a weight, or a Transpose of the one that
    another use has in another order.
    """

    def __init__(self, graph: Graph, emit: Callable[..., Any]) -> None:
        self._graph = graph
        self._emit = emit
        self._memories: dict[object, _Memory] = {}

    def expect(self, tensor: torch.Tensor, name: str, *, transposed: bool = False) -> None:
        """Announce a use of a tensor, as it is or with its two axes swapped."""
        memory = self._memories.setdefault(_identity(tensor), _Memory(tensor))
        memory.layouts.setdefault(_layout(tensor, transposed=transposed), name)

    def value(self, tensor: torch.Tensor, name: str, *, transposed: bool = False) -> Value:
        """The value that holds a tensor's numbers.

        Raises:
            TraceError: when the tensor has no memory of a kind that ONNX stores.
        """
        self.expect(tensor, name, transposed=transposed)
        memory = self._memories[_identity(tensor)]
        layout = _layout(tensor, transposed=transposed)
        if layout in memory.values:
            return memory.values[layout]
        if memory.base is None:
            memory.base = _densest(memory.layouts)
            base_name = memory.layouts[memory.base]
            memory.values[memory.base] = self._store(memory.tensor, memory.base, base_name)
        if layout not in memory.values:
            perm = _permutation(memory.base, layout)
            made = (
                self._store(memory.tensor, layout, name)
                if perm is None
                else self._emit("Transpose", [memory.values[memory.base]], {"perm": perm}).output
            )
            memory.values[layout] = made
        return memory.values[layout]

    def _store(self, tensor: torch.Tensor, layout: Layout, name: str) -> Value:
        try:
            with torch.no_grad():
                seen = torch.as_strided(tensor.detach(), *layout, tensor.storage_offset())
            array = array_of(seen)
            dtype = dtype_of(tensor.dtype)
        except (TypeError, RuntimeError) as error:
            raise TraceError(
                f"weight {name!r} ({tensor.dtype} {list(tensor.shape)}) cannot be stored: {error}",
                "a dense tensor on the CPU: module.to_dense(), module.cpu()",
                source=Source(),
            ) from None
        weight = Weight.of(array, dtype)
        return self._graph.add_weight(weight, name)


def _identity(tensor: torch.Tensor) -> object:
    if tensor.is_meta or tensor.layout is not torch.strided or tensor.numel() == 0:
        return id(tensor)
    storage = tensor.untyped_storage().data_ptr()
    return storage, tensor.storage_offset(), tensor.numel(), tensor.dtype


def _layout(tensor: torch.Tensor, *, transposed: bool) -> Layout:
    shape = tuple(tensor.shape)
    if tensor.layout is not torch.strided:
        return shape, ()
    strides = tuple(tensor.stride())
    return (shape[::-1], strides[::-1]) if transposed else (shape, strides)


def _densest(layouts: dict[Layout, str]) -> Layout:
    """The layout that lies in memory as ONNX stores it, else the first."""
    for shape, strides in layouts:
        if strides == _contiguous(shape):
            return shape, strides
    return next(iter(layouts))


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [0] * len(shape), 1
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def _permutation(base: Layout, wanted: Layout) -> tuple[int, ...] | None:
    """The order of `base`'s axes that gives `wanted`; `None` when it is no mere reordering."""
    left = list(enumerate(zip(*base, strict=True)))
    order: list[int] = []
    for axis in zip(*wanted, strict=True):
        found = next((item for item in left if item[1] == axis), None)
        if found is None:
            return None
        left.remove(found)
        order.append(found[0])
    return tuple(order) if not left else None


def tensor_of(array: Any) -> torch.Tensor:
    """The torch tensor of a numpy array; bfloat16 and float8 through their bits."""
    import numpy as np

    plain = np.ascontiguousarray(array).reshape(np.shape(array))
    for kind, (bits, own) in _THROUGH.items():
        if plain.dtype == np.dtype(own):
            whole = np.uint16 if bits is torch.uint16 else np.uint8
            return torch.from_numpy(plain.view(whole).copy()).view(kind)
    return torch.from_numpy(plain.copy())
