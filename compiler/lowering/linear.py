"""linear: MatMul and Gemm, on tensor cores where the operands' alignment allows it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from isomorph.codegen.functor import collapse, computed_as
from isomorph.codegen.spec import CONTIGUOUS, SECTOR, Block, KernelSpec, Launch
from isomorph.ir.ops._einsum import read_equation
from isomorph.ir.types import DType
from isomorph.lowering.context import (
    FLOATS,
    STORE,
    Group,
    Lowered,
    blocks,
    broadcast_strides,
    ctype,
    dtype_of,
    floating,
    itemsize,
    shape_of,
    strides_of,
    temporary,
)
from isomorph.lowering.errors import NoKernel
from isomorph.lowering.expressions import literal
from isomorph.passes.tile import MMA, SIMT, TN, choose

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key
    from isomorph.lowering.context import Functor


TENSOR_CORES = {"half_t": "HMMA.16816.F32", "bfloat_t": "HMMA.16816.F32.BF16"}
"""Types that tensor cores multiply, and the opcode of it."""


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
    if ctype(p.a) not in FLOATS:
        raise NoKernel(f"its operands are {p.a.type}")
    kind, out = floating(p.a, p.b), ctype(group.output)
    rank = len(p.batch_words[0]) // 2
    words = (p.m, p.n, p.k)
    batch = (*p.batch_words[0], *p.batch_words[1])
    size = 2 if kind in TENSOR_CORES else 4
    pointers = (p.a, p.b, group.output)
    flops = 2 * p.batch * p.m * p.n * p.k
    if kind in TENSOR_CORES and tensor_cores(p):
        tile = choose(MMA, p.m, p.n, p.k, p.batch, size, group.device)
        nk = p.b_strides[0] == 1 and p.b_strides[1] != 1
        spec = KernelSpec(
            "gemm_mma",
            (("T", kind), ("T_OUT", out)),
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
                TENSOR_CORES[kind],
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


@dataclass(frozen=True, slots=True)
class Exact:
    """What a product in integers or float64 has beside its operands.

    Attributes:
        acc: the type of a sum.
        code: `struct Finish`.
        finish: its parameters.
        zeros: what is taken from each operand first: one number, or one a row and one a column.
    """

    acc: str
    code: str
    finish: Block
    zeros: tuple[Value | None, Value | None] = (None, None)


def exact_product(group: Group, p: Product, e: Exact) -> Lowered:
    """The launch of a product in integers or float64."""
    group.plain()
    out = ctype(group.output)
    rank = len(p.batch_words[0]) // 2
    spec = KernelSpec(
        "gemm_plain",
        (("TA", ctype(p.a)), ("TB", ctype(p.b)), ("T_OUT", out), ("ACC", e.acc)),
        (("BATCH", rank),),
        e.code,
        sectors=4.0,
        wavefronts=2.0,
    )
    steps = (int(z is not None and prod(shape_of(z)) > 1) for z in e.zeros)
    words = (
        *(p.m, p.n, p.k, *p.a_strides, *p.b_strides, *steps),
        *(*p.batch_words[0], *p.batch_words[1]),
    )
    block = Block((p.a, p.b, *e.zeros, group.output), words)
    grid = (blocks(p.n, 16), blocks(p.m, 16), p.batch)
    flops = 2 * p.batch * p.m * p.n * p.k
    return [Launch(spec, grid, (block, e.finish), (group.output,), flops=flops)]


def matmul(a: Value, b: Value, *, rows: bool = True) -> Product:
    """The product of two operands as MatMul takes them.

    Args:
        a, b: operands.
        rows: batches of the left are more rows, where the right has none.
    """
    left, right = shape_of(a), shape_of(b)
    if len(left) == 1:
        left = (1, *left)
    if len(right) == 1:
        right = (*right, 1)
    m, k, n = left[-2], left[-1], right[-1]
    outer = np.broadcast_shapes(left[:-2], right[:-2])
    if rows and prod(right[:-2]) == 1:
        m = prod(left[:-1])
        return Product(a, b, m, n, k, (k, 1), (n, 1))
    steps = (
        tuple(s * m * k for s in broadcast_strides(left[:-2], outer)),
        tuple(s * k * n for s in broadcast_strides(right[:-2], outer)),
    )
    dims = collapse(outer, steps) or [(1, (0, 0))]
    sizes = tuple(size for size, _ in dims)
    a_words, b_words = ((*sizes, *(s[i] for _, s in dims)) for i in (0, 1))
    return Product(a, b, m, n, k, (k, 1), (n, 1), prod(outer), (a_words, b_words))


def _matmul(group: Group) -> Lowered:
    a, b = group.operand(0), group.operand(1)
    made, kind = matmul(a, b), ctype(a)
    if kind in FLOATS:
        return product(group, made, group.functor(exclude=(a, b)))
    code = STORE.format(bias=kind, result=kind, sum=kind)
    return exact_product(group, made, Exact(kind, code, Block((None,))))


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
    if ctype(a) not in FLOATS:
        made = Product(a, b, m, n, k, a_strides, b_strides)
        return exact_product(group, made, _scaled(group, c, float(op.attr("alpha")), beta))
    first = []
    if c is not None and beta:
        scaled = "{a}" if beta == 1.0 else f"{literal(beta)} * {{a}}"
        first = [(c, shape_of(c), f"({{x}} + {scaled})")]
    functor = group.functor(first, exclude=(a, b))
    made = Product(a, b, m, n, k, a_strides, b_strides, alpha=float(op.attr("alpha")))
    return product(group, made, functor)


def _scaled(group: Group, c: Value | None, alpha: float, beta: float) -> Exact:
    """What Gemm does to a sum in integers or float64."""
    kind = ctype(group.output)
    if kind != "double" and (alpha, beta) != (1.0, 1.0):
        raise NoKernel(f"alpha is {alpha} and beta {beta} for {dtype_of(group.output)}")
    rows, columns = broadcast_strides((1, 1) if c is None else shape_of(c), shape_of(group.output))
    alpha_text, beta_text = ("" if f == 1.0 else f" * {literal(f)}" for f in (alpha, beta))
    code = f"""
