"""Recurrent layers, kept whole at capture.

torch runs them step by step on symbolic tensors, which fixes the number of steps. While a module is
captured only their shapes are computed; the captured program then has one operator per stack.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from isomorph.frontends.array.structure import is_many

if TYPE_CHECKING:
    from collections.abc import Generator

_KEY = torch._C.DispatchKey.CompositeImplicitAutograd  # noqa: SLF001 - torch's name for "in terms of others"


@contextmanager
def kept() -> Generator[None, None, None]:
    """Recurrent layers are not unrolled while this lasts."""
    aten = torch.ops.aten
    operators = (aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input)
    before = [dict(op.py_kernels) for op in operators]
    for op in operators:
        op.py_kernels.clear()
        op.py_kernels[_KEY] = _shapes
        op._dispatch_cache.clear()  # noqa: SLF001 - it remembers the kernels that were there
    try:
        yield
    finally:
        for op, kernels in zip(operators, before, strict=True):
            op.py_kernels.clear()
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()  # noqa: SLF001 - as above


def _shapes(x: Any, hx: Any, *rest: Any) -> Any:
    """(outputs, final states…): as wide as the states of all directions together."""
    states = list(hx) if is_many(hx) else [hx]
    bidirectional = rest[5]
    width = states[0].shape[-1] * (2 if bidirectional else 1)
    return (x.new_empty((*x.shape[:-1], width)), *(s.new_empty(s.shape) for s in states))
