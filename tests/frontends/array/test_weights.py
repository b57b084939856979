"""Strict loading: the right tensors lazily, or every mismatch at once, or one clear sentence."""

import contextlib
import json
import os
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save, save_file

from isomorph.frontends.array.weights import WeightsError, load_strict
from isomorph.ir.errors import IsomorphError

SHAPES = {"conv.weight": (2, 1, 3, 3), "conv.bias": (2,), "scale": (), "none": (0, 4)}


def tensors() -> dict[str, Any]:
    return {
        "conv.weight": np.arange(18, dtype=np.float32).reshape(2, 1, 3, 3),
        "conv.bias": np.float32([-1, 2]),
        "scale": np.array(3, np.float32),
        "none": np.zeros((0, 4), np.float32),
    }


def stored(path: Path, held: dict[str, Any]) -> Path:
    save_file(held, path)
    return path


def raw(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: str, shape: list[int], start: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "w.safetensors"


def test_returns_the_tensors_in_the_order_asked_for(file: Path) -> None:
    loaded = load_strict(stored(file, tensors()), SHAPES)
    assert list(loaded) == list(SHAPES)
    for name, expected in tensors().items():
        assert loaded[name].dtype == np.float32
        np.testing.assert_array_equal(loaded[name], expected)
        assert loaded[name].shape == expected.shape


def test_arrays_are_read_only_views_of_one_map(file: Path) -> None:
    loaded = load_strict(str(stored(file, tensors())), SHAPES)
    assert not any(array.flags.owndata or array.flags.writeable for array in loaded.values())
    held = {name: array for name, array in loaded.items() if array.size}
    gaps = {array.ctypes.data - held["scale"].ctypes.data for array in held.values()}
    assert max(map(abs, gaps)) < file.stat().st_size


def test_a_file_renamed_over_the_old_one_leaves_loaded_arrays_alone(file: Path) -> None:
    loaded = load_strict(stored(file, tensors()), SHAPES)
    other = stored(file.with_name("new"), {"conv.bias": np.zeros(2, np.float32)})
    try:
        other.replace(file)
    except PermissionError:
        pytest.skip("this platform does not rename over a mapped file")
    np.testing.assert_array_equal(loaded["conv.bias"], [-1, 2])


def test_all_problems_are_in_one_error(file: Path) -> None:
    held = tensors()
    held["conv.wieght"] = held.pop("conv.weight")
    held["conv.bias"] = np.zeros((2, 1), np.float64)
    held["scale"] = np.array(3, np.float16)
    held["optimizer"] = np.zeros(1, np.int64)
    with pytest.raises(WeightsError) as caught:
        load_strict(stored(file, held), SHAPES)
    found = {(p.kind, p.name, p.expected, p.found, p.suggestion) for p in caught.value.problems}
    assert found == {
        ("missing", "conv.weight", "float32[2, 1, 3, 3]", "nothing", "conv.wieght"),
        ("unused", "conv.wieght", "nothing", "float32[2, 1, 3, 3]", "conv.weight"),
        ("unused", "optimizer", "nothing", "int64[1]", None),
        ("shape", "conv.bias", "[2]", "[2, 1]", None),
        ("dtype", "conv.bias", "float32", "float64", None),
        ("dtype", "scale", "float32", "float16", None),
    }
    text = str(caught.value)
    assert text.startswith(f"{file}: 6 problems with the weights\n")
    assert all(str(problem) in text for problem in caught.value.problems)
    assert "did you mean conv.wieght?" in text
    assert isinstance(caught.value, IsomorphError)


def test_one_problem_is_singular(file: Path) -> None:
    with pytest.raises(WeightsError, match=r"1 problem with.*\n  unused   b: expected nothing"):
        load_strict(stored(file, {"b": np.zeros(1, np.float32)}), {})


def test_dtypes_other_than_the_default(file: Path) -> None:
    half = np.array([1, 2], ml_dtypes.bfloat16)
    file.write_bytes(
        raw(
            {"f": entry("F32", [1], 0, 4), "h": entry("BF16", [2], 4, 8)},
            np.float32([7]).tobytes() + half.tobytes(),
        )
    )
    loaded = load_strict(file, {"f": (1,), "h": (2,)}, dtypes={"h": ml_dtypes.bfloat16})
    np.testing.assert_array_equal(loaded["h"], half)
    with pytest.raises(WeightsError, match="dtype    h: expected float32, found bfloat16"):
        load_strict(file, {"f": (1,), "h": (2,)})


def test_unaligned_tensors_are_read(file: Path) -> None:
    data = b"\x05" + np.float32([1.5]).tobytes()
    file.write_bytes(raw({"u": entry("U8", [1], 0, 1), "f": entry("F32", [1], 1, 5)}, data))
    assert load_strict(file, {"u": (1,), "f": (1,)}, dtypes={"u": np.uint8})["f"][0] == 1.5


def test_a_dtype_that_numpy_lacks_is_a_problem_like_any_other(file: Path) -> None:
    file.write_bytes(raw({"q": entry("F4", [4], 0, 2)}, b"ab"))
    with pytest.raises(WeightsError, match="dtype    q: expected float32, found F4"):
        load_strict(file, {"q": (4,)})


def test_a_dtype_for_a_name_without_a_shape_is_a_bad_call(file: Path) -> None:
    with pytest.raises(ValueError, match="'h'"):
        load_strict(stored(file, tensors()), SHAPES, dtypes={"h": np.float16})


WHOLE = save(tensors())
BROKEN = {
    "empty": b"",
    "half a header": WHOLE[:20],
    "half the data": WHOLE[:-4],
    "trailing bytes": WHOLE + b"x",
    "pickle": b"\x80\x04\x95" * 40,
    "header longer than memory": struct.pack("<Q", 2**62) + b"{}",
    "no JSON": raw(b"abcd"),
    "deep JSON": raw(b"[" * 100_000),
    "overlapping tensors": raw(
        {"a": entry("F32", [2], 0, 8), "b": entry("F32", [2], 0, 8)}, bytes(8)
    ),
    "size that overflows": raw({"a": entry("F32", [2**40, 2**40], 0, 8)}, bytes(8)),
    "negative dim": raw({"a": entry("F32", [-2], 0, 8)}, bytes(8)),
    "reversed offsets": raw({"a": entry("F32", [2], 8, 0)}, bytes(8)),
    "unknown dtype": raw({"a": entry("X9", [2], 0, 8)}, bytes(8)),
    "escape codes": raw({"a": entry("\x1b[31m", [2], 0, 8)}, bytes(8)),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_one_clear_sentence(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(WeightsError) as caught:
        load_strict(file, SHAPES)
    text = str(caught.value)
    assert text.startswith(f"{file}: is not a whole safetensors file (")
    assert text.isprintable()
    assert len(text) < len(str(file)) + 200
    assert caught.value.problems == ()
    assert caught.value.path == file


def test_what_is_not_a_readable_file_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no such file"):
        load_strict(tmp_path / "absent.safetensors", SHAPES)
    with pytest.raises(WeightsError, match="not a regular file"):
        load_strict(tmp_path, SHAPES)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(WeightsError, match="not a regular file"):
        load_strict(pipe, SHAPES)


def test_names_from_the_file_cannot_write_to_the_terminal(file: Path) -> None:
    hostile = {"\x1b[2Jconv.weight": np.zeros(1, np.float32), "n" * 9999: np.zeros(1, np.float32)}
    with pytest.raises(WeightsError) as caught:
        load_strict(stored(file, hostile), {"conv.weight": (1,)})
    assert all(line.isprintable() for line in str(caught.value).split("\n"))
    assert len(str(caught.value)) < 2000
    assert {p.name for p in caught.value.problems} == {"conv.weight", *hostile}


def test_thousands_of_problems_stay_quick_and_readable(file: Path) -> None:
    held = {f"layer.{i}": np.zeros(1, np.float32) for i in range(2000)}
    with pytest.raises(WeightsError, match=r"… and 3900 more") as caught:
        load_strict(stored(file, held), {f"model.layer.{i}": (1,) for i in range(2000)})
    assert len(caught.value.problems) == 4000


@given(data=st.data())
def test_any_damage_is_a_weights_error_or_harmless(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "damaged.safetensors"
    damaged = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    file.unlink(missing_ok=True)
    file.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    with contextlib.suppress(WeightsError):
        loaded = load_strict(file, SHAPES)
        assert {name: array.shape for name, array in loaded.items()} == SHAPES
