"""Windows of convolutions and pooling say all of their geometry, and pad by numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.errors import InvalidModelError
from isomorph.ir.ops._windows import Windows, windows
from isomorph.ir.patch import Patch
from isomorph.ir.types import TensorType
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Attribute, Graph, Op


def settle(graph: Graph, op: Op) -> Patch | None:
    """Strides, dilations and pads written out, `auto_pad` replaced by what it means.

    SAME depends on the operand's size unless every stride is 1; an open size keeps it, and so does
    none at all, which a window with pads does not fit. So does
    pooling that is padded more at one end than at the other: onnx.reference (1.23.2) gives MaxPool
    with such pads a wrong shape.
    """
    kernel, spatial = _kernel(op), _spatial(op)
    if kernel is None or spatial is None or len(kernel) != len(spatial):
        return None
    pooling = op.type != "Conv"
    view = windows(op.attr, kernel, InvalidModelError, pooling=pooling)
    pads = _pads(view, spatial)
    if pads is None or (view.ceil and view.auto_pad != "NOTSET"):
        return None
    if pooling and view.same and pads[: len(kernel)] != pads[len(kernel) :]:
        return None
    wanted: dict[str, Attribute] = {
        "kernel_shape": tuple(kernel),
        "strides": view.strides,
        "dilations": view.dilations,
        "pads": pads,
    }
    padded = op.attr("auto_pad") != "NOTSET"
    if not padded and all(op.attributes.get(k) == v for k, v in wanted.items()):
        return None
    kept = {k: v for k, v in op.attributes.items() if k != "auto_pad"}
    patch = Patch(graph, op)
    made = patch.op(
        op.type,
        op.inputs,
        {**kept, **wanted},
        outputs=[None if v is None else v.name for v in op.outputs],
        types=[v.type for v in op.results],
    )
    patch.replace_op(op, made)
    return patch


def _kernel(op: Op) -> tuple[int, ...] | None:
    """Taps along each axis; those of a convolution are its weights'."""
    if op.type != "Conv":
        return tuple(op.attr("kernel_shape"))
    found = _spatial(op, 1)
    if found is None:
        return None
    sizes = tuple(d for d in found if isinstance(d, int))
    return sizes if len(sizes) == len(found) else None


def _spatial(op: Op, index: int = 0) -> Sequence[Dim] | None:
    value = op.inputs[index]
    if value is None or not isinstance(value.type, TensorType) or value.type.shape is None:
        return None
    return value.type.shape[2:]


def _pads(view: Windows, spatial: Sequence[Dim]) -> tuple[int, ...] | None:
    if not view.same:
        return (*view.begin, *view.end)
    sizes: list[int] = []
    for axis, size in enumerate(spatial):
        if size == 0:
            return None
        if isinstance(size, int):
            sizes.append(size)
        elif view.strides[axis] == 1:
            sizes.append(1)  # any size: at stride 1, as many windows as elements
        else:
            return None
    found = view.padding(sizes)
    return (*(begin for begin, _ in found), *(end for _, end in found))


EXPLICIT_WINDOWS = Rules(
    "explicit-windows",
    {("", kind): (settle,) for kind in ("Conv", "MaxPool", "AveragePool", "LpPool")},
)
