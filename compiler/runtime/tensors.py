"""Values between kernels: on the host, on the machine, or on both."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.passes.plan.arena import aligned
from isomorph.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.runtime.arena import Machine

Held = Any
"""A `Tensor`, a list of what a sequence holds, or `None` for an optional without its element."""


class Block:
    """Memory that goes back to its pool when nothing holds it."""

    __slots__ = ("address", "pool", "size")

    def __init__(self, pool: Pool, address: int, size: int) -> None:
        self.pool, self.address, self.size = pool, address, size

    def __del__(self) -> None:
        self.pool.free.setdefault(self.size, []).append(self.address)


class Pool:
    """Memory for values that outlive the launches which made them.

    Attributes:
        machine: whose memory it is.
        free: addresses that are not in use, by bytes.
        allocations: how often memory was asked for.
        reads: tensors that were fetched to the host.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.free: dict[int, list[int]] = {}
        self.allocations = 0
        self.reads = 0

    def take(self, size: int) -> Block:
        """Memory of at least so many bytes."""
        size = aligned(max(size, 1))
        waiting = self.free.get(size)
        if waiting:
            return Block(self, waiting.pop(), size)
        self.allocations += 1
        return Block(self, self.machine.allocate(size), size)


class Tensor:
    """One tensor; what it is asked for on the other side is kept there."""

    __slots__ = ("_array", "_block", "_offset", "dtype", "pool", "shape")

    def __init__(
        self,
        pool: Pool,
        dtype: np.dtype[Any],
        shape: Sequence[int],
        block: Block | None = None,
        offset: int = 0,
        array: np.ndarray | None = None,
    ) -> None:
        self.pool, self.dtype, self.shape = pool, dtype, tuple(shape)
        self._block, self._offset, self._array = block, offset, array

    @classmethod
    def of(cls, pool: Pool, array: Any) -> Tensor:
        """A tensor from an array."""
        found = np.asarray(array)
        found = np.ascontiguousarray(found).reshape(found.shape)
        return cls(pool, found.dtype, found.shape, array=found)

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def on_host(self) -> bool:
        """Whether the host has its elements."""
        return self._array is not None

    def numpy(self) -> np.ndarray:
        """Its elements; fetched from the machine when the host has none, which is counted."""
        if self._array is None:
            array = np.empty(self.shape, self.dtype)
            if array.nbytes:
                self.pool.machine.download(self.address(), array)
            self.pool.reads += 1
            self._array = array
        return self._array

    def address(self) -> int:
        """Where it is on the machine; it is put there when it is not."""
        if self._block is None:
            self._block = self.pool.take(self.nbytes)
            if self._array is not None and self._array.nbytes:
                self.pool.machine.upload(self._block.address, self._array)
        return self._block.address + self._offset

    def copy_to(self, address: int) -> None:
        """Put its elements somewhere on the machine."""
        if self._block is None and self._array is not None:
            self.pool.machine.upload(address, self._array)
        else:
            self.pool.machine.copy(address, self.address(), self.nbytes)

    def reshaped(self, shape: Sequence[int]) -> Tensor:
        """The same elements in another shape."""
        array = None if self._array is None else self._array.reshape(shape)
        return Tensor(self.pool, self.dtype, shape, self._block, self._offset, array)

    def row(self, index: int) -> Tensor:
        """One element along the first axis, in the same memory."""
        shape = self.shape[1:]
        self.address()
        size = prod(shape) * self.dtype.itemsize
        return Tensor(self.pool, self.dtype, shape, self._block, self._offset + index * size)


def stacked(pool: Pool, rows: Sequence[Tensor]) -> Tensor:
    """Tensors of one type along a new first axis.

    Raises:
        RunError: when their shapes differ.
    """
    first = rows[0]
    if any(r.shape != first.shape or r.dtype != first.dtype for r in rows):
        kinds = ", ".join(f"{r.dtype}{list(r.shape)}" for r in rows[:8])
        raise RunError(f"what each step of a loop yields has one shape; these have {kinds}")
    block = pool.take(first.nbytes * len(rows))
    for index, row in enumerate(rows):
        if row.nbytes:
            pool.machine.copy(block.address + index * row.nbytes, row.address(), row.nbytes)
    return Tensor(pool, first.dtype, (len(rows), *first.shape), block)


def held(pool: Pool, value: Any) -> Held:
    """A value of the user's as what the run time holds."""
    match value:
        case None | Tensor():
            return value
        case list() | tuple():
            items: list[Any] = [*value]
            return [held(pool, v) for v in items]
        case _:
            return Tensor.of(pool, value)


def given(value: Held) -> Any:
    """The same, the other way."""
    match value:
        case Tensor():
            return value.numpy()
        case list():
            items: list[Any] = [*value]
            return [given(v) for v in items]
        case _:
            return value
