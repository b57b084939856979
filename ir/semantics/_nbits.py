"""MatMulNBits: a product with weights of few bits, which are packed and scaled block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.semantics import _numeric as n

if TYPE_CHECKING:
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one op, each array (N, K).

    Attributes:
        codes: what is stored, from 0 on.
        zeros: what stands for 0, in the same steps.
        scales: the step.
    """

    codes: Array
    zeros: Array
    scales: Array

    @property
    def values(self) -> Array:
        """The numbers that they stand for."""
        return (self.codes - self.zeros) * self.scales


def unpacked(packed: Array, bits: int) -> Array:
    """Numbers of few bits, the first in the lowest bits of each byte, along the last axis."""
    places = np.arange(0, 8, bits, dtype=np.uint8)
    found = (packed[..., None] >> places) & np.uint8(2**bits - 1)
    return found.reshape(*packed.shape[:-1], packed.shape[-1] * len(places))


def weights_of(call: Call, b: Any, scales: Any, zeros: Any, index: Any) -> Weights:
    """The weights in the dtype that they are computed in; `index` says which block each is of."""
    rows, terms, block, bits = (int(call.attr(name)) for name in ("N", "K", "block_size", "bits"))
    blocks = -(-terms // block)
    step = n.up(scales).reshape(rows, blocks)
    codes = unpacked(np.asarray(b), bits).reshape(rows, -1)[:, :terms]
    if zeros is None:
        none = np.full((rows, blocks), 2 ** (bits - 1))
    elif np.asarray(zeros).dtype == np.uint8:
        none = unpacked(np.asarray(zeros).reshape(rows, -1), bits)[:, :blocks]
    else:
        none = n.up(zeros).reshape(rows, blocks)
    group: Any = np.arange(terms) // block if index is None else np.asarray(index)[:terms]
    if group.size and not 0 <= group.min() <= group.max() < blocks:
        wrong = group[(group < 0) | (group >= blocks)][0]
        raise TypeInferenceError(f"{call.op.where}: g_idx has {wrong}; there are {blocks} blocks")
    return Weights(codes.astype(step.dtype), none.astype(step.dtype)[:, group], step[:, group])


def matmul_nbits(
    call: Call,
    a: Any,
    b: Any,
    scales: Any,
    zeros: Any = None,
    index: Any = None,
    bias: Any = None,
) -> Array:
    """A · Wᵀ + bias. That A may be rounded to int8 on the way is left to the run time."""
    weights = weights_of(call, b, scales, zeros, index).values
    found = np.matmul(n.up(a), weights.T)
    return n.like(found if bias is None else found + n.up(bias), a)
