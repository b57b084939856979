"""movement: small well-typed instances of each operator."""

import numpy as np

from isomorph.ir.graph import EmptyList
from isomorph.ir.instances import Arg, Instance
from isomorph.ir.instances._resize import RESIZE
from isomorph.ir.opdef import Key
from isomorph.ir.types import DType
from isomorph.ir.weights import Weight

_FAR = 2**63 - 1
_WITH_ZERO = tuple(str(d) for d in DType if d is not DType.FLOAT8E8M0)
"""float8e8m0 has no zero to pad with."""


def _run_time(*values: int) -> Arg:
    """An int64 vector that is known at run time only."""
    return Arg((len(values),), "int64", values)


def _scalar(value: float, dtype: str = "int64", *, const: bool = False) -> Arg:
    return Arg((), dtype, value, const=const)


def _shaped(*shape: int) -> Arg:
    return Arg(shape)


INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "Reshape"): (
        Instance((_shaped(2, 3, 4), Arg.ints(4, 6))),
        Instance((_shaped(2, 3, 4), Arg.ints(0, -1)), note="copy and infer"),
        Instance((_shaped(2, 3, 4), Arg.ints(-1))),
        Instance((_shaped(2, 3, 4), Arg.ints(0, 2, -1, 1))),
        Instance((_shaped(2, 0, 4), Arg.ints(2, 4, 0)), {"allowzero": 1}, note="zero kept"),
        Instance((_shaped(0, 3, 4), Arg.ints(0, 12)), note="empty"),
        Instance((_shaped(1, 1), Arg.ints()), note="to scalar"),
        Instance((_shaped(), Arg.ints(1, -1)), note="from scalar"),
        Instance((_shaped(2, 3, 4), _run_time(0, -1, 2)), note="run-time shape"),
        Instance((_shaped(2, 3), Arg.ints(3, 2)), {"allowzero": 1}, note="nothing is zero"),
    ),
    ("", "Transpose"): (
        Instance((_shaped(2, 3, 4),)),
        Instance((_shaped(2, 3, 4),), {"perm": (1, 2, 0)}),
        Instance((_shaped(2, 0, 4),), {"perm": (0, 2, 1)}, note="empty"),
        Instance((_shaped(),), note="scalar"),
        Instance((_shaped(3),), {"perm": (0,)}),
    ),
    ("", "Concat"): (
        Instance((_shaped(2, 3), _shaped(2, 1), _shaped(2, 2)), {"axis": 1}),
        Instance((_shaped(2, 3), _shaped(1, 3)), {"axis": -2}),
        Instance((_shaped(2, 3),), {"axis": 0}, note="one operand"),
        Instance((_shaped(0, 3), _shaped(2, 3)), {"axis": 0}, note="empty operand"),
    ),
    ("", "Split"): (
        Instance((_shaped(6, 2),), {"num_outputs": 3}, outputs=3),
        Instance((_shaped(2, 7),), {"num_outputs": 3, "axis": 1}, outputs=3, note="uneven"),
        Instance((_shaped(2, 7), Arg.ints(2, 5)), {"axis": -1}, outputs=2),
        Instance((_shaped(2, 7), Arg.ints(0, 7)), {"axis": 1}, outputs=2, note="empty part"),
        Instance((_shaped(5, 2), _run_time(1, 4)), outputs=2, note="run-time sizes"),
        Instance(
            (
                _shaped(
                    4,
                ),
            ),
            {"num_outputs": 1},
            note="one part",
        ),
    ),
    ("", "Slice"): (
        Instance((_shaped(4, 5), Arg.ints(1, 0), Arg.ints(3, 4))),
        Instance((_shaped(4, 5), Arg.ints(1), Arg.ints(_FAR), Arg.ints(-1))),
        Instance(
            (_shaped(4, 5), Arg.ints(-1, -1), Arg.ints(-_FAR, 0), Arg.ints(0, 1), Arg.ints(-1, -2)),
            note="backward",
        ),
        Instance((_shaped(4, 5), Arg.ints(-2), Arg.ints(-1), Arg.ints(1)), note="from the end"),
        Instance((_shaped(4, 5), Arg.ints(3), Arg.ints(1), Arg.ints(0)), note="nothing"),
        Instance((_shaped(4, 5), Arg.ints(-9), Arg.ints(9), Arg.ints(0)), note="clamped"),
        Instance(
            (_shaped(4, 5), Arg.ints(-9), Arg.ints(-9), Arg.ints(0), Arg.ints(-1)),
            note="a backward start before the first element is clamped to it",
        ),
        Instance((_shaped(0, 5), Arg.ints(0), Arg.ints(1), Arg.ints(0)), note="of an empty dim"),
        Instance(
            (_shaped(4, 5), _run_time(1), _run_time(-1), _run_time(1), _run_time(2)),
            note="run-time",
        ),
        Instance(
            (
                _shaped(4, 5),
                Arg((1,), "int32", [1], const=True),
                Arg((1,), "int32", [2**31 - 1], const=True),
                Arg((1,), "int32", [0], const=True),
                Arg((1,), "int32", [3], const=True),
            ),
            note="int32",
        ),
    ),
    ("", "Squeeze"): (
        Instance((_shaped(1, 3, 1, 2), Arg.ints(0, -2))),
        Instance((_shaped(1, 3, 1, 2),), note="every 1"),
        Instance((_shaped(3, 1), _run_time(1)), note="run-time axes"),
        Instance(
            (
                _shaped(
                    1,
                ),
                Arg.ints(0),
            ),
            note="to scalar",
        ),
        Instance((_shaped(0, 1), Arg.ints(-1)), note="empty"),
    ),
    ("", "Unsqueeze"): (
        Instance((_shaped(3, 2), Arg.ints(0, -1))),
        Instance((_shaped(), Arg.ints(0)), note="from scalar"),
        Instance((_shaped(3, 2), Arg.ints(3, 1)), note="any order"),
        Instance((_shaped(3, 2), _run_time(1)), note="run-time axes"),
    ),
    ("", "Flatten"): (
        Instance((_shaped(2, 3, 4),)),
        Instance((_shaped(2, 3, 4),), {"axis": 0}),
        Instance((_shaped(2, 3, 4),), {"axis": 3}),
        Instance((_shaped(2, 3, 4),), {"axis": -1}),
        Instance((_shaped(),), {"axis": 0}, note="scalar"),
        Instance((_shaped(0, 3),), note="empty"),
    ),
    ("", "Expand"): (
        Instance((_shaped(3, 1), Arg.ints(2, 3, 4))),
        Instance((_shaped(3, 4), Arg.ints(1)), note="smaller shape"),
        Instance((_shaped(1), Arg.ints(0)), note="to empty"),
        Instance((_shaped(), Arg.ints(2, 2)), note="scalar"),
        Instance((_shaped(3, 1), _run_time(3, 2)), note="run-time shape"),
    ),
    ("", "Tile"): (
        Instance((_shaped(2, 3), Arg.ints(2, 1))),
        Instance((_shaped(2, 3), Arg.ints(0, 2)), note="to empty"),
        Instance((_shaped(2, 3), _run_time(1, 2)), note="run-time repeats"),
    ),
    ("", "Pad"): (
        Instance((_shaped(2, 3), Arg.ints(0, 1, 2, 0)), dtypes=_WITH_ZERO),
        Instance((_shaped(2, 3), Arg.ints(1, 0, 0, 2), Arg((), "T", 1, const=True))),
        Instance((_shaped(2, 3), Arg.ints(-1, 0, 0, -2)), note="crop"),
        Instance((_shaped(3, 4), Arg.ints(2, 1, 1, 3)), {"mode": "reflect"}),
        Instance((_shaped(3, 4), Arg.ints(2, 1, 1, 3)), {"mode": "edge"}),
        Instance((_shaped(3, 4), Arg.ints(2, 1, 1, 3)), {"mode": "wrap"}),
        Instance((_shaped(3, 4), Arg.ints(-1, 0, 0, 2)), {"mode": "edge"}, note="crop and pad"),
        Instance(
            (_shaped(2, 3), Arg.ints(1, 2), None, Arg.ints(-1)), note="axes", dtypes=_WITH_ZERO
        ),
        Instance((_shaped(2, 3), _run_time(1, 0, 0, 2)), note="run-time pads", dtypes=_WITH_ZERO),
        Instance(
            (_shaped(2, 3), _run_time(1, 2), Arg((), "T", 1), _run_time(1)), note="run-time axes"
        ),
        Instance((_shaped(0, 3), Arg.ints(1, 0, 0, 1)), note="empty", dtypes=_WITH_ZERO),
    ),
    ("", "DepthToSpace"): (
        Instance((_shaped(2, 8, 2, 3),), {"blocksize": 2}),
        Instance((_shaped(2, 8, 2, 3),), {"blocksize": 2, "mode": "CRD"}),
        Instance((_shaped(0, 4, 2, 3),), {"blocksize": 2}, note="empty"),
    ),
    ("", "SpaceToDepth"): (
        Instance((_shaped(2, 2, 4, 6),), {"blocksize": 2}),
        Instance((_shaped(2, 2, 4, 6),), {"blocksize": 2, "mode": "CRD"}),
        Instance((_shaped(0, 2, 4, 6),), {"blocksize": 2, "mode": "CRD"}, note="empty"),
    ),
    ("", "Shape"): (
        Instance((_shaped(2, 3, 4),)),
        Instance((_shaped(2, 3, 4),), {"start": 1}),
        Instance((_shaped(2, 3, 4),), {"start": -2, "end": -1}),
        Instance((_shaped(2, 3, 4),), {"start": 2, "end": 1}, note="nothing"),
        Instance((_shaped(2, 3, 4),), {"start": -9, "end": 9}, note="clamped"),
        Instance((_shaped(),), note="scalar"),
    ),
    ("", "Size"): (
        Instance((_shaped(2, 3, 4),)),
        Instance((_shaped(),), note="scalar"),
        Instance((_shaped(2, 0),), note="empty"),
    ),
    ("", "Constant"): (
        Instance((), {"value": Weight.of(np.arange(6, dtype=np.float32).reshape(2, 3))}),
        Instance((), {"value": Weight.of(np.array([1, 2], np.int64))}),
        Instance((), {"value": Weight.of(np.array(["a", ""], object), DType.STRING)}),
        Instance((), {"value": Weight.of(np.array([1, 2], DType.BFLOAT16.numpy))}),
        Instance((), {"value_int": 7}),
        Instance((), {"value_ints": (7, 8)}),
        Instance((), {"value_float": 0.5}),
        Instance((), {"value_floats": (0.5, 0.25)}),
        Instance((), {"value_string": "a"}),
        Instance((), {"value_strings": ("a", "b")}),
        Instance((), {"value_ints": EmptyList("INTS")}, note="empty"),
    ),
    ("", "ConstantOfShape"): (
        Instance((Arg.ints(2, 3),), main="T1"),
        Instance((Arg.ints(2, 3),), {"value": Weight.of(np.array([3], np.int64))}, main="T1"),
        Instance((Arg.ints(),), {"value": Weight.of(np.array([True]))}, main="T1"),
        Instance((_run_time(2, 0),), {"value": Weight.of(np.array([2], np.float16))}, main="T1"),
        Instance((Arg.ints(2),), {"value": Weight.of(np.array([2], DType.INT4.numpy))}, main="T1"),
    ),
    ("", "Range"): (
        Instance((_scalar(1, "T"), _scalar(9, "T"), _scalar(3, "T"))),
        Instance((_scalar(9, "T"), _scalar(-2, "T"), _scalar(-2, "T"))),
        Instance((_scalar(3, "T"), _scalar(1, "T"), _scalar(1, "T")), note="nothing"),
        Instance(
            (_scalar(0, "T", const=True), _scalar(5, "T"), _scalar(1, "T", const=True)),
            note="run-time limit",
        ),
        Instance(tuple(_scalar(v, "T", const=True) for v in (0, 8, 3)), note="constant"),
        Instance(
            (_scalar(0, "T"), _scalar(1, "T"), _scalar(0.125, "T")),
            dtypes=("float32", "float64", "float16", "bfloat16"),
        ),
    ),
    ("", "EyeLike"): (
        Instance((Arg((3, 4), "T1"),), main="T1"),
        Instance((Arg((3, 4), "T1"),), {"k": 1}, main="T1"),
        Instance((Arg((3, 2), "T1"),), {"k": -1, "dtype": DType.INT32.value}, main="T1"),
        Instance((Arg((2, 2), "T1"),), {"k": 5}, main="T1", note="beyond"),
        Instance((Arg((0, 2), "T1"),), main="T1", note="empty"),
    ),
    ("", "Trilu"): (
        Instance((_shaped(3, 4),)),
        Instance((_shaped(2, 3, 4),), {"upper": 0}),
        Instance((_shaped(3, 4), _scalar(1, const=True))),
        Instance((_shaped(3, 4), _scalar(-1, const=True)), {"upper": 0}),
        Instance((_shaped(2, 3, 3), _scalar(-1)), note="run-time k"),
        Instance((_shaped(3, 4), _scalar(9)), note="all outside"),
        Instance((_shaped(0, 4),), note="empty"),
    ),
    ("", "ReverseSequence"): (
        Instance((_shaped(4, 3), Arg((3,), "int64", [4, 2, 1]))),
        Instance(
            (_shaped(3, 4, 2), Arg((3,), "int64", [1, 3, 4])), {"batch_axis": 0, "time_axis": 1}
        ),
    ),
    ("", "CenterCropPad"): (
        Instance((_shaped(5, 4), Arg.ints(3, 3))),
        Instance((_shaped(5, 4), Arg.ints(8, 5)), note="pad"),
        Instance((_shaped(5, 4), Arg.ints(8, 1)), note="pad and crop"),
        Instance((_shaped(2, 5, 4), Arg.ints(2, 7)), {"axes": (-1, 1)}),
        Instance((_shaped(5, 4), _run_time(3, 7)), note="run-time shape"),
        Instance((_shaped(5, 4), Arg((1,), "int32", [6])), {"axes": (0,)}, note="int32"),
    ),
    ("", "Resize"): RESIZE,
}
