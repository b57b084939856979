"""What each ATen operator becomes: one literal table per family, keyed by overload.

A rule gets the context and the operator's own arguments (tensors as values, sizes as dims) and
returns a value, or a tuple of them. It never decomposes what ONNX has whole. `NotLowered` marks a
use that has no ONNX form; it becomes a finding with the user's line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

Rule = Callable[..., Any]

FAMILIES = (
    "elementwise",
    "activation",
    "reduction",
    "movement",
    "creation",
    "indexing",
    "linear",
    "convolution",
    "pooling",
    "normalization",
    "attention",
    "recurrent",
    "image",
    "sorting",
)

TRANSPOSED = {
    "aten.linear.default": 1,
    "aten.t.default": 0,
    "aten.numpy_T.default": 0,
}
"""Operators that read one of their arguments the other way round, where it is a weight."""

UNREAD = ("aten.gru.input", "aten.lstm.input", "aten.rnn_relu.input", "aten.rnn_tanh.input")
"""Operators that take weights as they are in the module, and store them rearranged."""


@cache
def rules() -> dict[str, Rule]:
    """Every row of every family; two rows for one overload are an error."""
    rows: dict[str, Rule] = {}
    for family in FAMILIES:
        table: dict[str, Rule] = import_module(f"{__name__}.{family}").ATEN
        for key, rule in table.items():
            if key in rows:
                raise ValueError(f"{__name__}.{family}: a second row for {key}")
            rows[key] = rule
    return rows
