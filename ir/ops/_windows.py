"""Sliding windows: the geometry that convolution and pooling share, in rules and in execution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isomorph.ir.dims import minimum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.dims import Dim, Expr

    Attributes = Callable[..., Any]
    Raise = Callable[[str], Exception]


@dataclass(frozen=True)
class Windows:
    """Windows over the spatial axes of an (N, C, spatial…) tensor.

    Attributes:
        kernel: taps along each axis; symbolic where the weights' shape is.
        strides, dilations: along each axis.
        begin, end: explicit padding; not what applies when `auto_pad` is SAME_UPPER or SAME_LOWER.
        auto_pad: `NOTSET`, `VALID`, `SAME_UPPER` or `SAME_LOWER`.
        ceil: round the number of windows up. Windows that would start in the padding at the end
            are dropped: AveragePool-22 and MaxPool-22 say so, and run times always did.
        error: makes the exception for a message.
    """

    kernel: tuple[Dim, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    auto_pad: str
    ceil: bool
    error: Raise

    @property
    def same(self) -> bool:
        """Whether the padding follows from the input's size."""
        return self.auto_pad.startswith("SAME")

    def extent(self, axis: int) -> Dim:
        """Elements that one window spans along an axis."""
        taps = self.kernel[axis]
        return None if taps is None else (taps - 1) * self.dilations[axis] + 1

    def count(self, axis: int, size: Dim) -> Dim:
        """How many windows fit along an axis of this size."""
        stride = self.strides[axis]
        if size is None:
            return None
        if self.same:
            return _ceil_div(size, stride)
        extent = self.extent(axis)
        if extent is None:
            return None
        begin, end = self.begin[axis], self.end[axis]
        span = size + (begin + end) - extent
        if not self.ceil:
            found = span // stride + 1
        else:
            found = _ceil_div(span, stride) + 1
            if not (isinstance(extent, int) and end + stride <= extent):
                found = minimum(found, _ceil_div(size + begin, stride))
        empty = size == 0 and span == -1
        if isinstance(span, int) and span < 0 and not empty:
            raise self.error(
                f"a window of {extent} elements does not fit spatial axis {axis}: "
                f"{size} elements padded by {begin} and {end}"
            )
        return found

    def counts(self, spatial: Sequence[Dim]) -> tuple[Dim, ...]:
        """The number of windows along every axis."""
        return tuple(self.count(a, s) for a, s in enumerate(spatial))

    def padding(self, spatial: Sequence[int]) -> list[tuple[int, int]]:
        """The padding at both ends of each axis of known size, as auto_pad means it."""
        if not self.same:
            return list(zip(self.begin, self.end, strict=True))
        found: list[tuple[int, int]] = []
        for axis, size in enumerate(spatial):
            count, extent = self.count(axis, size), self.extent(axis)
            if not isinstance(count, int) or not isinstance(extent, int):
                raise self.error(f"the kernel size along spatial axis {axis} is not known")
            total = max(0, (count - 1) * self.strides[axis] + extent - size)
            small, large = total // 2, total - total // 2
            found.append((small, large) if self.auto_pad == "SAME_UPPER" else (large, small))
        return found


def windows(
    attr: Attributes, kernel: Sequence[Dim], error: Raise, *, pooling: bool = False
) -> Windows:
    """Windows as an op's attributes describe them.

    Args:
        attr: reads an attribute: (name, default).
        kernel: taps along each axis.
        error: makes the exception for a message.
        pooling: whether `ceil_mode` applies.
    """
    rank = len(kernel)
    auto_pad = attr("auto_pad", "NOTSET") or "NOTSET"
    if auto_pad not in {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}:
        raise error(f"auto_pad is {auto_pad!r}; NOTSET, VALID, SAME_UPPER, SAME_LOWER are known")
    pads = per_axis(attr, "pads", 0, 2 * rank, error) if auto_pad == "NOTSET" else (0,) * 2 * rank
    return Windows(
        kernel=tuple(kernel),
        strides=per_axis(attr, "strides", 1, rank, error),
        dilations=per_axis(attr, "dilations", 1, rank, error),
        begin=pads[:rank],
        end=pads[rank:],
        auto_pad=auto_pad,
        ceil=pooling and bool(attr("ceil_mode", 0)),
        error=error,
    )


def per_axis(
    attr: Attributes, name: str, default: int, length: int, error: Raise
) -> tuple[int, ...]:
    """A list attribute of known length; an absent or empty one is all `default`."""
    given: tuple[int, ...] = tuple(attr(name, ()) or ())
    if not given:
        return (default,) * length
    if len(given) != length:
        raise error(f"{name} is {list(given)}, {length} numbers were expected")
    if default and any(v < 1 for v in given):
        raise error(f"{name} is {list(given)}, numbers above 0 were expected")
    return given


def numbers(*dims: Dim) -> list[int]:
    """Dims that are known to be numbers; ValueError names one that is not."""
    found = [dim for dim in dims if isinstance(dim, int)]
    if len(found) != len(dims):
        raise ValueError(f"a number was expected in place of {dims}")
    return found


def _ceil_div(value: int | Expr, divisor: int) -> int | Expr:
    return (value + (divisor - 1)) // divisor
