"""Every kernel of the test models, built by NVRTC for every architecture that it declares."""

from __future__ import annotations

import pytest

from isomorph.codegen import nvrtc
from isomorph.codegen.spec import PORTABLE, KernelSpec
from tests.kernels.models import CASES, SHAPES, plan
from tests.kernels.support import needs_nvrtc


def specs(arch: str) -> list[KernelSpec]:
    """Of all models at aligned and ragged shapes, each once."""
    plans = (plan(m, d, shape, arch) for m, d in CASES for shape in SHAPES[m])
    return list(dict.fromkeys(spec for p in plans for spec in p.specs))


@needs_nvrtc
@pytest.mark.parametrize("arch", PORTABLE)
def test_no_kernel_spills(arch: str):
    made = {spec.name: nvrtc.cubin(spec, arch) for spec in specs(arch)}
    assert len(made) > 30
    assert {name: c.spills for name, c in made.items() if c.spills} == {}
    assert all(c.code.startswith(b"\x7fELF") for c in made.values())


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
