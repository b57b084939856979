"""attention: softmax(scale · Q Kᵀ + mask) V as one kernel, K and V once for several heads of Q."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.codegen.spec import CONTIGUOUS, Block, KernelSpec, Launch
from isomorph.ir.types import DType
from isomorph.lowering.context import (
    Group,
    Lowered,
    blocks,
    broadcast_strides,
    ctype,
    dtype_of,
    floating,
    shape_of,
    strides_of,
)
from isomorph.lowering.errors import NoKernel
from isomorph.lowering.linear import TENSOR_CORES

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key

LANES = 32
LARGEST_HEAD = 128
"""Elements of a head that shared memory has room for."""

FRAGMENT = 16
"""Rows of what tensor cores multiply: fewer queries or keys would leave them idle."""

CHUNK = 8
"""Elements of 16 bits that cp.async moves at once."""


def _heads(value: Value, heads: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape as (batch, heads, length, size), and the strides of the first three."""
    shape = shape_of(value)
    if len(shape) == 4:
        return shape, strides_of(shape)[:3]
    batch, length, hidden = shape
    if not heads or hidden % heads:
        raise NoKernel(f"%{value.name} of {hidden} elements does not split into {heads} heads")
    return (batch, heads, length, hidden // heads), (length * hidden, hidden // heads, hidden)


def _mask(
    group: Group, scores: tuple[int, ...], kind: str
) -> tuple[Value | None, str, int, tuple[int, ...]]:
    """The mask, its type, how many keys it has, and its strides along the scores' axes."""
    value = group.optional(3)
    if value is None:
        return None, "bool_t", scores[3], (0, 0, 0, 0)
    found, shape = ctype(value), shape_of(value)
    if found not in {"bool_t", kind}:
        raise NoKernel(f"its mask is {dtype_of(value)}: bool or the type of Q is added")
    if not shape or shape[-1] > scores[3]:
        raise NoKernel(f"its mask of shape {shape} is not that of {scores[3]} keys")
    return value, found, shape[-1], broadcast_strides(shape, (*scores[:3], shape[-1]))


def _attention(group: Group) -> Lowered:
    group.alone()
    op = group.main
    if group.optional(4) is not None or group.optional(5) is not None:
        raise NoKernel("past keys and values are put in front of the others first")
    if op.attr("softmax_precision") == DType.FLOAT64.value:
        raise NoKernel("its softmax in float64")
    q, k, v = (group.operand(i) for i in range(3))
    kind = floating(q, k, v)
    out = group.output
    (batch, heads, queries, size), q_steps = _heads(q, op.attr("q_num_heads"))
    (_, shared, keys, _), k_steps = _heads(k, op.attr("kv_num_heads"))
    (*_, values), v_steps = _heads(v, op.attr("kv_num_heads"))
    if max(size, values) > LARGEST_HEAD:
        raise NoKernel(f"heads of {max(size, values)} elements; {LARGEST_HEAD} at most")
    _, o_steps = _heads(out, op.attr("q_num_heads"))
    mask, mask_kind, masked, m_steps = _mask(group, (batch, heads, queries, keys), kind)
    steps = (*q_steps, *k_steps, *v_steps, *o_steps)
    wide = kind in TENSOR_CORES and all(n % CHUNK == 0 for n in (size, values, *steps))
    made = _on_tensor_cores if wide and min(queries, keys) >= FRAGMENT else _one_by_one
    spec, rows, room = made(kind, mask_kind, size, values)
    scale = op.attr("scale")
    words = (
        *(heads // max(shared, 1), queries, keys, size, values, masked),
        *(*steps, *m_steps, 0, int(op.attr("is_causal") or 0)),
        *(int(op.attr(f"{side}_window_size", -1)) for side in ("left", "right")),
        float(size**-0.5 if scale is None and size else scale or 1.0),
        float(op.attr("softcap") or 0.0),
    )
    block = Block((q, k, v, mask, group.optional(6), out), words)
    grid = (blocks(queries, rows), heads, batch)
    flops = 2 * batch * heads * queries * keys * (size + values)
    return [Launch(spec, grid, (block,), (out,), room, flops=flops)]


Made = tuple[KernelSpec, int, int]
"""A kernel, the queries of a block, and the bytes of its dynamic shared memory."""


def _one_by_one(kind: str, mask: str, size: int, values: int) -> Made:
    head, width = (max(blocks(n, LANES), 1) * LANES for n in (size, values))
    spec = KernelSpec(
        "attention",
        (("T", kind), ("M", mask)),
        (("HEAD", head), ("VALUES", width)),
        threads=128,
        sectors=CONTIGUOUS if min(size, values) % 8 == 0 else 4.0,
    )
    return spec, 16, 0


def _on_tensor_cores(kind: str, mask: str, size: int, values: int) -> Made:
    head, width = (max(16, 1 << (n - 1).bit_length()) for n in (size, values))
    spec = KernelSpec(
        "attention_mma",
        (("T", kind), ("M", mask)),
        (("HEAD", head), ("VALUES", width)),
        threads=128,
        instructions=(
            "LDGSTS.E.BYPASS.128",
            "LDSM.16.M88.4",
            "LDSM.16.MT88.4",
            TENSOR_CORES[kind],
        ),
        sectors=2.0,  # four lanes write eight elements
    )
    return spec, 64, 2 * 64 * (head + 2 * (head + width))


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {("", "Attention"): _attention}
