"""The host compiler: any of the two will do, and its absence is one clear message."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isomorph import doctor
from isomorph.ir.text import parse
from isomorph.runtime.device import compile_graph
from isomorph.simulator import toolchain
from isomorph.simulator.report import SimulationError
from isomorph.simulator.toolchain import NoCompilerError
from tests.kernels.support import aligned, checked, memory, needs_compiler, words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASTS = """<ir_version: 10, opset_import: ["" : 21]>
g (float16[n] h, float[m] f) => (float[n] a, float16[m] b)
{ a = Cast<to = 1>(h)
  b = Cast<to = 10>(f) }"""
COMPILERS = [
    pytest.param(
        name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not here")
    )
    for name in ("g++", "clang++")
]


@pytest.fixture
def fresh() -> Iterator[None]:
    toolchain.compiler.cache_clear()
    yield
    toolchain.compiler.cache_clear()


@needs_compiler
@pytest.mark.parametrize("name", COMPILERS)
def test_every_half_is_converted_as_ieee_says(
    name: str, monkeypatch: pytest.MonkeyPatch, fresh: None
):
    """All halves to float32; float32 at, above and below every half and every tie to half."""
    monkeypatch.setenv("ISOMORPH_CXX", name)
    run = compile_graph(parse(CASTS), "sim:sm_90")
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    exact = halves[np.isfinite(halves)].astype(np.float64)
    exact.sort()
    ties = np.concatenate([(exact[1:] + exact[:-1]) / 2, [65520.0, -65520.0]]).astype(np.float32)
    floats = np.concatenate([exact.astype(np.float32), ties])
    floats = np.concatenate([np.nextafter(floats, s) for s in (-np.inf, np.inf)] + [floats])
    floats = np.concatenate([floats, np.float32([np.inf, -np.inf, np.nan, 1e38, 1e-40])])
    wide, narrow = run(halves, floats)
    with np.errstate(over="ignore"):
        for got, wanted in ((wide, halves.astype(np.float32)), (narrow, floats.astype(np.float16))):
            same = (got == wanted) & (np.signbit(got) == np.signbit(wanted))
            assert (same | (np.isnan(got) & np.isnan(wanted))).all()


@needs_compiler
@pytest.mark.parametrize("name", COMPILERS)
def test_a_race_stands_at_its_line(name: str, monkeypatch: pytest.MonkeyPatch, fresh: None):
    monkeypatch.setenv("ISOMORPH_CXX", name)
    text = """#include "dialect/memory.cuh"
struct Params { float* out; };
KERNEL void small(const Params p) {
  SHARED(float, s, [64]);
  s[threadIdx.x] = threadIdx.x;
  p.out[threadIdx.x] = s[threadIdx.x ^ 32];
}
HOST_ENTRY(small)
"""
    out = aligned(np.zeros(64, "f4"))
    kernel = checked(text, "small", name="small.cu")
    with pytest.raises(SimulationError, match=r"small\.cu:6: shared race, write then read"):
        kernel.launch((1, 1, 1), 64, [words(out)], memory=[memory(out, writable=True)])


def test_without_a_compiler_one_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
):
    monkeypatch.delenv("ISOMORPH_CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = r"needs a C\+\+ compiler, g\+\+ or clang\+\+; none was found.*apt install g\+\+"
    with pytest.raises(NoCompilerError, match=said):
        compile_graph(parse(CASTS), "sim:sm_90")
    (found,) = [e for e in doctor.examine() if "simulator" in e.name]
    assert "needs a C++ compiler" in found.found
