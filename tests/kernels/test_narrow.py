"""Element types of 8 bits and fewer on the simulator: every code, and what is cast to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isomorph.ir.interpret import interpret
from isomorph.ir.text import parse
from isomorph.ir.types import DType
from isomorph.runtime.device import compile_graph
from tests.kernels.support import needs_compiler

pytestmark = needs_compiler
FLOATS = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float4e2m1")
INTEGERS = ("int4", "uint4", "int2", "uint2")
EDGES = (
    *(0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e9, 5.75, 6.0, 7.0, 0.25, 0.75, 1.25, 2.5),
    *(240.0, 247.9, 248.0, 448.0, 463.9, 464.0, 464.1, 57344.0, 61439.0, 61440.0, 61441.0, 2.0**-9),
    *(2.0**-10, 1.5 * 2.0**-10, 2.0**-16, 2.0**-17, 2.0**-18, 3 * 2.0**-18, 2.0**-127, 2.0**-128),
)


def graph(source: str, to: str, attributes: str = "") -> Any:
    code = DType.of("float32" if to == "float" else to).value
    return parse(f"""<ir_version: 13, opset_import: ["" : 25]>
    g ({source}[N] x) => ({to}[N] y) {{ y = Cast<to = {code}{attributes}>(x) }}""")


def same(a: Any, b: Any) -> bool:
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    equal = (a == b) & (np.signbit(a) == np.signbit(b))
    return bool((equal | (np.isnan(a) & np.isnan(b))).all())


def numbers() -> np.ndarray:
    rng = np.random.default_rng(0)
    drawn = np.ldexp(rng.uniform(1, 2, 500), rng.integers(-20, 20, 500)) * rng.choice([-1, 1], 500)
    return np.concatenate([drawn, EDGES]).astype(np.float32)


@pytest.mark.parametrize("name", [*FLOATS, "float8e8m0", *INTEGERS])
def test_every_code_is_the_number_it_stands_for(name: str):
    dtype = DType.of(name)
    codes = np.arange(2**dtype.bits, dtype=np.uint8).view(dtype.numpy)
    (found,) = compile_graph(graph(name, "float"), "sim:sm_90", checking=True)(codes)
    assert same(found, codes)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("name", FLOATS)
def test_numbers_become_the_nearest_code(name: str, saturate: int):
    stated = f", saturate = {saturate}" if name.startswith("float8") else ""
    model = graph("float", name, stated)
    (found,) = compile_graph(model, "sim:sm_90", checking=True)(numbers())
    assert same(found, interpret(model, [numbers()])[0])


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_magnitudes_become_powers_of_two(mode: str):
    model = graph("float", "float8e8m0", f', round_mode = "{mode}"')
    x = np.abs(numbers())
    (found,) = compile_graph(model, "sim:sm_90", checking=True)(x)
    assert same(found, interpret(model, [x])[0])


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_few_bits_are_kept(name: str):
    dtype = DType.of(name)
    low = -(2 ** (dtype.bits - 1)) if dtype.is_signed else 0
    x = np.arange(low, low + 2**dtype.bits).astype(np.int32).repeat(3)
    for source in ("int32", "float"):
        given = x.astype(np.float32) if source == "float" else x
        (found,) = compile_graph(graph(source, name), "sim:sm_90", checking=True)(given)
        assert found.dtype == dtype.numpy
        assert found.astype(np.int32).tolist() == x.tolist()


def test_the_bits_of_a_number_stay_where_they_are():
    model = parse("""<ir_version: 13, opset_import: ["" : 26]>
    g (float[N] x) => (int32[N] y, float[N] z) { t = Neg(x)
      y = BitCast<to = 6>(t)
      z = Exp(t) }""")
    x = np.array([1.5, -0.0, np.inf], np.float32)
    y, z = compile_graph(model, "sim:sm_90", checking=True)(x)
    assert y.tolist() == (-x).view(np.int32).tolist()
    np.testing.assert_allclose(z, np.exp(-x), rtol=1e-6)
