"""One function over many names, in processes that are renewed, and that may die of one of them."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    T = TypeVar("T")

RENEWED = 100
"""Names after which the processes are new ones."""


def each(
    function: Callable[[str], T], names: Iterable[str], workers: int, *, forked: bool = False
) -> Iterator[tuple[str, T | None]]:
    """Each name with what the function makes of it, as they come; None where it kills its process.

    What a process that died may have been at is tried again, alone. Forked processes have all that
    this one has loaded: for a program that has started no thread, and no run time.
    """
    pool = partial(ProcessPoolExecutor, mp_context=get_context("fork" if forked else "spawn"))
    left = deque(names)
    while left:
        chunk = [left.popleft() for _ in range(min(RENEWED, len(left)))]
        done = set[str]()
        try:
            for name, answer in _pooled(pool(workers), function, chunk):
                done.add(name)
                yield name, answer
        except BrokenProcessPool:
            rest = [name for name in chunk if name not in done]
            begun = workers + 1  # as many as a pool hands out before one of them is done
            for name in rest[:begun]:
                yield name, _alone(pool(1), function, name)
            left.extendleft(reversed(rest[begun:]))


def _pooled(
    pool: ProcessPoolExecutor, function: Callable[[str], T], names: list[str]
) -> Iterator[tuple[str, T]]:
    with pool:
        futures = {pool.submit(function, name): name for name in names}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _alone(pool: ProcessPoolExecutor, function: Callable[[str], T], name: str) -> T | None:
    try:
        return next(_pooled(pool, function, [name]))[1]
    except BrokenProcessPool:
        return None
