"""How much an op's evaluation takes, told from its operands before it is done."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.shape_inference

from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op

    Shapes = Sequence[tuple[int, ...]]

SMALL = 1 << 17
"""Elements that nobody counts; results that cannot have more are not looked at."""

FEW = 1024
"""Operands of up to so many elements may say how large a result is."""

STATED: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "DFT": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "Tile": (1, 2),
    "Upsample": (1,),
}
"""Operands whose elements decide how large a result is."""

SIZING = frozenset(
    {
        "cats_int64s",
        "cats_strings",
        "dilations",
        "height_scale",
        "kernel_shape",
        "n_targets",
        "ngram_indexes",
        "output_height",
        "output_padding",
        "output_shape",
        "output_width",
        "pads",
        "pooled_shape",
        "sample_size",
        "scales",
        "shape",
        "sparse_value",
        "strides",
        "width_scale",
    }
)
"""Attributes that do."""

STEPS_IN_PYTHON = 20_000
"""Steps in the time that one round of a loop in Python takes."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What evaluating an op takes.

    Attributes:
        bytes: of its results and of operands that it pads; 0 where they are small or not known.
        steps: multiply-adds or their equivalent; 0 likewise.
        results: their types, such as `float64[1,048,576]`, where they are not small.
    """

    bytes: int = 0
    steps: int = 0
    results: str = ""


NOTHING = Demand()


class Demands:
    """What ops take, worked out once for operands of the same shapes and deciding elements."""

    def __init__(self) -> None:
        self._known: dict[object, Demand] = {}

    def of(self, op: Op, operands: Sequence[Any], *, wide: bool = False) -> Demand:
        """What evaluating an op on these operands takes; `wide` counts floats as float64.

        Sequences and maps are made of what is there already.
        """
        total, most = 0, 1
        for operand in operands:
            if operand is None:
                continue
            if isinstance(operand, list | dict):
                return NOTHING
            size = int(np.size(operand))
            total += size
            most *= size or prod([d or 1 for d in np.shape(operand)])
        stated = () if op.domain else STATED.get(op.type, ())
        if not stated and total + most < SMALL and SIZING.isdisjoint(op.attributes):
            return NOTHING
        shapes = tuple([np.shape(v) if v is not None else None for v in operands])
        deciding = tuple(
            [
                np.asarray(v).tobytes()
                for i in stated
                if i < len(operands) and (v := operands[i]) is not None and np.size(v) <= FEW
            ]
        )
        key = (op, wide, shapes, deciding)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _demand(op, operands, stated, wide=wide)
        return found


def _demand(op: Op, operands: Sequence[Any], stated: Sequence[int], *, wide: bool) -> Demand:
    results = _results(op, operands, stated)
    if wide:
        results = [(s, DType.FLOAT64 if d.is_float else d) for s, d in results]
    shapes = tuple(s for s, _ in results)
    taken = sum(prod(s) * max(1, d.numpy.itemsize) for s, d in results)
    given = [() if v is None else np.shape(v) for v in operands]
    padded = _padded(op, given)
    if padded:
        taken += padded * (8 if wide else np.asarray(operands[0]).itemsize)
    elements = sum(prod(s) for s in shapes)
    count = _STEPS.get(op.type)
    total = sum(map(prod, given))
    steps = total + elements if count is None or not shapes else count(op, given, shapes)
    shown = ", ".join(f"{d}[{', '.join(f'{n:,}' for n in s)}]" for s, d in results)
    if padded:
        shown += ", and what it pads,"
    return Demand(taken, steps + padded, shown)


def _results(
    op: Op, operands: Sequence[Any], stated: Sequence[int]
) -> list[tuple[tuple[int, ...], DType]]:
    """Shape and type of each result by the standard's own inference; none where it cannot tell."""
    from isomorph.ir.proto.encode import encode_attribute

    if op.schema is None:
        return []
    if op.type == "MaxUnpool":
        return [_unpooled(op, *operands)]
    names = ["" if v is None else f"i{n}" for n, v in enumerate(operands)]
    outputs = ["" if v is None else f"o{n}" for n, v in enumerate(op.outputs)]
    node = onnx.NodeProto(op_type=op.type, domain=op.domain, input=names, output=outputs)
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    try:
        for name, value in op.attributes.items():
            node.attribute.append(encode_attribute(name, value, op))
        for index, (name, operand) in enumerate(zip(names, operands, strict=True)):
            if not name:
                continue
            array = _narrow(op, np.asarray(operand)) if index in stated else np.asarray(operand)
            dtype = DType.of(array.dtype)
            types[name] = onnx.helper.make_tensor_type_proto(dtype.value, array.shape)
            if index in stated and array.size <= FEW:
                data[name] = onnx.numpy_helper.from_array(array)
        found = onnx.shape_inference.infer_node_outputs(
            onnx.defs.get_schema(op.type, op.version, op.domain),
            node,
            types,
            data,
            opset_imports=[onnx.helper.make_opsetid(op.domain, op.version)],
            ir_version=onnx.IR_VERSION,
        )
    except Exception:  # noqa: BLE001 - operands that do not fit: evaluating says it better
        return []
    results: list[tuple[tuple[int, ...], DType]] = []
    for kind in found.values():
        tensor = kind.tensor_type
        dims = [d.dim_value for d in tensor.shape.dim if d.HasField("dim_value")]
        if tensor.HasField("shape") and len(dims) == len(tensor.shape.dim):
            results.append((tuple(max(0, d) for d in dims), DType(tensor.elem_type)))
    return results


