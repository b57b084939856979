"""Shape rules of operators that onnxruntime's optimizer makes of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.ops import _shapes as s
from isomorph.ir.ops._bounds import unify_dims
from isomorph.ir.ops.convolution import convolved
from isomorph.ir.ops.linear import gemm
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.types import Shape, Type

    Types = tuple[Type | None, ...]

PARAMETERS = {"Clip": 2, "HardSigmoid": 2, "LeakyRelu": 1, "Relu": 0, "Sigmoid": 0, "Tanh": 0}
"""Activations of FusedConv, and how many numbers `activation_params` has for each."""
OF_INTEGERS = ("", "Relu")
"""Activations that integers may have."""


def agreed(ctx: Context, what: str, *dims: Dim) -> Dim:
    """What is known of dims that have to be equal."""
    numbers = {d for d in dims if isinstance(d, int)}
    if len(numbers) > 1:
        raise ctx.error(f"{what} is {' and '.join(map(str, sorted(numbers)))} at once")
    return unify_dims(dims)


def _ranked(ctx: Context, index: int, name: str, *ranks: int) -> Shape | None:
    """The shape of an operand, which has to have one of these ranks."""
    shape = ctx.shape(index) if ctx.has(index) else None
    if shape is not None and len(shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ctx.error(f"{name} has rank {len(shape)}, {wanted} was expected")
    return shape


def _vectors(ctx: Context, length: Dim, **places: int) -> None:
    """Operands that have one element per index of an axis."""
    for name, index in places.items():
        shape = _ranked(ctx, index, name, 1)
        if shape is not None:
            agreed(ctx, f"the hidden size, and the length of {name},", length, shape[0])


# -- products and convolutions with an activation -------------------------------------------------


def fused_conv(ctx: Context) -> Types:
    """FusedConv: what is added to the sums has their shape."""
    name = ctx.attr("activation") or ""
    given, wanted = len(ctx.attr("activation_params") or ()), PARAMETERS.get(name, 0)
    if given < wanted:
        raise ctx.error(f"activation {name} has {given} activation_params, {wanted} were expected")
    shape, added = convolved(ctx), ctx.shape(3) if ctx.has(3) else None
    if shape is None or added is None:
        return (s.tensor(ctx.dtype(0), added if shape is None else shape),)
    if len(shape) != len(added):
        raise ctx.error(f"Z has rank {len(added)}, {len(shape)} was expected")
    pairs = zip(shape, added, strict=True)
    return (
        s.tensor(ctx.dtype(0), tuple(agreed(ctx, f"dim {n}", *p) for n, p in enumerate(pairs))),
    )


def fused_gemm(ctx: Context) -> Types:
    """FusedGemm."""
    name, dtype = ctx.attr("activation") or "", ctx.dtype(0)
    if dtype is not None and dtype.is_integer and name not in OF_INTEGERS:
        raise ctx.error(f"activation {name} of {dtype}; a float type was expected")
    return gemm(ctx)


# -- normalizations -------------------------------------------------------------------------------


def skip_normalization(ctx: Context) -> Types:
    """SkipLayerNormalization: the result, two statistics, the sum that was normalized."""
    return _skip(ctx, gamma=2, beta=3, bias=4)


def skip_simplified(ctx: Context) -> Types:
    """SkipSimplifiedLayerNormalization: the same without a shift."""
    return _skip(ctx, gamma=2, bias=3)


def _skip(ctx: Context, **places: int) -> Types:
    shape, skip = _ranked(ctx, 0, "input", 2, 3), _ranked(ctx, 1, "skip", 2, 3)
    if shape is not None and skip is not None:
        if len(skip) > len(shape):
            raise ctx.error(f"skip has rank {len(skip)}, input only {len(shape)}")
        hidden = agreed(ctx, "the hidden size", shape[-1], skip[-1])
        length = agreed(ctx, "the length", shape[-2], skip[-2])
        batch = shape[:-2]
        if len(skip) == 3 and skip[0] != 1:
            batch = (agreed(ctx, "the batch", shape[0], skip[0]),)
        shape = (*batch, length, hidden)
    if shape is not None:
        _vectors(ctx, shape[-1], **places)
    statistic = TensorType(DType.FLOAT32, None if shape is None else (*shape[:-1], 1))
    made = s.tensor(ctx.dtype(0), shape)
    return (made, statistic, statistic, made)


def simplified_normalization(ctx: Context) -> Types:
    """SimplifiedLayerNormalization: the result in the scale's type, one statistic."""
    shape, reduced = ctx.shape(0), None
    if shape is not None:
        axis = ctx.axis(ctx.attr("axis", -1), len(shape))
        reduced = tuple(d if i < axis else 1 for i, d in enumerate(shape))
    return (s.tensor(ctx.dtype(1), shape), TensorType(DType(ctx.attr("stash_type", 1)), reduced))


def embed_normalization(ctx: Context) -> Types:
    """EmbedLayerNormalization: (batch, length, hidden), words per row, the sum of embeddings."""
    if ctx.has(1) and not ctx.has(4):
        raise ctx.error("segment_ids are given, and no segment_embedding to look them up in")
    ids = _ranked(ctx, 0, "input_ids", 2)
    batch, length = ids or (None, None)
    for index, name in ((1, "segment_ids"), (7, "mask")):
        other = _ranked(ctx, index, name, 2)
        if other is not None:
            batch = agreed(ctx, f"the batch, that of {name} too,", batch, other[0])
            length = agreed(ctx, f"the length, that of {name} too,", length, other[1])
    places = _ranked(ctx, 8, "position_ids", 2)
    if places is not None:
        length = agreed(ctx, "the length, that of position_ids too,", length, places[1])
        if places[0] != 1:
            agreed(ctx, "the batch, that of position_ids too,", batch, places[0])
    hidden: Dim = None
    for index, name in ((2, "word"), (3, "position"), (4, "segment")):
        table = _ranked(ctx, index, f"{name}_embedding", 2)
        if table is not None:
            hidden = agreed(ctx, "the hidden size", hidden, table[1])
    _vectors(ctx, hidden, gamma=5, beta=6)
    made = s.tensor(ctx.dtype(2), (batch, length, hidden))
    return (made, TensorType(DType.INT32, (batch,)), made)


