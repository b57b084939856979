"""Input specifications: `images: float32[batch in 1..64, 1, 8, 8] in 0..1`, read into types.

The whole form is `name: dtype[dim, …] in low..high`. A dim is a number, a name, or arithmetic on
names (`2*n`), each with an optional range (`batch in 1..64`, `batch in 4..`, `batch in ..64`);
what follows the bracket is the range that the elements' values lie in.
"""

from __future__ import annotations

import math
import re
import reprlib
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn, cast

import ml_dtypes

from isomorph.ir.dims import Constraint, Dim, Expr, parse_dim
from isomorph.ir.errors import SpecError
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NAME = re.compile(r"[^\W\d][\w.]*")
_EXAMPLE = '["x: float32[batch, 3]"]'
_RANK = 64
_DIGITS = 400
_LARGEST = 2**63 - 1
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf)")
_ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int64",
    "long": "int64",
    "boolean": "bool",
    "str": "string",
}


@dataclass(frozen=True, slots=True)
class InputSpec:
    """What a user says of one input.

    Attributes:
        name: of the input; empty when the text gives none.
        type: element type and shape.
        constraints: from the ranges of its dims.
        domain: (low, high) of its elements, inclusive, or `None`.
    """

    name: str
    type: TensorType
    constraints: tuple[Constraint, ...] = ()
    domain: tuple[float, float] | None = None


def parse_specs(texts: Sequence[str] | str) -> list[InputSpec]:
    """Several specifications: a list of texts, or one text with `;` between them.

    Raises:
        SpecError: also for a name that is given twice, and for ranges of a dim that exclude each
            other.
    """
    found: list[InputSpec] = []
    for text in _listed(texts):
        spec = parse_spec(text)
        if spec.name and any(spec.name == s.name for s in found):
            raise SpecError(f"{text!r}: input {spec.name!r} is specified twice")
        found.append(spec)
    _check_ranges([c for spec in found for c in spec.constraints])
    return found


def _listed(texts: object) -> list[str]:
    if isinstance(texts, str):
        return [piece for piece in texts.split(";") if piece.strip()] or [texts]
    if not isinstance(texts, (list, tuple)):
        raise SpecError(
            f"inputs is {type(texts).__name__} {reprlib.repr(texts)}; a list of specifications "
            f"is expected, one for each input, as in {_EXAMPLE}"
        )
    return [_text(item) for item in cast("Sequence[object]", texts)]


def _text(item: object) -> str:
    if not isinstance(item, str):
        raise SpecError(
            f"an input specification is {type(item).__name__} {reprlib.repr(item)}; a text is "
            f"expected, as in {_EXAMPLE}"
        )
    return item


def _check_ranges(constraints: Sequence[Constraint]) -> None:
    """Raise SpecError for two ranges of the same dim that no size lies in."""
    lows: dict[str, Constraint] = {}
    highs: dict[str, Constraint] = {}
    for constraint in constraints:
        dim, bound = str(constraint.left), constraint.right
        if not isinstance(bound, int):
            continue
        known = lows.get(dim)
        if constraint.relation in (">=", "==") and (known is None or bound > _bound(known)):
            lows[dim] = constraint
        known = highs.get(dim)
        if constraint.relation in ("<=", "==") and (known is None or bound < _bound(known)):
            highs[dim] = constraint
    for dim, low in lows.items():
        high = highs.get(dim)
        if high is not None and _bound(low) > _bound(high):
            raise SpecError(
                f"no size of {dim} fits: {low} ({low.reason}) contradicts {high} ({high.reason}); "
                f"give {dim} ranges that overlap"
            )


def _bound(constraint: Constraint) -> int:
    assert isinstance(constraint.right, int)  # noqa: S101 - ranges are of numbers
    return constraint.right


def parse_spec(text: str) -> InputSpec:
    """One specification.

    Raises:
        SpecError: naming the text, the column, and what was expected there.
    """
    spec = _Reader(_text(text)).spec()
    _check_ranges(spec.constraints)
    return spec


