"""What onnxruntime's reductions and poolings do otherwise: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences import uses
from isomorph.exporters.runtimes.divergences.arrays import f32, i32, i64, whole
from isomorph.exporters.runtimes.divergences.entry import Divergence, Gives, Probe, ai

NAN = np.nan
OPS = "onnxruntime/core/providers/cpu/reduction/reduction_ops.cc"
REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2"),
    *("ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
)
LARGEST32, LARGEST64 = 2**31 - 1, 2**63 - 1


def _all(op: str, kind: str, x: np.ndarray, gives: object, *wanted: object) -> Probe:
    """A reduction of everything to one number."""
    size, dtype = x.size, x.dtype
    return Probe(
        f"y = {op} <keepdims = 0> (x)",
        f"{kind}[{size}] x",
        f"{kind} y",
        (x,),
        Gives((whole(gives, dtype),)),
        tuple(whole(w, dtype) for w in wanted),
        (13, 23) if op == "ReduceSum" else (13, 18),
    )


ENTRIES = (
    Divergence(
        "reduce-int64",
        ai("ReduceSum", "ReduceProd", "ReduceSumSquare", "ReduceL1", "ReduceMean"),
        "integer overflow",
        "64-bit integers are reduced in float64: wrong beyond 2⁵³",
        "ReduceSum-13 and the like: sums and products in the type of the operand",
        f"{OPS}, measured",
        (
            _all("ReduceSum", "int64", i64(2**53 + 1, 0), 2**53, 2**53 + 1),
            _all("ReduceProd", "int64", i64(94906267, 94906267), 9007199515875288, 94906267**2),
            _all("ReduceSumSquare", "int64", i64(94906267), 9007199515875288, 94906267**2),
            _all("ReduceL1", "int64", i64(2**53 + 1), 2**53, 2**53 + 1),
            _all("ReduceMean", "int64", i64(2**53 + 1), 2**53, 2**53 + 1),
        ),
        when=lambda op, graph: op.type != "ReduceSum" and uses.multiplies_integers(op, graph),
        remedy="keep results below 2⁵³; Add and CumSum are exact",
    ),
    Divergence(
        "reduce-saturates",
        ai("ReduceSum", "ReduceProd", "ReduceSumSquare", "ReduceL1"),
        "integer overflow",
        "sums and products of integers stop at the largest number, where addition wraps",
        "ReduceSum-13 and the like leave integer overflow open",
        f"{OPS}, measured",
        tuple(
            _all(op, f"int{bits}", x, largest)
            for op in ("ReduceSum", "ReduceProd", "ReduceSumSquare", "ReduceL1")
            for bits, x, largest in (
                (32, i32(LARGEST32, 2, 3), LARGEST32),
                (64, i64(LARGEST64, LARGEST64), LARGEST64),
            )
        ),
        judged="UNSPECIFIED",
    ),
    Divergence(
        "reduce-nan",
        ai("ReduceMax", "ReduceMin"),
        "NaN handling",
        "NaN counts where it stands first, and is passed over anywhere else",
        "ReduceMax-20 and ReduceMin-20 leave NaN open",
        f"{OPS}, measured",
        (
            _all("ReduceMax", "float", f32(1, NAN, 2), 2),
            _all("ReduceMin", "float", f32(1, NAN, 2), 1),
        ),
        judged="UNSPECIFIED",
        issue="https://github.com/microsoft/onnxruntime/issues/10514",
    ),
    Divergence(
        "arg-nan",
        ai("ArgMax", "ArgMin"),
        "NaN handling",
        "along one axis of several NaN is passed over unless it stands first; of a vector it is "
        "the largest and the smallest",
        "ArgMax-13 and ArgMin-13 leave NaN open",
        f"{OPS}, measured",
        tuple(
            Probe(
                f"y = {op} <axis = {x.ndim - 1}, keepdims = 0> (x)",
                f"float[{', '.join(map(str, x.shape))}] x",
                f"int64{'[1]' * (x.ndim - 1)} y",
                (x,),
                Gives((whole(gives, np.int64),)),
                (),
                (13, 23),
            )
            for op, x, gives in (
                ("ArgMax", whole([[1, NAN, 2]]), [2]),
                ("ArgMin", whole([[1, NAN, 0]]), [2]),
            )
        ),
        judged="UNSPECIFIED",
    ),
    Divergence(
        "pool-nan",
        ai("MaxPool", "GlobalMaxPool"),
        "NaN handling",
        "NaN is passed over, and a window of nothing else has the lowest finite number",
        "MaxPool-12 and GlobalMaxPool-1 leave NaN open",
        "onnxruntime/core/mlas/lib/pooling.cpp, measured",
        tuple(
            Probe(
                f"y = {op} (x)",
                "float[1, 1, 2] x",
                "float[1, 1, 1] y",
                (whole([[x]]),),
                Gives((whole([[[gives]]]),)),
                (),
                (13, 23),
            )
            for op in ("MaxPool <kernel_shape = [2]>", "GlobalMaxPool")
            for x, gives in (([NAN, 2], 2), ([NAN, NAN], np.finfo(np.float32).min))
        ),
        judged="UNSPECIFIED",
    ),
    Divergence(
        "mean-one-by-one",
        ai("ReduceMean", "GlobalAveragePool"),
        "lost accuracy",
        "sums are taken in float32 one by one, or in a few parts: of 2²⁰ elements of 0.1 the mean "
        "is 0.1 % off, of 2²⁵ 4 %",
        "ReduceMean-18 and GlobalAveragePool-22: the mean",
        "Eigen's sum, onnxruntime/core/mlas/lib/pooling.cpp, measured",
        (
            Probe(
                "y = GlobalAveragePool (x)",
                "float[1, 1, n] x",
                "float[1, 1, 1] y",
                (np.full((1, 1, 1 << 19), 0.1, np.float32),),
                Gives((whole([[[0.09989638]]]),), 5),
                (whole([[[0.1]]]),),
            ),
            Probe(
                "y = ReduceMean <keepdims = 0> (x)",
                "float[n] x",
                "float y",
                (np.full(1 << 20, 0.1, np.float32),),
                Gives((whole(0.0998963862657547),), 5),
                (whole(0.1),),
            ),
        ),
        judged="SUSPECT",
        issue="https://github.com/microsoft/onnxruntime/issues/28450",
    ),
    Divergence(
        "reduce-nothing",
        (
            *ai(*REDUCTIONS),
            *ai("ArgMax", "ArgMin"),
        ),
        "wrong shape",
        "of nothing, along an axis that is counted from the end, it keeps its operand's shape",
        "ReduceSum-13 and the like: reduced axes are of size 1, or left away; negative ones are "
        "counted from the end",
        f"{OPS}, measured",
        (
            *(
                Probe(
                    f"y = {op} <keepdims = 1> (x, a)",
                    "float[n, 3] x, int64[1] a",
                    "float[n, m] y",
                    (np.zeros((0, 3), np.float32), i64(-1)),
                    Gives((np.zeros((0, 3), np.float32),)),
                    (np.zeros((0, 1), np.float32),),
                )
                for op in REDUCTIONS
            ),
            *(
                Probe(
                    f"y = {op} <axis = -1> (x)",
                    "float[n, 3] x",
                    "int64[n, m] y",
                    (np.zeros((0, 3), np.float32),),
                    Gives((np.zeros((0, 3), np.int64),)),
                    (np.zeros((0, 1), np.int64),),
                    (13, 23),
                )
                for op in ("ArgMax", "ArgMin")
            ),
        ),
        when=uses.reduces_nothing,
        remedy="count the axis from the front",
    ),
    Divergence(
        "mean-of-nothing",
        ai("ReduceMean"),
        "wrong value",
        "the mean of nothing is 0, where others divide by 0",
        "ReduceMean-18 leaves the mean of an empty set open",
        f"{OPS}, measured",
        (_all("ReduceMean", "float", f32(), 0),),
        judged="UNSPECIFIED",
    ),
    Divergence(
        "unique-nan",
        ai("Unique"),
        "wrong value",
        "NaN equals every number: all elements become one",
        "Unique-11 leaves NaN open; numbers that differ are unique each",
        "onnxruntime/core/providers/cpu/tensor/unique.cc, a set ordered by <, measured",
        (
            Probe(
                "y, first = Unique (x)",
                "float[5] x",
                "float[n] y, int64[m] first",
                (f32(NAN, 1, 0, 2, 1),),
                Gives((f32(NAN), i64(0))),
                (f32(0, 1, 2, NAN), i64(2, 1, 3, 0)),
                (13, 23),
            ),
        ),
        when=uses.is_float,
        remedy="replace NaN before",
    ),
    Divergence(
        "nonzero-scalar",
        ai("NonZero"),
        "wrong shape",
        "of a number without dims it gives one row of indices",
        "NonZero-13: of a scalar the shape is (0, N)",
        "onnxruntime/core/providers/cpu/tensor/nonzero_op.cc, measured",
        (
            Probe(
                "y = NonZero (x)",
                "float x",
                "int64[a, b] y",
                (whole(3),),
                Gives((np.zeros((1, 1), np.int64),)),
                (np.zeros((0, 1), np.int64),),
                (13, 23),
            ),
        ),
        when=uses.is_scalar,
        remedy="reshape it to one element",
    ),
)
