"""convolution: what each operator is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isomorph.ir.dims import maximum
from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.ops._reshape import vector_length
from isomorph.ir.ops._windows import per_axis, windows
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.dims import Dim
    from isomorph.ir.infer import Context
    from isomorph.ir.ops._windows import Attributes, Raise
    from isomorph.ir.types import Shape, Type


def _kernel(context: Context, weights: Shape | None, rank: int) -> tuple[Dim, ...]:
    """Taps along each spatial axis, from the weights or the attribute; they must agree."""
    stated = tuple(context.attr("kernel_shape", ()) or ())
    if stated and len(stated) != rank:
        raise context.error(f"kernel_shape is {list(stated)}, {rank} numbers were expected")
    if weights is None:
        return stated or (None,) * rank
    found = weights[2:]
    for axis, (a, b) in enumerate(zip(stated, found, strict=False)):
        if isinstance(b, int) and a != b:
            raise context.error(
                f"kernel_shape says {a} along spatial axis {axis}, the weights have {b}"
            )
    return stated or found


def _operands(
    context: Context, at: int = 1
) -> tuple[TensorType, Shape | None, Shape | None, int | None] | None:
    """The input's type, its shape, the shape of the weights, and how many axes are spatial."""
    tensor = context.tensor(0)
    if tensor is None:
        return None
    shape, weights = tensor.shape, context.shape(at)
    known = shape if shape is not None else weights
    if known is not None and len(known) < 3:
        raise context.error(f"rank {len(known)}; at least 3 was expected (N, C, spatial…)")
    if shape is not None and weights is not None and len(shape) != len(weights):
        raise context.error(f"weights of rank {len(weights)} for an input of rank {len(shape)}")
    return tensor, shape, weights, None if known is None else len(known) - 2


def _check_channels(context: Context, given: Dim, expected: Dim, outputs: Dim, group: int) -> None:
    if isinstance(given, int) and isinstance(expected, int) and given != expected:
        raise context.error(
            f"{given} input channels; the weights in {group} groups need {expected}"
        )
    if isinstance(outputs, int) and outputs % group:
        raise context.error(f"{outputs} output channels are not divisible by {group} groups")


def _conv(context: Context) -> tuple[Type | None, ...]:
    tensor = context.tensor(0)
    return (None if tensor is None else TensorType(tensor.dtype, convolved(context)),)


def convolved(context: Context, at: int = 1) -> Shape | None:
    """The shape of a convolution whose weights are operand `at`; `None` without any rank."""
    found = _operands(context, at)
    if found is None:
        return None
    _, shape, weights, rank = found
    if rank is None:
        return None
    group = context.attr("group", 1)
    channels: Dim = None
    if weights is not None:
        channels = weights[0]
        if shape is not None and weights[1] is not None:
            _check_channels(context, shape[1], weights[1] * group, channels, group)
    spatial: Shape = shape[2:] if shape is not None else (None,) * rank
    view = windows(context.attr, _kernel(context, weights, rank), context.error)
    batch = shape[0] if shape is not None else None
    return (batch, channels, *view.counts(spatial))


@dataclass(frozen=True)
class Transposed:
    """Where a transposed convolution's windows land along one axis.

    Attributes:
        size: of the result.
        begin: elements cut off (zeros added, when negative) before the first that a window writes.
    """

    size: Dim
    begin: int | None


