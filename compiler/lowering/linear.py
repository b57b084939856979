"""linear: MatMul and Gemm, on tensor cores where the operands' alignment allows it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from isomorph.codegen.functor import collapse
from isomorph.codegen.spec import CONTIGUOUS, Block, KernelSpec, Launch
from isomorph.lowering.context import (
    Group,
    Lowered,
    blocks,
    broadcast_strides,
    ctype,
    floating,
    shape_of,
)
from isomorph.lowering.expressions import literal
from isomorph.passes.tile import MMA, SIMT, TN, choose

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key
    from isomorph.lowering.context import Functor


@dataclass(frozen=True, slots=True)
class Product:
    """C[m, n] = Σₖ A[m, k] B[k, n] for every batch index; strides in elements."""

    a: Value
    b: Value
    m: int
    n: int
    k: int
    a_strides: tuple[int, int]
    b_strides: tuple[int, int]
    batch: int = 1
    batch_words: tuple[tuple[int, ...], tuple[int, ...]] = ((1, 0), (1, 0))
    alpha: float = 1.0


def product(group: Group, p: Product, functor: Functor) -> Lowered:
    """The launch of a product."""
    kind, out = floating(p.a, p.b), ctype(group.output)
    rank = len(p.batch_words[0]) // 2
    words = (p.m, p.n, p.k)
    batch = (*p.batch_words[0], *p.batch_words[1])
    size = 2 if kind == "half_t" else 4
    pointers = (p.a, p.b, group.output)
    flops = 2 * p.batch * p.m * p.n * p.k
    if kind == "half_t" and tensor_cores(p):
        tile = choose(MMA, p.m, p.n, p.k, p.batch, size, group.device)
        nk = p.b_strides[0] == 1 and p.b_strides[1] != 1
        spec = KernelSpec(
            "gemm_mma",
            (("T_OUT", out),),
            (
                ("BM", tile.bm),
                ("BN", tile.bn),
                ("BK", tile.bk),
                ("WM", tile.tm),
                ("WN", tile.tn),
                ("STAGES", tile.stages),
                ("BATCH", rank),
                ("B_IS_NK", nk),
                ("ALIGNED", p.n % 2 == 0),
            ),
            functor.code,
            threads=tile.bm // tile.tm * (tile.bn // tile.tn) * 32,
            instructions=(
                "LDGSTS.E.BYPASS.128",
                "LDSM.16.M88.4",
                "HMMA.16816.F32",
                *(() if nk else ("LDSM.16.MT88.4",)),
                *(functor.instructions(out, 2) if p.n % 2 == 0 else ()),
            ),
            sectors=CONTIGUOUS if out == "float" else 2.0,  # four lanes write eight halves
        )
        strides = (p.a_strides[0], p.b_strides[1 if nk else 0])
        shared = tile.stages * (tile.bm + tile.bn) * tile.bk * 2
    else:
        tile = choose(SIMT, p.m, p.n, p.k, p.batch, 4, group.device)
        spec = KernelSpec(
            "gemm_simt",
            (("T", kind), ("T_OUT", out)),
            (
                *tile.constants,
                ("A_K_FAST", p.a_strides[1] == 1),
                ("B_K_FAST", p.b_strides[1] != 1),
                ("BATCH", rank),
                ("ALIGNED", p.n % TN == 0),
            ),
            functor.code,
            threads=tile.bm // tile.tm * (tile.bn // tile.tn),
            instructions=("LDS.128", *(functor.instructions(out, TN) if p.n % TN == 0 else ())),
            sectors=CONTIGUOUS if kind == "float" else 2.0,  # BK halves, where K is contiguous
        )
        strides, shared = (*p.a_strides, *p.b_strides), 0
    block = Block(pointers, (*words, *strides, float(p.alpha), *batch))
    grid = (blocks(p.n, tile.bn), blocks(p.m, tile.bm), p.batch)
    return [
        Launch(
            spec,
            grid,
            (block, functor.block),
            (group.output,),
            shared,
            functor.in_place,
            flops=flops,
        )
    ]


def tensor_cores(p: Product) -> bool:
    """Whether every row that cp.async reads starts at a multiple of 16 bytes."""
    if p.a_strides[1] != 1 or 1 not in p.b_strides or p.k % 8 or p.k == 0:
        return False
    b_row = p.b_strides[0] if p.b_strides[1] == 1 else p.b_strides[1]
    steps = [s for words in p.batch_words for s in words[len(words) // 2 :]]
    contiguous = p.n if p.b_strides[1] == 1 else p.k
    return all(v % 8 == 0 for v in (p.a_strides[0], b_row, contiguous, *steps))


def _matmul(group: Group) -> Lowered:
    a, b = group.operand(0), group.operand(1)
    left, right = shape_of(a), shape_of(b)
    if len(left) == 1:
        left = (1, *left)
    if len(right) == 1:
        right = (*right, 1)
    m, k, n = left[-2], left[-1], right[-1]
    outer = np.broadcast_shapes(left[:-2], right[:-2])
    functor = group.functor(exclude=(a, b))
    if prod(right[:-2]) == 1:
        m = prod(left[:-1])
        return product(group, Product(a, b, m, n, k, (k, 1), (n, 1)), functor)
    steps = (
        tuple(s * m * k for s in broadcast_strides(left[:-2], outer)),
        tuple(s * k * n for s in broadcast_strides(right[:-2], outer)),
    )
    dims = collapse(outer, steps) or [(1, (0, 0))]
    sizes = tuple(size for size, _ in dims)
    a_words, b_words = ((*sizes, *(s[i] for _, s in dims)) for i in (0, 1))
    made = Product(a, b, m, n, k, (k, 1), (n, 1), prod(outer), (a_words, b_words))
    return product(group, made, functor)


def _gemm(group: Group) -> Lowered:
    a, b, c = group.operand(0), group.operand(1), group.optional(2)
    op = group.main
    (m, k), (_, n) = shape_of(a), shape_of(b)
    a_strides, b_strides = (k, 1), (n, 1)
    if op.attr("transA"):
        m, k, a_strides = k, m, (1, k)
    if op.attr("transB"):
        n = shape_of(b)[0]
        b_strides = (1, k)
    beta = float(op.attr("beta"))
    first = []
    if c is not None and beta:
        scaled = "{a}" if beta == 1.0 else f"{literal(beta)} * {{a}}"
        first = [(c, shape_of(c), f"({{x}} + {scaled})")]
    functor = group.functor(first, exclude=(a, b))
    made = Product(a, b, m, n, k, a_strides, b_strides, alpha=float(op.attr("alpha")))
    return product(group, made, functor)


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "Gemm"): _gemm,
    ("", "MatMul"): _matmul,
}
