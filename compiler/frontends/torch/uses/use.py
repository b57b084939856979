"""One use of torch's operators: a function, and what it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class Use:
    """A function of tensors.

    Attributes:
        name: of the use.
        function: pure; it must not keep what it is given.
        specs: of its inputs, with ranges where it is defined only there.
    """

    name: str
    function: Callable[..., Any]
    specs: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


X = "x: float32[batch, 6]"
Y = "y: float32[batch, 6]"
SOME = "x: float32[batch in 1.., 6]"
"""Where torch gives NaN for no elements at all, and onnxruntime a number."""
I = "i: int64[batch, 6] in 0..5"  # noqa: E741 - an index
M = "m: bool[batch, 6]"
N = "n: bool[batch, 6]"
IMG = "x: float32[batch, 4, 8, 8]"
CUBE = "x: float32[batch, 2, 4, 4, 4]"
SEQ = "x: float32[batch, seq, 6]"
TIME = "x: float32[batch, 4, t]"
ROW = "x: float32[batch, 4, 8]"


def inside(low: float, high: float, name: str = "x") -> str:
    """A matrix whose elements are in a range."""
    return f"{name}: float32[batch, 6] in {low}..{high}"


def use(name: str, function: Function, *specs: str) -> Use:
    """A use; of one matrix, if nothing else is said."""
    return Use(name, function, specs or (X,))


def named(functions: tuple[Any, ...], *specs: str) -> list[Use]:
    """One use of each function, under its own name."""
    return [use(f.__name__, f, *specs) for f in functions]
