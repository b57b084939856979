"""Every use computes in the graph what torch computes, at other sizes than at capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

from isomorph.frontends.spec import parse_specs  # noqa: E402 - after the skip
from isomorph.frontends.torch.sizes import declared, evaluated  # noqa: E402
from isomorph.frontends.torch.symbols import torch_dtype  # noqa: E402
from isomorph.frontends.torch.trace import trace_torch  # noqa: E402
from isomorph.frontends.torch.uses import uses  # noqa: E402
from isomorph.frontends.torch.weights import array_of  # noqa: E402
from isomorph.ir.interpret import Program  # noqa: E402
from isomorph.ir.verify import verify  # noqa: E402

if TYPE_CHECKING:
    from isomorph.frontends.torch.uses.use import Use

SIZES = ({"first": 4, "step": 2}, {"first": 9, "step": 3})


@pytest.mark.parametrize("use", uses().values(), ids=str)
def test_the_graph_computes_what_torch_computes(use: Use):
    specs = parse_specs(use.specs)
    graph = trace_torch(use.function, specs)
    assert not [op for op in graph.ops() if op.domain], "something is not lowered"
    verify(graph)
    program = Program(graph)
    names = list(declared(specs))
    generator = torch.Generator().manual_seed(0)
    for sizes in SIZES:
        dims = {n: sizes["first"] + i * sizes["step"] for i, n in enumerate(names)}
        if not all(c.holds(dims) is not False for c in graph.constraints):
            continue
        inputs = [_drawn(s, dims, generator) for s in specs]
        with torch.no_grad():
            wanted = torch.utils._pytree.tree_leaves(use.function(*(t.clone() for t in inputs)))
        got = program.run([array_of(t) for t in inputs])
        assert len(wanted) == len(got)
        for w, g, output in zip(wanted, got, graph.outputs, strict=True):
            _check(array_of(torch.as_tensor(w)), np.asarray(g))
            assert tuple(evaluated(_known(output), {**dims, **_measured(output, g)})) == g.shape


def _known(output: Any) -> Any:
    return output.type.shape


def _measured(output: Any, found: Any) -> dict[str, int]:
    """Dims that only the data determines take the size that was found."""
    return {
        str(d): n
        for d, n in zip(output.type.shape, np.shape(found), strict=True)
        if not isinstance(d, int) and str(d).startswith("u")
    }


def _drawn(spec: Any, dims: dict[str, int], generator: Any) -> Any:
    shape = evaluated(spec.type.shape or (), dims)
    dtype = torch_dtype(spec.type.dtype)
    if dtype.is_floating_point:
        low, high = spec.domain or (-2.0, 2.0)
        numbers = torch.rand(shape, generator=generator)
        return (numbers * (high - low) + low).to(dtype)
    low, high = spec.domain or (0, 1)
    return torch.randint(int(low), int(high) + 1, shape, generator=generator).to(dtype)


def _check(wanted: Any, got: Any) -> None:
    assert (wanted.dtype, wanted.shape) == (got.dtype, got.shape)
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(got, wanted)
        return
    unit = 2.0**-10 if wanted.dtype == np.float16 else 2.0**-21
    scale = float(np.nanmax(np.abs(np.where(np.isfinite(wanted), wanted, 0)), initial=1.0))
    np.testing.assert_allclose(got, wanted, rtol=8 * unit, atol=8 * unit * scale)
