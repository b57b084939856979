"""Exported programs: as objects, from files, and files that would run code."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

from torch import nn  # noqa: E402 - after the skip

import isomorph as iso  # noqa: E402
from isomorph.ir.errors import InvalidModelError  # noqa: E402
from tests.frontends.torch.models import ResNet, seeded  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path


class Bomb:
    """Pickles as a call that leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


@pytest.fixture
def program() -> Any:
    shapes = {"x": {0: torch.export.Dim("batch", min=1, max=16)}}
    return torch.export.export(seeded(ResNet), (torch.zeros(3, 3, 32, 32),), dynamic_shapes=shapes)


@pytest.fixture
def saved(program: Any, tmp_path: Path) -> Path:
    path = tmp_path / "program.pt2"
    torch.export.save(program, path)
    return path


def rewritten(path: Path, change: Any) -> Path:
    """A copy of an archive whose members went through `change(name, bytes)`."""
    other = path.with_name("other.pt2")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return other


def test_a_program_needs_no_specifications(program: Any, tmp_path: Path):
    graph = iso.trace(program)
    assert next(str(v.type) for v in graph.inputs).endswith(", 3, 32, 32]")
    result = iso.export(graph, tmp_path / "m.onnx", opset=17, cases=4)
    assert result.verdict is not None
    assert result.verdict.exit_code == 0


def test_a_program_may_be_given_names(program: Any):
    graph = iso.trace(program, ["images: float32[batch, 3, 32, 32] in 0..1"])
    assert graph.inputs[0].name == "images"
    assert str(graph.inputs[0].type) == "float32[batch, 3, 32, 32]"
    assert graph.domains == {"images": (0, 1)}
    assert [str(c) for c in graph.constraints] == ["batch <= 16"]


def test_a_file_is_what_its_program_is(program: Any, saved: Path):
    first, second = iso.trace(program), iso.trace(saved)
    assert [op.type for op in first.sorted_ops()] == [op.type for op in second.sorted_ops()]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch's own, about its tree library
def test_a_decomposed_program_is_taken_too(program: Any, tmp_path: Path):
    graph = iso.trace(program.run_decompositions())
    assert not [op for op in graph.ops() if op.domain]
    iso.export(graph, tmp_path / "m.onnx", opset=17, cases=4)


def test_sample_inputs_that_call_something_are_refused(saved: Path, tmp_path: Path):
    mark = tmp_path / "ran"

    def change(name: str, data: bytes) -> bytes:
        if "/sample_inputs/" not in name:
            return data
        made = tmp_path / "bomb.pt"
        torch.save(Bomb(mark), made)
        return made.read_bytes()

    bad = rewritten(saved, change)
    with pytest.raises(InvalidModelError, match="more than tensors"):
        iso.trace(bad)
    assert not mark.exists()


def test_a_weight_that_is_to_be_unpickled_is_looked_at_whatever_it_begins_with(
    saved: Path, tmp_path: Path
):
    mark = tmp_path / "ran"
    plain = f"cos\nmkdir\n(V{mark}\ntR.".encode()

    def change(name: str, data: bytes) -> bytes:
        if name.endswith("weights_config.json"):
            return data.replace(b'"use_pickle": false', b'"use_pickle": true')
        return plain if "/weights/" in name and not name.endswith(".json") else data

    bad = rewritten(saved, change)
    with pytest.raises(InvalidModelError, match="more than tensors"):
        iso.trace(bad)
    assert not mark.exists()


def test_an_object_that_is_no_tensor_is_refused(saved: Path, tmp_path: Path):
    mark = tmp_path / "ran"
    bad = rewritten(saved, lambda _, data: data)
    with zipfile.ZipFile(bad, "a") as archive:
        root = archive.namelist()[0].split("/")[0]
        archive.writestr(f"{root}/data/constants/opaque_obj_0", pickle.dumps(Bomb(mark)))
    with pytest.raises(InvalidModelError, match="no tensor"):
        iso.trace(bad)
    assert not mark.exists()


