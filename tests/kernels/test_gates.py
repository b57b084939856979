"""Every kernel of the test models, built by NVRTC for every architecture that it declares."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

from isomorph.codegen import nvrtc
from isomorph.codegen.spec import PORTABLE, KernelSpec
from isomorph.frontends.canonical import canonical
from isomorph.lowering import LOWERINGS, lower
from isomorph.lowering.errors import NoKernelError
from isomorph.runtime.plan import make_plan
from isomorph.runtime.specialise import specialised
from tests.kernels.models import MODELS, NEEDS_TORCH, SHAPES, TORCH, plan
from tests.kernels.sass import needs_disassembler, opcodes
from tests.kernels.support import needs_nvrtc
from tests.ops.harness import build, cases

SETS = {"here": [m for m in MODELS if m not in TORCH], "torch": list(TORCH)}
FROM = ["here", pytest.param("torch", marks=NEEDS_TORCH)]


@cache
def built(source: str, arch: str) -> dict[KernelSpec, nvrtc.Cubin]:
    """The kernels of a set of models at aligned and ragged shapes."""
    pairs = [(m, d) for m in SETS[source] for d in ("float32", "float16")]
    plans = (
        plan(m, d, s, arch) for m, d in pairs if (m, d) != ("digits", "float16") for s in SHAPES[m]
    )
    specs = list(dict.fromkeys(spec for p in plans for spec in p.specs))
    assert all(arch in spec.archs for spec in specs)
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(specs, pool.map(lambda s: nvrtc.cubin(s, arch), specs), strict=True))


@needs_nvrtc
@pytest.mark.parametrize("arch", PORTABLE)
@pytest.mark.parametrize("source", FROM)
def test_no_kernel_spills(source: str, arch: str):
    made = built(source, arch)
    assert len(made) > 20
    assert {spec.name: c.spills for spec, c in made.items() if c.spills} == {}
    assert all(c.code.startswith(b"\x7fELF") for c in made.values())
    assert all(0 < c.registers <= 128 for c in made.values())


@cache
def of_operators() -> tuple[KernelSpec, ...]:
    """The kernels of single operators, one use of each in two element types."""
    found: dict[KernelSpec, None] = {}
    for key in LOWERINGS.rows():
        for dtype in ("float32", "float64", "uint8"):
            for case in cases([key], [dtype])[:1]:
                graph, feeds = build(*case.values)
                try:
                    shapes = tuple(np.shape(feed) for feed in feeds)
                    made = specialised(canonical(graph), shapes)
                    found.update(dict.fromkeys(make_plan(made, lower(made, "sm_90")).specs))
                except NoKernelError:
                    continue
    return tuple(found)


@needs_nvrtc
@pytest.mark.parametrize("arch", PORTABLE)
def test_no_kernel_of_an_operator_spills(arch: str):
    specs = [s for s in of_operators() if arch in s.archs]
    assert len({s.kernel for s in specs}) > 30
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda s: nvrtc.cubin(s, arch), specs))
    assert [s.name for s, c in zip(specs, made, strict=True) if c.spills] == []


@needs_nvrtc
@needs_disassembler
@pytest.mark.parametrize("arch", PORTABLE)
@pytest.mark.parametrize("source", FROM)
def test_machine_code_has_the_instructions_that_the_kernel_is_written_for(source: str, arch: str):
    made = {s: c for s, c in built(source, arch).items() if s.instructions}
    kinds = {s.kernel for s in made}
    assert kinds >= {"gemm_simt", "gemm_mma"}, kinds
    with ThreadPoolExecutor(2) as pool:
        codes = pool.map(opcodes, (c.code for c in made.values()))
    lacking = {
        s.name: missing
        for s, found in zip(made, codes, strict=True)
        if (missing := [i for i in s.instructions if not found[i]])
    }
    assert not lacking


@needs_nvrtc
@needs_disassembler
def test_an_instruction_that_is_not_there_is_missed():
    spec = KernelSpec("transpose", (("T", "uint32_t"),))
    found = opcodes(nvrtc.cubin(spec, "sm_90").code)
    assert found["LDG.E"]
    assert not found["LDG.E.128"]


@needs_nvrtc
def test_an_architecture_that_a_kernel_is_not_made_for():
    spec = KernelSpec("transpose", (("T", "uint32_t"),))
    with pytest.raises(nvrtc.NvrtcError, match="sm_80, sm_90, sm_100, not for sm_75"):
        nvrtc.cubin(spec, "sm_75")


@needs_nvrtc
def test_an_error_stands_at_a_line_of_the_spec():
    spec = KernelSpec("transpose", (("T", "no_such_type"),))
    with pytest.raises(nvrtc.NvrtcError, match=r"spec\.cuh\(1\): error"):
        nvrtc.cubin(spec, "sm_80")
