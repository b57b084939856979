"""A symbolic link at the place of a model stays, and the file that it points at is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isomorph.exporters.onnx.atomic import WriteError
from isomorph.exporters.onnx.writer import stage, write
from isomorph.frontends.onnx.reader import read
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def graph() -> Graph:
    made = Graph("g")
    x = made.add_input("x", TensorType(DType.FLOAT32, (4096,)))
    w = made.add_weight(Weight.of(np.ones(4096, np.float32)), "w")
    made.outputs = [made.add_op("Add", [x, w], outputs=["y"]).output]
    made.outputs[0].type = x.type
    return made


def listed(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_its_file_is_written_and_the_link_stays(graph: Graph, tmp_path: Path):
    home, there = tmp_path / "home", tmp_path / "there"
    home.mkdir()
    there.mkdir()
    link, file = home / "latest.onnx", there / "v3.onnx"
    file.write_bytes(b"old")
    link.symlink_to(file)
    result = write(graph, link)
    assert link.is_symlink()
    assert result.paths == (file,)
    assert [v.name for v in read(link).outputs] == ["y"]
    assert listed(home) == {"latest.onnx"}
    assert listed(there) == {"v3.onnx"}


def test_links_to_links_and_to_what_is_not_there_yet(graph: Graph, tmp_path: Path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("new.onnx")
    write(graph, tmp_path / "a")
    assert (tmp_path / "a").is_symlink()
    assert (tmp_path / "b").is_symlink()
    assert not (tmp_path / "new.onnx").is_symlink()
    assert len(read(tmp_path / "a")) == 1


def test_what_is_discarded_leaves_the_old_file(graph: Graph, tmp_path: Path):
    file = tmp_path / "old.onnx"
    file.write_bytes(b"old")
    (tmp_path / "link").symlink_to(file)
    stage(graph, tmp_path / "link").discard()
    assert file.read_bytes() == b"old"
    assert listed(tmp_path) == {"old.onnx", "link"}


def test_data_goes_beside_the_file_where_the_link_is_there_too(graph: Graph, tmp_path: Path):
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    write(graph, tmp_path / "link.onnx", external=True)
    for name in ("link.onnx", "m.onnx"):
        (weight,) = read(tmp_path / name).weights()
        assert weight.weight.numpy().sum() == 4096


def test_data_that_nobody_would_find_is_refused(graph: Graph, tmp_path: Path):
    there = tmp_path / "there"
    there.mkdir()
    (tmp_path / "link.onnx").symlink_to(there / "m.onnx")
    with pytest.raises(WriteError, match=r"link\.onnx: it is a symbolic link to .*m\.onnx"):
        write(graph, tmp_path / "link.onnx", external=True)
    assert listed(there) == set()
    assert listed(tmp_path) == {"there", "link.onnx"}


def test_a_circle_is_refused(graph: Graph, tmp_path: Path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(WriteError, match="symbolic link leads"):
        write(graph, tmp_path / "a")
    assert listed(tmp_path) == {"a", "b"}