struct Finish {{
  const {kind}* c;
  int32_t row, column;
  DEV {kind} operator()({kind} v, uint32_t m, uint32_t n) const {{
    v = {kind}(v{alpha_text});
    return c ? plus(v, {kind}(c[int32_t(m) * row + int32_t(n) * column]{beta_text})) : v;
  }}
}};"""
    return Exact(kind, code, Block((c if beta else None,), (rows, columns)))


MOST_FACTORS = 4


def _einsum(group: Group) -> Lowered:
    """Any equation, one thread a result."""
    op, out = group.main, group.output
    operands = [group.operand(i) for i in range(len(op.inputs))]
    shapes = [shape_of(v) for v in operands]
    if len(operands) > MOST_FACTORS:
        raise NoKernel(f"{len(operands)} operands; up to {MOST_FACTORS} have a kernel")
    equation = read_equation(op.attr("equation"), [len(s) for s in shapes], NoKernel)
    if equation is None:
        raise NoKernel("an operand has no rank")
    sizes: dict[str, int] = {}
    for term, shape in zip(equation.terms, shapes, strict=True):
        for label, size in zip(term, shape, strict=True):
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    views: list[tuple[int, ...]] = []
    ranks: list[int] = []
    for labels in (equation.result, equation.summed):
        steps = [
            [
                sum(
                    step
                    for own, size, step in zip(term, shape, strides_of(shape), strict=True)
                    if own == label and size != 1
                )
                for label in labels
            ]
            for term, shape in zip(equation.terms, shapes, strict=True)
        ]
        dims = collapse([sizes[label] for label in labels], steps)
        dims = dims or [(1, (0,) * len(operands))]
        ranks.append(len(dims))
        views.append(
            tuple(
                word
                for n in range(len(operands))
                for word in (*(size for size, _ in dims), *(own[n] for _, own in dims))
            )
        )
    kind = ctype(out)
    if {ctype(v) for v in operands} != {kind}:
        raise NoKernel(f"its operands are {', '.join(str(v.type) for v in operands)}")
    spec = KernelSpec(
        "einsum",
        (("T", kind), ("ACC", computed_as(kind))),
        (("COUNT", len(operands)), ("KEPT", ranks[0]), ("SUMMED", ranks[1])),
        sectors=SECTOR / itemsize(out),
    )
    n, terms = prod(shape_of(out)), prod(sizes[label] for label in equation.summed)
    block = Block((*operands, out), (n, terms, *views[0], *views[1]))
    flops = len(operands) * n * terms
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,), flops=flops)]


def _det(group: Group) -> Lowered:
    x, out = group.operand(0), group.output
    shape = shape_of(x)
    count = prod(shape[:-2])
    scratch = temporary(DType.FLOAT64, (max(prod(shape), 1),), "scratch")
    spec = KernelSpec("det", (("T", ctype(x)),), threads=64, sectors=8.0)
    block = Block((x, scratch, out), (count, shape[-1]))
    return [Launch(spec, (blocks(count, 64), 1, 1), (block,), (scratch, out))]


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "Det"): _det,
    ("", "Einsum"): _einsum,
    ("", "Gemm"): _gemm,
    ("", "MatMul"): _matmul,
}
