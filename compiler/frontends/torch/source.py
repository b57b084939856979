"""Where a node of a captured program came from: the user's own line, and the module's path."""

from __future__ import annotations

import inspect
import re
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from traceback import StackSummary
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.proxy import TracerBase

from isomorph.ir.source import Source

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from types import FrameType, TracebackType

_FRAME = re.compile(r'File "(.+?)", line (\d+), in (\S+)')
_TORCH = str(Path(torch.__file__).parent)
_OURS = str(Path(__file__).parents[1])
_FILTER = "_filter_traceback_frames"
"""The method of torch's tracers that decides which frames a node remembers."""
_FOREIGN = ("<frozen", "<string>", "<eval_with_key>", "contextlib.py")


def of_node(node: Any) -> Source:
    """The innermost line outside torch that made a node; the module's path where there is none."""
    line = of_stack(node.meta.get("stack_trace") or "")
    path = module_path(node)
    return Source(line.file or path, line.line, path or line.module)


def module_path(node: Any) -> str:
    """`layers.0.self_attn`, as `named_modules` calls it; empty for the root."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path, *_ = next(reversed(stack.values()))
    return str(path).removeprefix("L['self'].").removeprefix("L__self__.")


@lru_cache(maxsize=4096)
def of_stack(text: str) -> Source:
    """The innermost user frame of a printed stack."""
    for file, line, name in reversed(_FRAME.findall(text)):
        if is_users(file):
            return Source(file, int(line), name)
    return Source()


@contextmanager
def whole_stacks() -> Generator[None, None, None]:
    """Nodes made meanwhile remember every user frame, not only those called `forward`."""
    original = getattr(TracerBase, _FILTER, None)
    if original is None:
        yield
        return

    def users(self: Any, stack: StackSummary) -> StackSummary:
        kept: list[Any] = []
        for frame in stack:
            if frame.filename.startswith(_OURS) and frame.name == "capture":
                kept.clear()
            elif is_users(frame.filename):
                kept.append(frame)
        return StackSummary.from_list(kept)

    setattr(TracerBase, _FILTER, users)
    try:
        yield
    finally:
        setattr(TracerBase, _FILTER, original)


def of_traceback(traceback: TracebackType | None) -> Source:
    """The innermost user frame of an exception."""
    found = Source()
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code.co_filename):
            found = Source(code.co_filename, traceback.tb_lineno, code.co_name)
        traceback = traceback.tb_next
    return found


def of_caller() -> Source:
    """The innermost user frame that is running now, below the call that started the capture."""
    for frame in _frames(inspect.currentframe()):
        file = frame.f_code.co_filename
        if file.startswith(_OURS):
            continue
        if is_users(file):
            return Source(file, frame.f_lineno, frame.f_code.co_name)
    return Source()


@lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Whether a file is neither torch's nor ours nor generated."""
    if file.startswith((_TORCH, _OURS)):
        return False
    return not any(part in file for part in _FOREIGN)


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_OURS) and frame.f_code.co_name == "capture":
            return
        yield frame
        frame = frame.f_back