def transposed(
    attr: Attributes, kernel: Sequence[Dim], spatial: Sequence[Dim], error: Raise
) -> list[Transposed]:
    """The spatial axes of a transposed convolution.

    With `output_shape`, or auto_pad SAME, the padding follows: the larger half lies at the end
    for SAME_UPPER and at the beginning otherwise. ConvTranspose-1 states the halves the other way
    round; version 11 corrected the text, and run times follow it at every version.
    """
    rank = len(kernel)
    view = windows(attr, kernel, error)
    extra = per_axis(attr, "output_padding", 0, rank, error)
    wanted = tuple(attr("output_shape", ()) or ())[-rank:]
    if wanted and len(wanted) != rank:
        raise error(f"output_shape is {list(wanted)}, {rank} numbers were expected")
    result: list[Transposed] = []
    for axis, size in enumerate(spatial):
        extent, stride = view.extent(axis), view.strides[axis]
        if size is None or extent is None:
            result.append(Transposed(wanted[axis] if wanted else None, None))
            continue
        full = (size - 1) * stride + extent + extra[axis]
        if not wanted and not view.same:
            begin = view.begin[axis]
            result.append(Transposed(full - begin - view.end[axis], begin))
            continue
        total = full - (wanted[axis] if wanted else size * stride)
        if not wanted:
            total = maximum(0, total)
        upper = view.auto_pad == "SAME_UPPER"
        begin = (total // 2 if upper else total - total // 2) if isinstance(total, int) else None
        result.append(Transposed(wanted[axis] if wanted else full - total, begin))
    for axis, found in enumerate(result):
        if isinstance(found.size, int) and found.size < 0:
            raise error(f"the padding leaves {found.size} elements of spatial axis {axis}")
    return result


def _conv_transpose(context: Context) -> tuple[Type | None, ...]:
    found = _operands(context)
    if found is None:
        return (None,)
    tensor, shape, weights, rank = found
    if rank is None:
        return (TensorType(tensor.dtype),)
    group = context.attr("group", 1)
    channels: Dim = None
    if weights is not None:
        channels = None if weights[1] is None else weights[1] * group
        if shape is not None:
            _check_channels(context, shape[1], weights[0], weights[0], group)
    spatial = shape[2:] if shape is not None else (None,) * rank
    kernel = _kernel(context, weights, rank)
    sizes = [t.size for t in transposed(context.attr, kernel, spatial, context.error)]
    batch = shape[0] if shape is not None else None
    return (TensorType(tensor.dtype, (batch, channels, *sizes)),)


def _deform_conv(context: Context) -> tuple[Type | None, ...]:
    (found,) = _conv(context)
    if not isinstance(found, TensorType) or found.shape is None:
        return (found,)
    offset = context.shape(2)
    if offset is None:
        return (found,)
    if len(offset) != len(found.shape):
        raise context.error(f"an offset of rank {len(offset)}, {len(found.shape)} was expected")
    pairs = zip(found.shape[2:], offset[2:], strict=True)
    spatial = tuple(a if isinstance(a, int) or b is None else b for a, b in pairs)
    return (TensorType(found.dtype, (*found.shape[:2], *spatial)),)


def _col2im(context: Context) -> tuple[Type | None, ...]:
    tensor = context.tensor(0)
    if tensor is None:
        return (None,)
    image, block = context.dims(1), context.dims(2)
    lengths = (vector_length(context, index) for index in (1, 2))
    rank = next((length for length in lengths if length is not None), None)
    if rank is None:
        return (TensorType(tensor.dtype),)
    shape = tensor.shape or (None, None, None)
    channels: Dim = None
    if block is not None and shape[1] is not None and all(d is not None for d in block):
        taps: Any = 1
        for dim in block:
            taps = taps * dim
        if isinstance(taps, int) and isinstance(shape[1], int) and shape[1] % taps:
            raise context.error(f"{shape[1]} rows are not divisible by the block's {taps} elements")
        channels = shape[1] // taps
    spatial = image if image is not None else (None,) * rank
    return (TensorType(tensor.dtype, (shape[0], channels, *spatial)),)


# DeformConv is linear in all but its offsets, which say where it reads: what they and the weights
# do to the result is judged by its own conditioning.
OPS: dict[Key, OpDef] = {
    ("", "Conv"): OpDef(_conv, Tolerance.DOT),
    ("", "ConvTranspose"): OpDef(_conv_transpose, Tolerance.DOT),
    ("", "DeformConv"): OpDef(_deform_conv, Tolerance.RECURRENT),
    ("", "Col2Im"): OpDef(_col2im, Tolerance.SUM),
}
