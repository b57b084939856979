"""What an operator is: shape rule, traits, tolerance class. One table per family in `ir/ops`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.context import Context
    from isomorph.ir.types import Type

    ShapeRule = Callable[[Context], tuple[Type | None, ...]]

Key = tuple[str, str]

FAMILIES = (
    "elementwise",
    "reduction",
    "movement",
    "indexing",
    "linear",
    "convolution",
    "pooling",
    "normalization",
    "recurrent",
    "control_flow",
    "attention",
    "loss",
    "quantized",
    "random",
    "sequence",
    "text",
    "signal",
    "image",
    "microsoft",
    "fused",
    "transformers",
    "ml",
)
"""Every family that has a table; a new family is one more word here and its files."""


class Tolerance(Enum):
    """How a run time's rounding is bounded (the formulas are in `isomorph.parity.tolerance`)."""

    EXACT = auto()
    """Bitwise: movement, comparison, integers, Where, Min/Max."""
    ELEMENTWISE = auto()
    """k ULP of the result, k given by `OpDef.ulps`, composed through conditioning."""
    DOT = auto()
    """γ_K |A||B|: products summed over K terms."""
    SUM = auto()
    """γ_K Σ|x|: plain sums and means."""
    SOFTMAX = auto()
    NORMALIZATION = auto()
    RECURRENT = auto()
    """Judged by the function's own conditioning over steps."""
    ATTENTION = auto()
    """Products, softmax and products again; rotations; recurrences over what was seen."""
    LOSS = auto()
    """Logarithms of a softmax, weighted and summed."""
    FOURIER = auto()
    """Sums over roots of unity, and the windows that go before them."""
    SAMPLING = auto()
    """Weighted elements from places that operands say: what an error of the place does counts."""
    SCORES = auto()
    """Products or votes summed to scores, and transformed; labels that the sums decide."""
    DISCONTINUOUS = auto()
    """Exact but for decisions whose margin lies within the operands' bound."""
    RANDOM = auto()
    CONTROL = auto()
    """No arithmetic of its own; judged inside its subgraphs."""


@dataclass(frozen=True, slots=True)
class OpDef:
    """An operator's own facts.

    Attributes:
        rule: result types from operand types, for the canonical version.
        tolerance: class of its rounding.
        ulps: for ELEMENTWISE, the rounded operations composed in one element.
        deterministic: same operands, same result.
        commutative: its two operands may be swapped.
        unpacks: its operand is stored in few bits on purpose, so it is not computed ahead.
        jumps: it rounds to integers on the way, so that a small error may make a large one.
    """

    rule: ShapeRule
    tolerance: Tolerance
    ulps: float = 1.0
    deterministic: bool = True
    commutative: bool = False
    unpacks: bool = False
    jumps: bool = False


Row = TypeVar("Row")


class Manifest(Generic[Row]):
    """An aspect: one literal table per family, found by name, loaded when first asked for.

    Family modules hold a dict in the attribute `table`; two rows for one key are an error.
    """

    def __init__(self, package: str, table: str, families: tuple[str, ...] = FAMILIES) -> None:
        self.package = package
        self.table = table
        self.families = families

    def get(self, key: Key) -> Row | None:
        """The row of an operator, `None` when the aspect has none for it."""
        return self.rows().get(key)

    def rows(self) -> dict[Key, Row]:
        """Every row of every family."""
        return cast("dict[Key, Row]", _load(self.package, self.table, self.families))

    def family(self, key: Key) -> str | None:
        """The family whose table has the key."""
        for name in self.families:
            if key in getattr(import_module(f"{self.package}.{name}"), self.table):
                return name
        return None


@cache
def _load(package: str, table: str, families: tuple[str, ...]) -> dict[Key, Any]:
    rows: dict[Key, Any] = {}
    owner: dict[Key, str] = {}
    for family in families:
        for key, row in getattr(import_module(f"{package}.{family}"), table).items():
            if key in rows:
                name = ".".join(filter(None, key))
                raise ValueError(f"{package}: {name} has rows in {owner[key]} and in {family}")
            rows[key], owner[key] = row, family
    return rows


OPS: Manifest[OpDef] = Manifest("isomorph.ir.ops", "OPS")