# -- the others -----------------------------------------------------------------------------------


def rotary(ctx: Context) -> Types:
    """RotaryEmbedding: like its input, whose heads the width of the angles has to fit."""
    shape, cos = _ranked(ctx, 0, "input", 3, 4), _ranked(ctx, 2, "cos_cache", 2)
    sin = _ranked(ctx, 3, "sin_cache", 2)
    heads, turned = ctx.attr("num_heads") or 0, ctx.attr("rotary_embedding_dim") or 0
    if turned and not heads:
        raise ctx.error("rotary_embedding_dim is given, and no num_heads")
    half: Dim = None
    if cos is not None and sin is not None:
        agreed(ctx, "the number of positions", cos[0], sin[0])
    for name, table in (("cos_cache", cos), ("sin_cache", sin)):
        if table is not None:
            half = agreed(ctx, f"the width of the angles, that of {name} too,", half, table[1])
    if turned:
        agreed(ctx, "half of what is rotated, and the width of the angles,", turned // 2, half)
    _check_heads(ctx, shape, heads, turned, half)
    _check_positions(ctx, shape)
    return (ctx.type(0),)


def _check_heads(ctx: Context, shape: Shape | None, heads: int, turned: int, half: Dim) -> None:
    if shape is None:
        return
    size: Dim = None
    if len(shape) == 4:
        size = shape[3]
    elif heads and isinstance(shape[2], int):
        if shape[2] % heads:
            raise ctx.error(f"a hidden size of {shape[2]} is no multiple of {heads} heads")
        size = shape[2] // heads
    elif isinstance(shape[2], int) and isinstance(half, int) and half and shape[2] % (2 * half):
        raise ctx.error(f"a hidden size of {shape[2]} is no multiple of heads of {2 * half}")
    if not isinstance(size, int):
        return
    if turned % 2 or turned > size:
        raise ctx.error(f"{turned} numbers of heads of {size} are rotated: not possible in pairs")
    if not turned and isinstance(half, int):
        agreed(ctx, "the head size, and twice the width of the angles,", size, 2 * half)


def _check_positions(ctx: Context, shape: Shape | None) -> None:
    places = _ranked(ctx, 1, "position_ids", 0, 1, 2)
    if places is None:
        return
    if len(places) == 1:
        agreed(ctx, "the number of positions of a vector, which is a first one,", places[0], 1)
    elif len(places) == 2 and shape is not None:
        agreed(ctx, "the batch, that of position_ids too,", shape[0], places[0])
        agreed(ctx, "the length, that of position_ids too,", shape[-2], places[1])


BITS = (2, 4, 8)
LEAST_BLOCK = 16


def matmul_nbits(ctx: Context) -> Types:
    """MatMulNBits: A's shape with N columns; the other operands as N, K and blocks of it say."""
    bits, block, rows, terms = (ctx.attr(n) for n in ("bits", "block_size", "N", "K"))
    if bits not in BITS:
        raise ctx.error(f"bits is {bits}; {', '.join(map(str, BITS))} are known")
    if block < LEAST_BLOCK or block & (block - 1):
        raise ctx.error(f"block_size is {block}; a power of 2, {LEAST_BLOCK} at least, is expected")
    if rows < 1 or terms < 1:
        raise ctx.error(f"N is {rows} and K is {terms}; both have to be 1 at least")
    blocks = -(-terms // block)
    whole = blocks * block
    packed = -(-blocks * bits // 8) if ctx.dtype(3) is DType.UINT8 else blocks
    for index, name, shapes in (
        (1, "B", ((rows, blocks, block * bits // 8),)),
        (2, "scales", ((rows, blocks), (rows * blocks,))),
        (3, "zero_points", ((rows, packed), (rows * packed,))),
        (4, "g_idx", ((terms,), (whole,))),
        (5, "bias", ((rows,),)),
    ):
        given = ctx.shape(index) if ctx.has(index) else None
        if given is not None and not any(_may_be(given, wanted) for wanted in shapes):
            raise ctx.error(
                f"{name} has shape {_text(given)}; {' or '.join(map(_text, shapes))} was expected"
            )
    if ctx.has(3) and ctx.dtype(3) is not DType.UINT8 and ctx.dtype(3) is not ctx.dtype(0):
        raise ctx.error(f"zero_points of {ctx.dtype(3)}; uint8 or {ctx.dtype(0)} was expected")
    shape = ctx.shape(0)
    if shape is None:
        return (s.tensor(ctx.dtype(0), None),)
    if not shape:
        raise ctx.error("A is a scalar; rank 1 or more was expected")
    agreed(ctx, "K, and the last dim of A,", terms, shape[-1])
    return (s.tensor(ctx.dtype(0), (*shape[:-1], rows)),)


def _may_be(given: Shape, wanted: tuple[int, ...]) -> bool:
    if len(given) != len(wanted):
        return False
    return all(not isinstance(g, int) or g == w for g, w in zip(given, wanted, strict=True))


def _text(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