class _Reader:
    """A position in the text, moved from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def spec(self) -> InputSpec:
        name = self._name()
        dtype = self._dtype()
        shape: list[Dim] = []
        constraints: list[Constraint] = []
        for dim, relations in self._dims():
            shape.append(dim)
            constraints += relations
        if len(shape) > _RANK:
            self._fail(f"{len(shape)} dims; numpy's arrays have at most {_RANK}")
        domain = self._domain(dtype)
        if self.at < len(self.text):
            self._fail("expected `in low..high` or the end")
        return InputSpec(name, TensorType(dtype, tuple(shape)), tuple(constraints), domain)

    def _name(self) -> str:
        colon, bracket = self.text.find(":"), self.text.find("[")
        if colon < 0 or 0 <= bracket < colon:
            self._space()
            return ""
        self._space()
        found = _NAME.match(self.text, self.at)
        if found is None or self.text[found.end() : colon].strip():
            self._fail("expected a name before `:`", found.end() if found else self.at)
        self.at = colon + 1
        return found.group()

    def _dtype(self) -> DType:
        self._space()
        found = _NAME.match(self.text, self.at)
        if found is None:
            self._fail("expected an element type such as `float32`")
        word = found.group()
        if word.upper() not in DType.__members__ or word != word.lower():
            if ":" not in self.text and re.match(r"\s+\w+\s*\[", self.text[found.end() :]):
                self._fail(f"expected `:` after the name `{word}`", found.end())
            known = [str(d) for d in DType]
            meant = _ALIASES.get(word.lower()) or next(
                iter(get_close_matches(word.lower(), known, n=1)), None
            )
            hint = f"; did you mean `{meant}`?" if meant else f"; known are {', '.join(known)}"
            self._fail(f"`{word}` is not an element type{hint}")
        self.at = found.end()
        self._space()
        if not self.text.startswith("[", self.at):
            self._fail(f"expected `[` and the dims of the shape, as in `{word}[batch, 3]`")
        self.at += 1
        return DType[word.upper()]

    def _dims(self) -> Iterator[tuple[Dim, list[Constraint]]]:
        start, depth = self.at, 0
        empty = True
        for position in range(self.at, len(self.text)):
            letter = self.text[position]
            depth += (letter in "([") - (letter == ")")
            if depth == 0 and letter in ",]":
                piece = self.text[start:position]
                if piece.strip() or not (empty and letter == "]"):
                    yield self._dim(start, piece)
                empty = False
                start = position + 1
                if letter == "]":
                    self.at = start
                    return
        self._fail("expected `]` after the dims", len(self.text))

    def _dim(self, start: int, piece: str) -> tuple[Dim, list[Constraint]]:
        at = start + len(piece) - len(piece.lstrip())
        if not piece.strip():
            self._fail("expected a dim: a number, a name, or arithmetic on names", at)
        body, word, span = _partition_in(piece)
        try:
            dim = parse_dim(body)
        except SpecError:
            self._fail(
                f"`{_cut(body.strip())}` is not a number, a name, or arithmetic on names", at
            )
        if isinstance(dim, int) and dim < 0:
            self._fail(f"dim {dim} is negative", at)
        if isinstance(dim, int) and dim > _LARGEST:
            self._fail(f"dim {reprlib.repr(dim)} is more than {_LARGEST}, the largest int64", at)
        if not word:
            return dim, []
        if not isinstance(dim, Expr):
            self._fail(f"dim {dim} is a number already; a range is for a name", at)
        low, high = self._range(span, start + len(body) + len(word), whole=True)
        for bound in (low, high):
            if -math.inf < bound < 0:
                self._fail(f"a range of {dim} with {bound}: no dim is negative", at)
            if _LARGEST < bound < math.inf:
                self._fail(f"a range of {dim} beyond {_LARGEST}, the largest int64", at)
        reason = f"declared in {self.text!r}"
        relations: list[Constraint] = []
        if low == high:
            return dim, [Constraint(dim, "==", int(low), reason)]
        if low > -math.inf:
            relations.append(Constraint(dim, ">=", int(low), reason))
        if high < math.inf:
            relations.append(Constraint(dim, "<=", int(high), reason))
        return dim, relations

    def _domain(self, dtype: DType) -> tuple[float, float] | None:
        rest = self.text[self.at :]
        if not rest.strip():
            self.at = len(self.text)
            return None
        body, word, span = _partition_in(rest)
        if body.strip() or not word:
            self._space()
            self._fail("expected `in low..high` or the end")
        start = self.at + len(body) + len(word)
        whole = dtype.is_integer or dtype is DType.BOOL
        low, high = self._range(span, start, whole=whole)
        if dtype is DType.STRING:
            self._fail("strings have no range", start)
        self._fits(dtype, low, high, start)
        self.at = len(self.text)
        return low, high

    def _fits(self, dtype: DType, low: float, high: float, start: int) -> None:
        """Fail when a range has numbers that the element type does not hold."""
        if dtype is DType.BOOL:
            least, most = 0, 1
        elif dtype.is_integer or dtype.is_float:
            kinds: Any = ml_dtypes
            limits = (kinds.finfo if dtype.is_float else kinds.iinfo)(dtype.numpy)
            number = float if dtype.is_float else int
            least, most = number(limits.min), number(limits.max)
        else:
            return
        for bound in (low, high):
            if math.isfinite(bound) and not least <= bound <= most:
                self._fail(f"{bound} is outside {dtype}, which holds {least}..{most}", start + 1)

    def _range(self, span: str, start: int, *, whole: bool) -> tuple[float, float]:
        low_text, dots, high_text = span.partition("..")
        if not dots or not (low_text.strip() or high_text.strip()):
            self._fail("expected a range such as `1..64`, `4..` or `..64`", start + 1)
        low = self._bound(low_text, start, -math.inf, whole)
        high = self._bound(high_text, start + len(low_text) + 2, math.inf, whole)
        if low > high:
            self._fail(f"the range is empty: {low_text.strip()} > {high_text.strip()}", start + 1)
        return low, high

    def _bound(self, text: str, start: int, absent: float, whole: bool) -> float:
        word = text.strip()
        if not word:
            return absent
        at = start + len(text) - len(text.lstrip())
        if not _NUMBER.fullmatch(word):
            self._fail(f"`{word}` is not a number", at)
        if whole and not re.fullmatch(r"[+-]?\d+", word):
            self._fail(f"`{word}` is not an integer", at)
        if len(word) > _DIGITS:
            self._fail(f"a number of {len(word)} digits", at)
        return int(word) if whole else float(word)

    def _space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _fail(self, what: str, at: int | None = None) -> NoReturn:
        column = (self.at if at is None else at) + 1
        raise SpecError(
            f"{_cut(self.text)!r}, column {column}: {what} "
            "(the form is `name: dtype[dim, …]`, as in `x: float32[batch in 1..64, 3] in 0..1`)"
        )


def _cut(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:150]} … {text[-40:]}"


def _partition_in(text: str) -> tuple[str, str, str]:
    """What stands before ` in `, the word with its spaces, and what stands after."""
    found = re.search(r"(?:^|\s)\s*in(?=\s|\.|$)", text)
    if found is None:
        return text, "", ""
    return text[: found.start()], found.group(), text[found.end() :]