def _unpooled(
    op: Op, x: np.ndarray, _: Any = None, shape: Any = None
) -> tuple[tuple[int, ...], DType]:
    """The result of MaxUnpool, of which the inference says nothing; padding only makes it less."""
    if shape is not None:
        return tuple(max(0, int(d)) for d in np.reshape(shape, -1)[:FEW]), DType.of(x.dtype)
    kernel = op.attr("kernel_shape", ())
    strides = op.attr("strides", None) or (1,) * len(kernel)
    spatial = ((d - 1) * s + k for d, s, k in zip(x.shape[2:], strides, kernel, strict=False))
    return (*x.shape[:2], *(max(0, d) for d in spatial)), DType.of(x.dtype)


def _narrow(op: Op, array: np.ndarray) -> np.ndarray:
    """Scales as the inference reads them, though they were widened."""
    return array.astype(np.float32) if op.type != "Range" and array.dtype.kind == "f" else array


def _padded(op: Op, given: Shapes) -> int:
    """Elements of a first operand with explicit padding around it."""
    pads = op.attributes.get("pads")
    if not pads or not given or op.type == "Pad" or len(pads) != 2 * (len(given[0]) - 2):
        return 0
    spatial, rank = given[0][2:], len(pads) // 2
    sizes = [s + max(0, pads[a]) + max(0, pads[a + rank]) for a, s in enumerate(spatial)]
    found = prod(given[0][:2]) * prod(sizes)
    return found if found >= SMALL else 0


def _matmul(op: Op, given: Shapes, results: Shapes) -> int:
    terms = given[0][0] if op.attr("transA", 0) else given[0][-1] if given[0] else 1
    return prod(results[0]) * terms


def _conv(op: Op, given: Shapes, results: Shapes) -> int:
    weights = given[3 if op.type == "QLinearConv" else 1]
    return prod(results[0]) * prod(weights[1:])


def _pool(op: Op, given: Shapes, results: Shapes) -> int:
    taps = prod(op.attr("kernel_shape", ()) or ())
    return max(prod(results[0]), STEPS_IN_PYTHON // 10) * taps


def _recurrent(op: Op, given: Shapes, results: Shapes) -> int:
    sequence, batch = given[0][:2]
    return sequence * (STEPS_IN_PYTHON + batch * (prod(given[1]) + prod(given[2])))


def _einsum(op: Op, given: Shapes, results: Shapes) -> int:
    """Every label's size multiplied, of two operands; a path that is chosen well for more."""
    if len(given) > 2:
        return sum(map(prod, given)) + prod(results[0])
    terms = str(op.attr("equation")).partition("->")[0].replace(" ", "").split(",")
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, given, strict=False):
        for label, size in zip(term, shape, strict=False):
            sizes[label] = max(size, sizes.get(label, 1))
    return prod(sizes.values())


_STEPS: dict[str, Callable[[Op, Shapes, Shapes], int]] = {
    "AveragePool": _pool,
    "Conv": _conv,
    "ConvInteger": _conv,
    "Einsum": _einsum,
    "GRU": _recurrent,
    "Gemm": _matmul,
    "LSTM": _recurrent,
    "LpPool": _pool,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "MaxPool": _pool,
    "QLinearConv": _conv,
    "QLinearMatMul": _matmul,
    "RNN": _recurrent,
}
