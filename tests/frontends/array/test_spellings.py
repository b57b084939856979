"""The table of spellings is true, and the namespace has what the standard has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isomorph import array as xp
from isomorph.frontends.array.dispatch import numpy_object, paths
from isomorph.frontends.array.spellings import SPELLINGS, spelling
from isomorph.ir import schema
from isomorph.ir.opdef import OPS
from tests.frontends.array.test_functions import CASES
from tests.frontends.array.tracing import traced

STANDARD = """
    e inf nan newaxis pi
    arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like
    tril triu zeros zeros_like
    astype broadcast_arrays broadcast_to can_cast finfo iinfo isdtype result_type
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
    bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp
    expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal
    log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum
    multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit
    sin sinh square sqrt subtract tan tanh trunc
    take take_along_axis matmul matrix_transpose tensordot vecdot
    concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
    argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse
    unique_values argsort sort cumulative_prod cumulative_sum max mean min prod std sum var all any
    diff linalg fft
""".split()  # noqa: SIM905 - a hundred words read better than a hundred strings
"""Every name of the main namespace in the array API standard 2024.12."""


@pytest.mark.parametrize("name", STANDARD)
def test_the_standard_namespace(name: str):
    assert hasattr(xp, name)
    assert name in dir(xp)


def numpy_name(path: str) -> str:
    """numpy's canonical name for an alias."""
    found = numpy_object(path)
    return found.__name__ if isinstance(found, np.ufunc) else paths()[found]


@pytest.mark.parametrize("op", sorted(SPELLINGS))
def test_spellings_exist(op: str):
    assert schema.canonical("", op) is not None
    for name in SPELLINGS[op]:
        if name.startswith("x"):
            continue
        found: Any = xp
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found)


def reaches(op: str, name: str) -> bool:
    """Whether a trace of any case of the function has the operator."""
    canonical = numpy_name(name)
    if canonical not in CASES:
        operands = [f"{kind}[3]" for kind in ("float32", "int32", "bool")]
        ufunc = getattr(np, canonical)
        many = [(ufunc, *([spec] * ufunc.nin)) for spec in operands]
    else:
        many = [(fn, *(f"{a.dtype}{list(a.shape)}" for a in map(np.asarray, arrays)))
                for fn, *arrays in CASES[canonical]]  # fmt: skip
    for fn, *specs in many:
        try:
            graph = traced(fn, *specs)
        except TypeError:
            continue
        if any(found.type == op for found in graph.ops()):
            return True
    return False


@pytest.mark.parametrize(
    ("op", "name"),
    [
        (op, name)
        for op, names in SPELLINGS.items()
        for name in names
        if not name.startswith(("x", "nn.")) and name not in ("cond", "at")
        and (op, name) not in {("ConstantOfShape", "zeros"), ("ConstantOfShape", "ones"),
                               ("ConstantOfShape", "full"), ("Range", "arange"), ("EyeLike", "eye")}
    ],
)  # fmt: skip
def test_spellings_reach_their_operator(op: str, name: str):
    assert reaches(op, name)


def test_creation_over_open_dims():
    graph = traced(
        lambda x: (
            xp.zeros(x.shape), xp.ones(x.shape[0]), xp.full(x.shape, 2), xp.arange(x.shape[0]),
            xp.eye(x.shape[0]),
        ),
        "x: float32[n, 3]",
    )  # fmt: skip
    kinds = [op.type for op in graph.ops()]
    assert {"ConstantOfShape", "Range", "EyeLike"} <= set(kinds)


def test_every_operator_has_a_spelling():
    assert spelling(("", "Conv")) == "xp.nn.conv"
    assert spelling(("", "Gather")) == "xp.take"
    assert spelling(("", "Shape")) == "x.shape"
    own = spelling(("com.microsoft", "FusedMatMul"))
    assert own == 'xp.op("FusedMatMul", domain="com.microsoft")'
    assert all(spelling(key) for key in OPS.rows())
