"""Whatever a file holds, reading it ends in a graph or in one typed error that names the file."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.exporters.onnx.faithful import write_as_read
from isomorph.exporters.onnx.writer import ExportBlocked, to_proto
from isomorph.frontends.onnx import reader
from isomorph.frontends.onnx.reader import read
from isomorph.ir.errors import InvalidModelError
from isomorph.ir.text import to_text
from tests import hostile_page
from tests.frontends.onnx.constructs import CONSTRUCTS
from tests.frontends.onnx.hostile import dim_text, external, model, with_weight
from tests.frontends.onnx.hostile_table import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import onnx


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


ROWS = [(group, name) for group, rows in HOSTILE.items() for name in rows]


@pytest.mark.parametrize(("group", "name"), ROWS, ids=[name for _, name in ROWS])
def test_hostile_file(group: str, name: str, folder: Path):
    make, error, text = HOSTILE[group][name]
    made = make()
    path = folder / "model.onnx"
    path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    if error is None:
        read(path)
        return
    with pytest.raises(error, match=f"(?s)model.onnx: .*{text}") as caught:
        read(path)
    assert len(str(caught.value)) < 5000


IN_MEMORY = ("nesting and size", "functions", "names and order", "tensors")


@pytest.mark.parametrize(("group", "name"), [r for r in ROWS if r[0] in IN_MEMORY])
def test_hostile_message(group: str, name: str):
    make, error, text = HOSTILE[group][name]
    made = make()
    if error is None:
        read(made)
        return
    with pytest.raises(error, match=f"(?s)given: .*{text}"):
        read(made)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of address space is Linux's")
def test_all_of_them_in_little_memory_and_time():
    """In one process that may come to need 512 MiB, the limits of what is read included."""
    program = """
import resource, time
from tests.frontends.onnx.hostile_table import HOSTILE
from isomorph.frontends.onnx.reader import read
from isomorph.ir.errors import InvalidModelError, UnsupportedError
made = {n: m() for rows in HOSTILE.values() for n, (m, _, _) in rows.items()}
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (512 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for name, model in made.items():
    start = time.process_time()
    try:
        read(model)
    except (InvalidModelError, UnsupportedError):
        pass
    took = time.process_time() - start
    if took > 5:
        print(f"{name}: {took:.1f} s")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_strings_that_are_not_text(tmp_path: Path):
    """Every string of every construct, one after the other, is not UTF-8."""
    path = tmp_path / "model.onnx"
    outcomes = Counter[bool]()
    for make in CONSTRUCTS.values():
        for data in with_bad_text(make()):
            path.write_bytes(data)
            try:
                graph = read(path)
            except InvalidModelError as error:
                assert r"\xff@\xff" in str(error), error  # noqa: PT017
                outcomes[False] += 1
            else:
                to_text(graph)
                with suppress(ExportBlocked):  # functions of another opset
                    to_proto(graph).SerializeToString()
                write_as_read(read(path, keep_functions=True), tmp_path / "out.onnx")
                outcomes[True] += 1
    assert min(outcomes.values()) > 30


def with_bad_text(model: onnx.ModelProto) -> Iterator[bytes]:
    """The model as often as it has strings, one of them other bytes each time."""
    stack: list[Any] = [model]
    while stack:
        message = stack.pop()
        for field, value in message.ListFields():
            if field.message_type is not None:
                stack.extend(value if field.is_repeated else [value])
            elif field.type == field.TYPE_STRING and field.is_repeated:
                for index, kept in enumerate(list(value)):
                    value[index] = "\u007f@\u007f"
                    yield model.SerializeToString().replace(b"\x7f@\x7f", b"\xff@\xff")
                    value[index] = kept
            elif field.type == field.TYPE_STRING:
                setattr(message, field.name, "\u007f@\u007f")
                yield model.SerializeToString().replace(b"\x7f@\x7f", b"\xff@\xff")
                setattr(message, field.name, value)


def test_truncated_anywhere(folder: Path):
    whole = with_weight(lambda _: None).SerializeToString()
    path = folder / "model.onnx"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(InvalidModelError, match=r"model\.onnx: "):
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

    def test_hard_links_are_files_of_the_folder(self, folder: Path):
        (folder / "hard.bin").hardlink_to(folder.parent / "w.bin")
        (folder / "model.onnx").write_bytes(external("hard.bin").SerializeToString())
        assert len(read(folder / "model.onnx").weights()) == 1

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


def test_the_page_that_lists_them_is_current():
    found = hostile_page.PAGE.read_text("utf-8")
    assert found == hostile_page.page(hostile_page.by_hand()), "python -m tests.hostile_page"
