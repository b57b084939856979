"""Capture: names, containers, evaluation, and what is refused, each with the user's line."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

from torch import nn  # noqa: E402 - after the skip

import isomorph as iso  # noqa: E402
from isomorph.frontends.array import TraceError  # noqa: E402
from isomorph.frontends.kind import is_torch  # noqa: E402
from isomorph.ir.errors import SpecError  # noqa: E402
from isomorph.ir.interpret import Program  # noqa: E402

X = "x: float32[batch, 4]"


def names(values: Any) -> list[str]:
    return [v.name for v in values]


def line(function: Any, text: str) -> str:
    """`file:line` of the first line of a function that has this text."""
    source, start = inspect.getsourcelines(function)
    offset = next(i for i, s in enumerate(source) if text in s)
    return f"{Path(__file__).name}:{start + offset}"


def refused(source: Any, *specs: str) -> str:
    with pytest.raises(TraceError) as caught:
        iso.trace(source, specs)
    return str(caught.value)


class Nested(nn.Module):
    def forward(self, x: Any, *, scale: Any, bias: Any = None) -> Any:
        y = x * scale
        return {"plain": y, "more": [y + 1, None, {"deep": y - 1}]}


def test_inputs_and_outputs_have_the_names_of_the_source():
    graph = iso.trace(Nested(), ["scale: float32[4]", X])
    assert names(graph.inputs) == ["x", "scale"]
    assert names(graph.outputs) == ["plain", "more_0", "more_2.deep"]


def test_the_user_may_name_them():
    graph = iso.trace(
        nn.Linear(4, 2), ["input: float32[n, 4]"], input_names=["a"], output_names=["b"]
    )
    assert (names(graph.inputs), names(graph.outputs)) == (["a"], ["b"])


def test_outputs_without_keys_are_numbered():
    def two(x: Any) -> Any:
        return torch.abs(x), (x, x + 1)

    graph = iso.trace(two, [X])
    assert names(graph.outputs) == ["output_0", "output_1", "output_2"]


def test_an_input_may_be_an_output():
    graph = iso.trace(lambda x: (x, torch.neg(x)), [X])
    x = np.ones((2, 4), np.float32)
    assert np.array_equal(Program(graph).run([x])[0], x)


def test_a_module_in_training_is_captured_as_it_evaluates_and_left_as_it_was():
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    graph = iso.trace(module, [f"input: {X.split(': ')[1]}"])
    assert all(part.training for part in module.modules())
    assert [op.type for op in graph.ops()] == ["MatMul", "Add", "BatchNormalization"]
    assert any("training mode" in note for note in graph.extra["notes"])


def test_a_module_that_evaluates_needs_no_note():
    graph = iso.trace(nn.Linear(4, 4).eval(), ["input: float32[n, 4]"])
    assert "notes" not in graph.extra


def test_functions_are_told_apart_by_what_they_name():
    weight = torch.ones(4)

    def closes(x: Any) -> Any:
        return x * weight

    def annotated(x: torch.Tensor) -> Any:
        return x + 1

    def plain(x: Any) -> Any:
        return np.abs(x)

    assert is_torch(closes)
    assert is_torch(annotated)
    assert is_torch(lambda x: torch.abs(x) + 1)
    assert is_torch(nn.Linear(2, 2))
    assert is_torch(nn.Linear(2, 2).forward)
    assert is_torch(nn.functional.relu)
    assert is_torch(Path("program.pt2"))
    assert not is_torch(plain)
    assert not is_torch(Path("model.onnx"))
    assert not is_torch(iso)


def test_a_closed_over_tensor_is_a_weight():
    weight = torch.arange(4.0)
    graph = iso.trace(lambda x: x @ weight, [X])
    assert np.array_equal(Program(graph).run([np.eye(4, dtype=np.float32)])[0], weight.numpy())


def test_specifications_have_to_fit():
    with pytest.raises(SpecError, match="no specification for 'x'"):
        iso.trace(Nested(), ["scale: float32[4]"])
    with pytest.raises(SpecError, match="its inputs are not known"):
        iso.trace(nn.Linear(4, 4))
    with pytest.raises(SpecError, match="1 input names for 2 inputs"):
        iso.trace(Nested(), [X, "scale: float32[4]"], input_names=["a"])


def test_sizes_that_a_module_refuses_are_not_the_only_ones_tried():
    def patches(x: Any) -> Any:
        return torch.reshape(x, (x.shape[0], x.shape[1] // 8, 8))

    graph = iso.trace(patches, ["x: float32[batch, width]"])
    assert [str(c) for c in graph.constraints if "width" in c.symbols()]
    assert Program(graph).run([np.zeros((3, 24), np.float32)])[0].shape == (3, 3, 8)


def test_a_branch_on_data_is_refused_at_its_line():
    def branch(x: Any) -> Any:
        if torch.sum(x) > 3:
            x = x + 1
        return x

    message = refused(branch, X)
    assert line(branch, "if torch.sum") in message
    assert "torch.where" in message


def test_a_dim_that_is_asked_for_and_lost_is_refused():
    def fixed(x: Any) -> Any:
        return torch.take_along_dim(x, torch.zeros_like(x).long(), 1)

    message = refused(fixed, X)
    assert "`batch` of input 'x' is fixed to 5" in message
    assert line(fixed, "take_along_dim") in message


def test_a_shape_that_does_not_fit_is_told_as_one():
    message = refused(nn.Linear(3, 3), "input: float32[batch, 4]")
    assert "Linear cannot be captured" in message
    assert "[3, 3]" in message


def test_whatever_the_users_code_raises_is_told_at_its_line():
    def broken(x: Any) -> Any:
        torch.abs(x)
        raise KeyError("missing")

    message = refused(broken, X)
    assert line(broken, "raise KeyError") in message
    assert "missing" in message


def test_nothing_is_printed_while_capture_fails(capfd: Any):
    refused(lambda x: x if torch.sum(x) > 3 else -x, X)
    assert capfd.readouterr() == ("", "")


def test_recurrent_layers_keep_their_steps_open():
    graph = iso.trace(nn.LSTM(4, 6).eval(), ["input: float32[t, batch, 4]"])
    assert [op.type for op in graph.ops()].count("LSTM") == 1
    assert not graph.constraints


def test_torch_is_as_it_was_after_a_capture():
    kernels = dict(torch.ops.aten.lstm.input.py_kernels)
    fast = torch.backends.mha.get_fastpath_enabled()
    iso.trace(nn.LSTM(4, 6).eval(), ["input: float32[t, batch, 4]"])
    assert torch.ops.aten.lstm.input.py_kernels == kernels
    assert torch.backends.mha.get_fastpath_enabled() == fast
    assert torch.is_grad_enabled()


def test_changes_in_place_are_seen_through_views():
    def written(x: Any) -> Any:
        y = torch.mul(x, 2)
        view = y[:, 1:3]
        view.add_(1)
        y[0] = 5.0
        return y, view

    graph = iso.trace(written, [X])
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    wanted = written(torch.from_numpy(x))
    for got, want in zip(Program(graph).run([x]), wanted, strict=True):
        assert np.array_equal(got, want.numpy())


def test_a_buffer_that_changes_is_told():
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            self.count += 1
            return x + self.count

    graph = iso.trace(Counting().eval(), [X])
    assert any("count" in note and "in place" in note for note in graph.extra["notes"])
    x = np.zeros((2, 4), np.float32)
    assert np.array_equal(Program(graph).run([x])[0], x + 1)


def test_without_gradients_inside_is_nothing_special():
    def inner(x: Any) -> Any:
        with torch.no_grad():
            y = x + 1
        return y * 2

    graph = iso.trace(inner, [X])
    assert [op.type for op in graph.ops()] == ["Add", "Mul"]


class Deciding(nn.Module):
    """Decides by its numbers amid what is not lowered."""

    def forward(self, x: Any) -> Any:
        y = torch.special.i0(x)
        if y.mean() > 0:  # noqa: SIM108 - each has its own line
            y = torch.erfinv(y)
        else:
            y = torch.linalg.inv(y)
        while x.sum() > 3:
            x = x / 2
        return y + torch.special.i0e(x)


def test_what_comes_after_a_decision_is_listed_too():
    with pytest.raises(TraceError) as caught:
        iso.trace(Deciding(), ["x: float32[4, 4]"])
    error = caught.value

    def placed(obstacles: Any) -> set[tuple[str, str]]:
        return {(f"{Path(o.source.file).name}:{o.source.line}", o.name) for o in obstacles}

    def at(text: str) -> str:
        return line(Deciding.forward, text)

    assert f"{Path(error.source.file).name}:{error.source.line}" == at("y.mean()")
    assert placed(error.earlier) == {(at("special.i0(x)"), "aten.i0.default")}
    assert placed(error.later) == {
        (at("erfinv"), "aten.erfinv.default"),
        (at("linalg.inv"), "aten.linalg_inv.default"),
        (at("while"), ""),
        (at("i0e"), "aten.special_i0e.default"),
    }


def test_looking_on_in_a_module_that_cannot_be_looked_through_changes_nothing():
    class Stubborn(nn.Module):
        def forward(self, x: Any) -> Any:
            if x.sum() > 0:
                raise ValueError("positive")
            raise ValueError("negative")

    assert "decides by the values" in refused(Stubborn(), "x: float32[4]")
