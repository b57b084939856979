"""The activation behind a fused operator: it is an operator of the standard, of one operand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir import schema
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.graph import Op
from isomorph.ir.ops._fused import PARAMETERS
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import evaluate

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

ACTIVATED = frozenset({(DOMAIN, "FusedConv"), (DOMAIN, "FusedGemm")})
"""Operators that have one."""
NAMED = {"HardSigmoid": ("alpha", "beta"), "LeakyRelu": ("alpha",)}
"""What the numbers of `activation_params` are, where the operator has attributes for them."""
OF_PRODUCTS = {
    "Celu": ("alpha",),
    "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Relu": (),
    "Selu": ("alpha", "gamma"),
    "Sigmoid": (),
    "Softplus": (),
    "Softsign": (),
    "Tanh": (),
    "ThresholdedRelu": ("alpha",),
}
"""Activations of FusedGemm, and which numbers each has to be given."""


@dataclass(frozen=True, slots=True)
class Activation:
    """An operator of the standard, and what it takes behind its first operand."""

    op: Op
    rest: tuple[float, ...] = ()

    def operands(self, x: Array) -> list[Any]:
        """All that the operator is given."""
        return [x, *(np.array(v, x.dtype) for v in self.rest)]

    def __call__(self, x: Array, *, wide: bool = False) -> Array:
        """The activation of sums, in their dtype."""
        return np.asarray(evaluate(self.op, self.operands(x), wide=wide)[0])


def activation_of(op: Op) -> Activation | None:
    """What a FusedConv or a FusedGemm applies to its sums; `None` for nothing.

    Raises:
        UnsupportedError: for one that no run time has.
    """
    name = str(op.attr("activation") or "")
    if not name:
        return None
    known = PARAMETERS if op.type == "FusedConv" else OF_PRODUCTS
    if name not in known:
        raise UnsupportedError(
            f"{op.where}: activation {name!r} of {op.type}; {', '.join(sorted(known))} are known"
        )
    if op.type == "FusedConv":
        numbers = tuple(cast("tuple[float, ...]", op.attr("activation_params") or ()))
        names = NAMED.get(name, ())
        rest = numbers[:2] if name == "Clip" else ()
        return Activation(_operator(op, name, dict(zip(names, numbers, strict=False))), rest)
    given = {n: op.attr(f"activation_{n}") for n in OF_PRODUCTS[name]}
    absent = [f"activation_{n}" for n, value in given.items() if value is None]
    if absent:
        raise UnsupportedError(f"{op.where}: activation {name} without {' and '.join(absent)}")
    return Activation(_operator(op, name, given))


def without_activation(op: Op) -> Op:
    """The same op, but that it gives the sums themselves."""
    kept = {k: v for k, v in op.attributes.items() if not k.startswith("activation")}
    return op.with_attributes(kept)


def _operator(op: Op, name: str, attributes: dict[str, Any]) -> Op:
    known = schema.canonical("", name)
    made = Op("", name, 1 if known is None else known.since, op.outputs, attributes)
    made.outputs = op.outputs
    return made
