"""The cache of built files: right content, whatever happened to the file."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from isomorph.codegen.cache import Cache


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ISOMORPH_CACHE", str(tmp_path))
    return Cache("things", ".bin")


def test_a_file_is_made_once(cache):
    made = []

    def make() -> bytes:
        made.append(1)
        return b"content"

    assert cache.get(("a", "b"), make) == b"content"
    assert cache.get(("a", "b"), make) == b"content"
    assert len(made) == 1
    assert cache.get(("ab",), make) == b"content"
    assert len(made) == 2


@pytest.mark.parametrize("damage", [b"", b"short", b"content but the wrong trailer" + bytes(32)])
def test_a_damaged_file_is_made_again(cache, damage):
    path = cache.path(("k",), lambda: b"content")
    path.write_bytes(damage)
    assert cache.get(("k",), lambda: b"content") == b"content"


def test_many_at_once_leave_one_whole_file(cache):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cache.get(("k",), lambda: b"x" * 100_000), range(32)))
    assert set(found) == {b"x" * 100_000}
    assert len(list(cache.folder.iterdir())) == 1


def test_a_failure_leaves_nothing(cache):
    def fail() -> bytes:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cache.get(("k",), fail)
    assert not cache.folder.exists() or not list(cache.folder.iterdir())
