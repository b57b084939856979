"""Whatever a file holds, reading it ends in a graph or in one typed error that names the file."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isomorph.frontends.onnx import reader
from isomorph.frontends.onnx.reader import read
from isomorph.ir.errors import InvalidModelError
from tests.frontends.onnx.hostile import FILES, MODELS, dim_text, external, model, with_weight

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["read", "mapped"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a data file; both ways of reading are tried."""
    if request.param == "mapped":
        monkeypatch.setattr(reader, "MAPPED_FROM", 1)
    home = tmp_path / "home"
    home.mkdir()
    (home / "w.bin").write_bytes(bytes(64))
    (tmp_path / "w.bin").write_bytes(bytes(64))
    return home


@pytest.mark.parametrize("name", MODELS)
def test_hostile_model(name: str, folder: Path):
    make, error, text = MODELS[name]
    path = folder / "model.onnx"
    path.write_bytes(make().SerializeToString())
    with pytest.raises(error, match=f"(?s)model.onnx: .*{text}"):
        read(path)


@pytest.mark.parametrize("name", FILES)
def test_no_model(name: str, folder: Path):
    data, text = FILES[name]
    path = folder / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(InvalidModelError, match=f"(?s)model.onnx: .*{text}"):
        read(path)


def test_truncated_anywhere(folder: Path):
    whole = with_weight(lambda _: None).SerializeToString()
    path = folder / "model.onnx"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(InvalidModelError, match=r"model\.onnx: "):
            read(path)


def test_names_that_are_not_text(folder: Path):
    data = model().SerializeToString().replace(b"Relu", b"Re\xffl")
    path = folder / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(InvalidModelError, match=r"model\.onnx: .*UTF-8"):
        read(path)


@pytest.mark.parametrize("text", ["1//0", "a % 0", "-" * 200_000 + "a", "(" * 5000, "(a+b)*" * 40])
def test_dims_that_are_no_arithmetic_are_names(text: str, folder: Path):
    path = folder / "model.onnx"
    path.write_bytes(dim_text(text).SerializeToString())
    assert [str(name) for name in read(path).symbols()] == [text]


def test_there_is_no_file(tmp_path: Path):
    with pytest.raises(InvalidModelError, match=r"no\.onnx: there is no such file"):
        read(tmp_path / "no.onnx")
    with pytest.raises(InvalidModelError, match="no file can have this name"):
        read("a\0b")
    with pytest.raises(InvalidModelError, match="a directory"):
        read(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
class TestSpecialFiles:
    """Opening a pipe blocks until somebody writes: none is ever waited for."""

    def test_the_model_itself(self, tmp_path: Path):
        os.mkfifo(tmp_path / "pipe.onnx")
        with pytest.raises(InvalidModelError, match="it is a pipe"):
            read(tmp_path / "pipe.onnx")
        with pytest.raises(InvalidModelError, match="it is a device"):
            read("/dev/zero")

    def test_its_data(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        path = folder / "model.onnx"
        os.mkfifo(folder / "pipe")
        path.write_bytes(external("pipe").SerializeToString())
        with pytest.raises(InvalidModelError, match="it is a pipe"):
            read(path)
        with socket.socket(socket.AF_UNIX) as server:
            monkeypatch.chdir(folder)
            server.bind("socket")
        path.write_bytes(external("socket").SerializeToString())
        with pytest.raises(InvalidModelError, match="cannot be opened"):
            read(path)

    def test_links(self, folder: Path):
        path = folder / "model.onnx"
        (folder / "inside.bin").symlink_to("w.bin")
        (folder / "outside.bin").symlink_to("../w.bin")
        (folder / "up").symlink_to("..")
        (folder / "loop").symlink_to("loop")
        path.write_bytes(external("inside.bin").SerializeToString())
        assert read(path).weights()[0].weight.numpy().tolist() == [0, 0, 0, 0]
        for location in ("outside.bin", "up/w.bin"):
            path.write_bytes(external(location).SerializeToString())
            with pytest.raises(InvalidModelError, match="link out of the model's folder"):
                read(path)
        path.write_bytes(external("loop").SerializeToString())
        with pytest.raises(InvalidModelError, match="cannot be opened"):
            read(path)

    def test_a_cache_made_of_links(self, tmp_path: Path):
        blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main"
        blobs.mkdir()
        snapshot.mkdir(parents=True)
        (blobs / "1f").write_bytes(external("model.data").SerializeToString())
        (blobs / "2f").write_bytes(np.arange(4, dtype=np.float32).tobytes())
        (snapshot / "model.onnx").symlink_to("../../blobs/1f")
        (snapshot / "model.data").symlink_to("../../blobs/2f")
        weight = read(snapshot / "model.onnx").weights()[0].weight
        assert weight.numpy().tolist() == [0, 1, 2, 3]

    def test_a_file_that_may_not_be_read(self, tmp_path: Path):
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        path = tmp_path / "model.onnx"
        path.write_bytes(model().SerializeToString())
        path.chmod(0)
        with pytest.raises(InvalidModelError, match="Permission denied"):
            read(path)


def test_data_that_changes_after_loading(folder: Path):
    path = folder / "model.onnx"
    path.write_bytes(external("w.bin").SerializeToString())
    weight = read(path).weights()[0].weight
    os.truncate(folder / "w.bin", 3)
    with pytest.raises(InvalidModelError, match=r"w\.bin: it changed since"):
        weight.numpy()


def test_a_message_given_by_itself_opens_no_file():
    with pytest.raises(InvalidModelError, match="cannot be found without the model's path"):
        read(external("w.bin"))
    assert len(read(model())) == len(read(model().SerializeToString())) == 1
