"""Weights: the module's own memory, tied ones once, in whatever order they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

from torch import nn  # noqa: E402 - after the skip

import isomorph as iso  # noqa: E402
from isomorph.frontends.array import TraceError  # noqa: E402
from isomorph.frontends.torch.weights import array_of, tensor_of  # noqa: E402
from isomorph.ir.interpret import Program  # noqa: E402
from tests.frontends.torch.models import Tied, seeded  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path


def held(graph: Any) -> dict[str, Any]:
    return {v.name: v.weight.numpy() for v in graph.weights()}


def test_weights_share_the_modules_memory():
    module = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(72, 3)
    ).eval()
    weights = held(iso.trace(module, ["input: float32[n, 1, 8, 8]"]))
    for name, tensor in module.state_dict().items():
        if tensor.is_floating_point():
            assert np.shares_memory(weights[name], tensor.numpy()), name


def test_a_matrix_is_stored_the_way_it_is_multiplied():
    module = nn.Linear(4, 3).eval()
    graph = iso.trace(module, ["input: float32[n, 4]"])
    assert [op.type for op in graph.ops()] == ["MatMul", "Add"]
    assert held(graph)["weight"].shape == (4, 3)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "float8_e5m2"])
def test_every_element_type_is_a_view(dtype: str):
    tensor = torch.tensor([1, 0, 1, 1]).to(getattr(torch, dtype)).reshape(2, 2)
    array = array_of(tensor)
    assert array.dtype == np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    assert array.ctypes.data == tensor.data_ptr()
    assert np.array_equal(array.astype(np.float32), tensor.float().numpy())
    assert torch.equal(tensor_of(array).float(), tensor.float())


def test_a_transposed_tensor_is_a_view_too():
    tensor = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).T
    array = array_of(tensor)
    assert array.ctypes.data == tensor.data_ptr()
    assert np.array_equal(array.astype(np.float32), tensor.float().numpy())


def test_a_weight_tied_to_an_embedding_is_stored_once(tmp_path: Path):
    import onnx

    module = seeded(Tied)
    graph = iso.trace(module, ["tokens: int64[batch, seq] in 0..2999"])
    large = [w for w in held(graph).values() if w.size >= 48000]
    assert len(large) == 1
    assert np.shares_memory(large[0], module.embedding.weight.detach().numpy())
    result = iso.export(graph, tmp_path / "tied.onnx", opset=17, cases=4)
    stored = onnx.load(result.paths[0]).graph.initializer
    assert sum(np.prod(t.dims) == 48000 for t in stored) == 1
    assert result.bytes < 1.1 * 48000 * 4


def test_a_parameter_that_is_another_ones_transpose_is_stored_once():
    class Mirrored(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.there = nn.Parameter(torch.arange(12.0).reshape(3, 4))
            self.back = nn.Parameter(self.there.detach().t())

        def forward(self, x: Any) -> Any:
            return (x @ self.there) @ self.back

    module = Mirrored().eval()
    graph = iso.trace(module, ["x: float32[n, 3]"])
    assert [op.type for op in graph.ops()] == ["MatMul", "Transpose", "MatMul"] or sorted(
        op.type for op in graph.ops()
    ) == ["MatMul", "MatMul", "Transpose"]
    assert [w.size for w in held(graph).values()] == [12]
    x = np.ones((2, 3), np.float32)
    with torch.no_grad():
        wanted = module(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(Program(graph).run([x])[0], wanted)


def test_one_module_used_twice_has_its_weights_once():
    layer = nn.Linear(4, 4)
    graph = iso.trace(nn.Sequential(layer, nn.ReLU(), layer).eval(), ["input: float32[n, 4]"])
    assert sorted(w.size for w in held(graph).values()) == [4, 16]


def test_weights_that_have_no_memory_are_refused_by_name():
    module = nn.Linear(4, 4, device="meta").eval()
    with pytest.raises(TraceError, match="meta"):
        iso.trace(module, ["input: float32[n, 4]"])
