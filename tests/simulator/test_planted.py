"""Bugs planted into our kernels, and into small ones: each is reported, with file:line."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.codegen.functor import render
from isomorph.codegen.spec import KernelSpec
from isomorph.simulator.report import SimulationError
from tests.kernels.support import (
    aligned,
    checked,
    line_of,
    memory,
    needs_compiler,
    planted,
    source,
    words,
)

pytestmark = needs_compiler
PLAIN = render([], [], "x")
FLOATS = (("T", "float"), ("T_OUT", "float"))
TILE = (("BM", 64), ("BN", 64), ("BK", 8), ("TM", 4), ("TN", 4))
GEMM = KernelSpec(
    "gemm_simt",
    FLOATS,
    (*TILE, ("A_K_FAST", True), ("B_K_FAST", False), ("BATCH", 1), ("ALIGNED", True)),
    PLAIN,
)
MMA = KernelSpec(
    "gemm_mma",
    (("T", "half_t"), ("T_OUT", "half_t")),
    (
        *(("BM", 64), ("BN", 64), ("BK", 32), ("WM", 32), ("WN", 32), ("STAGES", 3)),
        *(("BATCH", 1), ("B_IS_NK", False), ("ALIGNED", True)),
    ),
    PLAIN,
    threads=128,
)
COPY = KernelSpec("elementwise", (("T", "float"), ("VALUE", "float")), (("VECTOR", 4),), PLAIN)
TRANSPOSE = KernelSpec("transpose", (("T", "uint32_t"),))
NONE = bytes(8)


def found(error: pytest.ExceptionInfo[SimulationError]) -> set[tuple[str, str]]:
    return {(f.kind, f.where) for f in error.value.findings}


def gemm(text: str, n: int = 64, seed: int = 0) -> float:
    m, k = 64, 24
    rng = np.random.default_rng(0)
    a, b = (aligned(rng.standard_normal(s).astype("f4")) for s in ((m, k), (k, n)))
    c = aligned(np.zeros((m, n), "f4"))
    block = words(a, b, c, m, n, k, k, 1, n, 1, 1.0, *(1, 0), *(1, 0))
    checked(text, "gemm_simt").launch(
        (-(-n // 64), 1, 1),
        256,
        [block, NONE],
        seed=seed,
        memory=[memory(a), memory(b), memory(c, writable=True, initialised=False)],
    )
    return float(np.abs(c - a.astype("f8") @ b).max())


def test_the_good_gemm_is_clean():
    assert gemm(source(GEMM)) < 1e-4
    assert gemm(source(GEMM), seed=7) < 1e-4


def test_a_dropped_double_buffer_is_a_race():
    text = planted(source(GEMM), "        buffer ^= 1;\n", "\n")
    text = planted(text, "put(buffer ^ 1);", "put(buffer);")
    with pytest.raises(SimulationError) as error:
        gemm(text)
    where = line_of("simt_tile.cuh", "&sa[buffer][k][ty * TM]")
    assert ("shared race, write then read", where) in found(error)


def test_a_missing_barrier_is_a_race():
    x = aligned(np.arange(64 * 64, dtype=np.uint32).reshape(64, 64))
    y = aligned(np.zeros_like(x))
    arguments = ((2, 2, 1), 256, [words(x, y, 64, 64)])
    seen = [memory(x), memory(y, writable=True, initialised=False)]
    checked(source(TRANSPOSE), "transpose").launch(*arguments, memory=seen)
    assert (y == x.T).all()
    broken = planted(source(TRANSPOSE), "  __syncthreads();", "")
    with pytest.raises(SimulationError) as error:
        checked(broken, "transpose").launch(*arguments, seed=3, memory=seen)
    kinds = {kind for kind, _ in found(error)}
    assert kinds & {"shared race, write then read", "shared race, read then write"}
    assert {where.partition(":")[0] for _, where in found(error)} == {"transpose.cu"}


def test_a_missing_guard_is_stopped_before_it_writes():
    out, behind = aligned(np.zeros(1003, "f4")), 1003
    text = planted(source(COPY), "if (i + VECTOR <= p.n) {", "if (true) {")
    with pytest.raises(SimulationError) as error:
        checked(text, "elementwise").launch(
            (1, 1, 1),
            256,
            [words(out, behind), NONE],
            memory=[memory(out, writable=True)],
        )
    assert ("global write out of bounds", line_of("elementwise.cu", "store<true>")) in found(error)


def test_a_misaligned_vector_access_is_stopped():
    room = aligned(np.zeros(1028, "f4"))
    out = room[1:]
    with pytest.raises(SimulationError) as error:
        checked(source(COPY), "elementwise").launch(
            (1, 1, 1), 256, [words(out, 1024), NONE], memory=[memory(out, writable=True)]
        )
    assert ("misaligned vector access", line_of("elementwise.cu", "store<true>")) in found(error)


def test_a_wait_that_is_one_group_short_reads_what_has_not_landed():
    m = n = k = 64
    a, b = (aligned(np.ones((64, 64), "f2")) for _ in "ab")
    c = aligned(np.zeros((m, n), "f2"))
    block = words(a, b, c, m, n, k, k, n, 1.0, *(1, 0), *(1, 0))
    seen = [memory(a), memory(b), memory(c, writable=True, initialised=False)]
    arguments = ((1, 1, 1), 128, [block, NONE])
    checked(source(MMA), "gemm_mma").launch(*arguments, shared=24576, seed=5, memory=seen)
    assert (c == 64).all()
    text = planted(source(MMA), "cp_async_wait<STAGES - 2>();", "cp_async_wait<STAGES - 1>();")
    with pytest.raises(SimulationError) as error:
        checked(text, "gemm_mma").launch(*arguments, shared=24576, memory=seen)
    where = line_of("gemm_mma.cu", "ldmatrix_x4(fa[i]")
    assert ("uninitialised shared read", where) in found(error)


SMALL = """#include "dialect/memory.cuh"
struct Params { float* out; };
KERNEL void small(const Params p) {
  SHARED(float, s, [64]);
  int t = threadIdx.x;
  BODY
}
HOST_ENTRY(small)
"""
CASES = {
    "uninitialised shared read": ("uninitialised shared read", "p.out[t] = s[t];"),
    "a barrier that half of the block never reaches": (
        "deadlock: no thread can run",
        "if (t < 32) __syncthreads(); else if (t == 63) __syncwarp(); p.out[t] = 0;",
    ),
    "barriers at two places": (
        "__syncthreads is reached at two different places",
        "if (t < 32) { __syncthreads(); } else { __syncthreads(); } p.out[t] = 0;",
    ),
    "a barrier after some have left": (
        "__syncthreads after some threads of the block have exited",
        "p.out[t] = 0; if (t < 5) return; __syncthreads();",
    ),
    "two threads write one element": ("global race, write then write", "p.out[t / 2] = t;"),
    "shared memory past its end": ("shared access out of bounds", "s[t + 1000] = 0;"),
    "a read past the end": ("global read out of bounds", "p.out[t] = p.out[t + 64];"),
    "a lane outside of its mask": (
        "the calling lane is not in the mask of its warp collective",
        "p.out[t] = __shfl_sync(0x0000ffffu, 1.0f, 0);",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_small_kernels(name: str):
    kind, body = CASES[name]
    out = aligned(np.zeros(64, "f4"))
    kernel = checked(SMALL.replace("BODY", body), "small", name="small.cu")
    with pytest.raises(SimulationError) as error:
        kernel.launch((1, 1, 1), 64, [words(out)], memory=[memory(out, writable=True)])
    assert (kind, "small.cu:6") in found(error)
    assert "small.cu:6" in str(error.value)


def test_a_race_is_found_wherever_the_buffer_lies():
    """Also next to what the simulator itself has allocated, at its first launch."""
    text = SMALL.replace("BODY", "p.out[t / 2] = t;  // near")
    kernel = checked(text, "small", name="small.cu")
    rooms = []
    for _ in range(120):
        rooms.append(out := aligned(np.zeros(512, "f4")))
        with pytest.raises(SimulationError, match="global race, write then write"):
            kernel.launch((1, 1, 1), 64, [words(out)], memory=[memory(out, writable=True)])


def test_two_blocks_that_write_one_element_race():
    out = aligned(np.zeros(64, "f4"))
    kernel = checked(SMALL.replace("BODY", "p.out[t] = blockIdx.x;"), "small", name="small.cu")
    seen = [memory(out, writable=True)]
    kernel.launch((1, 1, 1), 64, [words(out)], memory=seen)
    with pytest.raises(SimulationError, match="global race, write then write"):
        kernel.launch((2, 1, 1), 64, [words(out)], memory=seen)
    with pytest.raises(SimulationError, match="write to a read-only buffer"):
        kernel.launch((1, 1, 1), 64, [words(out)], memory=[memory(out)])


def test_atomics_do_not_race():
    out = aligned(np.zeros(64, "f4"))
    kernel = checked(SMALL.replace("BODY", "atomicAdd(p.out, 1.0f);"), "small", name="small.cu")
    kernel.launch((3, 1, 1), 64, [words(out)], seed=2, memory=[memory(out, writable=True)])
    assert out[0] == 3 * 64