@pytest.mark.parametrize("member", ["opaque_obj_0", "OPAQUE_OBJ_0", "Custom_Obj_0"])
def test_objects_are_refused_however_their_names_are_written(
    saved: Path, tmp_path: Path, member: str
):
    """torch's reader finds a member whatever its case."""
    mark = tmp_path / "ran"

    def change(name: str, data: bytes) -> bytes:
        if not name.endswith("constants_config.json"):
            return data
        payload = {"path_name": member.lower(), "is_param": False, "use_pickle": False}
        return json.dumps({"config": {"a": {**payload, "tensor_meta": None}}}).encode()

    bad = rewritten(saved, change)
    with zipfile.ZipFile(bad, "a") as archive:
        root = archive.namelist()[0].split("/")[0]
        archive.writestr(f"{root}/data/CONSTANTS/{member}", pickle.dumps(Bomb(mark)))
    with pytest.raises(InvalidModelError, match="no tensor"):
        iso.trace(bad)
    assert not mark.exists()


def test_two_names_that_differ_in_case_alone_are_refused(saved: Path):
    bad = rewritten(saved, lambda _, data: data)
    with zipfile.ZipFile(bad, "a") as archive:
        archive.writestr(archive.namelist()[-1].swapcase(), b"{}")
    with pytest.raises(InvalidModelError, match="two files of one name"):
        iso.trace(bad)


@pytest.mark.parametrize("loose", [None, "1"])
def test_nothing_is_unpickled_even_if_the_screen_lets_it_through(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loose: str | None
):
    mark = tmp_path / "ran"
    if loose is not None:
        monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", loose)
    monkeypatch.setattr("isomorph.frontends.torch.pt2._screen_pickle", lambda *_: None)
    plain = f"cos\nmkdir\n(V{mark}\ntR.".encode()

    def change(name: str, data: bytes) -> bytes:
        if name.endswith("weights_config.json"):
            return data.replace(b'"use_pickle": false', b'"use_pickle": true')
        return plain if "/weights/" in name and not name.endswith(".json") else data

    with pytest.raises(InvalidModelError):
        iso.trace(rewritten(saved, change))
    assert not mark.exists()
    assert os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD") == loose
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ


def test_native_code_is_refused(saved: Path):
    bad = rewritten(saved, lambda _, data: data)
    with zipfile.ZipFile(bad, "a") as archive:
        root = archive.namelist()[0].split("/")[0]
        archive.writestr(f"{root}/data/aotinductor/model/model.so", b"\x7fELF")
    with pytest.raises(InvalidModelError, match="native"):
        iso.trace(bad)


@pytest.mark.parametrize(
    "text", ["__import__('os').mkdir('x')", "s0.__class__", "exec", "lambda: 0", "s0['a']", "f(s0)"]
)
def test_a_size_that_is_no_arithmetic_is_refused(saved: Path, text: str):
    def change(name: str, data: bytes) -> bytes:
        if "/models/" not in name:
            return data
        document = data.decode()
        assert '"expr_str"' in document
        start = document.index('"expr_str"')
        value = document.index(":", start) + 1
        end = document.index('"', document.index('"', value) + 1) + 1
        return (document[:value] + json.dumps(text) + document[end:]).encode()

    with pytest.raises(InvalidModelError, match="no arithmetic"):
        iso.trace(rewritten(saved, change))


def test_an_operator_from_elsewhere_is_refused(saved: Path):
    def change(_: str, data: bytes) -> bytes:
        return data.replace(b"torch.ops.aten.conv2d.default", b"torch.os.system")

    with pytest.raises(InvalidModelError, match=r"torch\.os\.system"):
        iso.trace(rewritten(saved, change))


def test_what_is_no_program_is_told(tmp_path: Path):
    path = tmp_path / "empty.pt2"
    with pytest.raises(InvalidModelError, match="cannot be read"):
        iso.trace(path)
    path.write_bytes(b"nothing")
    with pytest.raises(InvalidModelError, match="not a whole"):
        iso.trace(path)


def test_a_fixed_axis_cannot_be_opened_afterwards():
    from isomorph.frontends.array import TraceError

    program = torch.export.export(nn.Linear(4, 4), (torch.zeros(3, 4),))
    with pytest.raises(TraceError, match="fixes it to 3"):
        iso.trace(program, ["input: float32[batch, 4]"])
