"""Writing a rewrite as an expression: ops, constants and casts around the op being replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir import schema
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.infer import infer_op
from isomorph.ir.merge import merge
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import InexpressibleError, require_types
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isomorph.ir.context import Content
    from isomorph.ir.graph import Attribute, Op, Value
    from isomorph.ir.patch import Patch


class Build:
    """Makes canonical ops in place of one op; every value it makes is typed at once."""

    def __init__(self, op: Op, patch: Patch) -> None:
        self.old = op
        self.patch = patch
        self._contents: dict[Value, Content] = {}

    def __call__(self, type: str, *inputs: Value | None, **attributes: Attribute) -> Value:  # noqa: A002
        """A new op of one result."""
        return self.op(type, inputs, attributes)[0]

    def op(
        self,
        type: str,  # noqa: A002
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Attribute] | None = None,
        outputs: int = 1,
    ) -> tuple[Value, ...]:
        """A new op of several results; InexpressibleError where it forbids an element type."""
        known = schema.canonical("", type)
        for index, value in enumerate(inputs):
            if known is None or value is None or not isinstance(value.type, TensorType):
                continue
            if not known.allows(index, value.type.dtype):
                raise InexpressibleError(f"{type} does not allow {value.type.dtype}")
        made = self.patch.op(type, inputs, attributes, outputs=outputs)
        try:
            infer_op(made, self.patch.graph, self._contents)
        except TypeInferenceError as error:
            raise InexpressibleError(str(error)) from None
        return made.results

    def dtype(self, index: int = 0) -> DType:
        """Element type of an operand of the old op; InexpressibleError when it is not known."""
        value = self.old.input(index)
        if value is None or not isinstance(value.type, TensorType):
            raise InexpressibleError(
                f"{self.old.type}-{self.old.version}: the dtype of operand {index} is unknown",
                "infer types first",
            )
        return value.type.dtype

    def rank(self, index: int = 0) -> int:
        """Rank of an operand of the old op; InexpressibleError when it is not known."""
        value = self.old.input(index)
        rank = value.type.rank if value is not None and isinstance(value.type, TensorType) else None
        if rank is None:
            raise InexpressibleError(
                f"{self.old.type}-{self.old.version}: the rank of operand {index} is unknown",
                "state the shapes of the model's inputs",
            )
        return rank

    def operand(self, index: int = 0) -> Value:
        """An operand of the old op that its definition requires."""
        value = self.old.input(index)
        if value is None:
            raise InexpressibleError(f"{self.old.type}: operand {index} is absent")
        return value

    def const(self, number: Any, dtype: DType) -> Value:
        """A constant scalar (or array), rounded to the element type."""
        return self.patch.weight(Weight.of(np.asarray(number).astype(dtype.numpy), dtype))

    def ints(self, *numbers: int) -> Value:
        """A constant int64 vector, such as axes."""
        return self.patch.weight(Weight.of(np.array(numbers, np.int64), DType.INT64))

    def exact(self, number: float, dtype: DType) -> Value:
        """A constant scalar that, where the element type cannot hold it, is a sum of two.

        In the element type the sum is the rounded number; in float64 it has twice its digits.
        """
        head = np.asarray(number, np.float64).astype(dtype.numpy)
        rest = number - float(head)
        if not rest:
            return self.const(head, dtype)
        return self("Add", self.const(head, dtype), self.const(rest, dtype))

    def cast(self, value: Value, dtype: DType) -> Value:
        """The value in another element type; itself when it has that already."""
        if isinstance(value.type, TensorType) and value.type.dtype is dtype:
            return value
        return self("Cast", value, to=dtype.value)

    def done(self, *results: Value | None) -> None:
        """Let these take the place of the old op's results, in order; the old op goes."""
        for before, after in zip(self.old.outputs, results, strict=False):
            if before is not None and after is not None:
                if before.type is not None:
                    known = after.type
                    after.type = before.type if known is None else merge(before.type, known)
                self.patch.replace(before, after)
        self.patch.remove(self.old)


def restate(
    op: Op,
    patch: Patch,
    version: int,
    inputs: Sequence[Value | None] | None = None,
    attributes: Mapping[str, Attribute] | None = None,
) -> None:
    """Put the same operator in another version in an op's place, with other operands or attributes.

    Absent operands at the end are dropped where the version allows it.

    Raises:
        InexpressibleError: when that version does not allow the element type of an operand or
            result.
    """
    given = list(op.inputs if inputs is None else inputs)
    known = schema.schema(op.domain, op.type, version)
    least = 0 if known is None else known.min_inputs
    while len(given) > least and given[-1] is None:
        given.pop()
    require_types(op, version, given)
    made = patch.op(
        op.type,
        given,
        op.attributes if attributes is None else attributes,
        outputs=[None if v is None else v.name for v in op.outputs],
        domain=op.domain,
        version=version,
        captures=op.captures,
    )
    patch.replace_op(op, made)
