"""training: one step of an optimizer, for any number of tensors (ai.onnx.preview.training-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build
from isomorph.ir.types import DType
from isomorph.ir.versions import InexpressibleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Rewrite

    Step = Callable[["Work", list[Value]], list[Value]]

DOMAIN = "ai.onnx.preview.training"


class Work:
    """One op on its way into a patch: its rate and its count, as floats."""

    def __init__(self, op: Op, patch: Patch) -> None:
        self.op = op
        self.build = Build(op, patch)
        self.dtype = self.build.dtype(2)
        self.rate = self.build.cast(self.build.operand(0), self.dtype)
        self.count = self.build.operand(1)

    def number(self, value: float) -> Value:
        """A constant."""
        return self.build.const(value, self.dtype)

    def attr(self, name: str) -> float:
        """A factor of the op."""
        return float(self.op.attr(name))

    def times(self, value: Value, factor: float) -> Value:
        """A tensor times a constant."""
        return self.build("Mul", value, self.number(factor))

    def regular(self, x: Value, gradient: Value) -> Value:
        """The gradient of the loss and of the norm's square."""
        return self.build("Add", self.times(x, self.attr("norm_coefficient")), gradient)

    def begun(self) -> Value:
        """Whether this is not the first step."""
        return self.build("Greater", self.count, self.build.const(0, DType.INT64))


def _momentum(work: Work, given: list[Value]) -> list[Value]:
    build, (x, gradient, speed) = work.build, given
    regular = work.regular(x, gradient)
    beta = build("Where", work.begun(), work.number(work.attr("beta")), work.number(1))
    after = build("Add", work.times(speed, work.attr("alpha")), build("Mul", beta, regular))
    mode = str(work.op.attr("mode"))
    if mode not in {"standard", "nesterov"}:
        raise InexpressibleError(f"its mode is {mode!r}")
    move = after
    if mode == "nesterov":
        move = build("Add", regular, work.times(after, work.attr("alpha")))
    return [build("Sub", x, build("Mul", work.rate, move)), after]


def _adagrad(work: Work, given: list[Value]) -> list[Value]:
    build, (x, gradient, squares) = work.build, given
    decayed = work.times(build.cast(work.count, work.dtype), work.attr("decay_factor"))
    rate = build("Div", work.rate, build("Add", decayed, work.number(1)))
    regular = work.regular(x, gradient)
    after = build("Add", squares, build("Mul", regular, regular))
    spread = build("Add", build("Sqrt", after), work.number(work.attr("epsilon")))
    return [build("Sub", x, build("Div", build("Mul", rate, regular), spread)), after]


def _adam(work: Work, given: list[Value]) -> list[Value]:
    build, (x, gradient, speed, squares) = work.build, given
    alpha, beta = work.attr("alpha"), work.attr("beta")
    regular = work.regular(x, gradient)
    moved = build("Add", work.times(speed, alpha), work.times(regular, 1 - alpha))
    grown = build(
        "Add", work.times(squares, beta), work.times(build("Mul", regular, regular), 1 - beta)
    )
    spread = build("Add", build("Sqrt", grown), work.number(work.attr("epsilon")))
    one, count = work.number(1), build.cast(work.count, work.dtype)
    left, right = (build("Sub", one, build("Pow", work.number(v), count)) for v in (alpha, beta))
    adjusted = build("Div", build("Mul", work.rate, build("Sqrt", right)), left)
    rate = build("Where", work.begun(), adjusted, work.rate)
    after = build("Sub", x, build("Div", build("Mul", rate, moved), spread))
    return [work.times(after, 1 - work.attr("norm_coefficient_post")), moved, grown]


def _for_each(step: Step, kinds: int) -> Rewrite:
    """A step for every tensor; operands and results come kind by kind, `kinds` of the former."""

    def rewrite(op: Op, patch: Patch) -> None:
        work = Work(op, patch)
        given = [v for v in op.inputs[2:] if v is not None]
        count, rest = divmod(len(given), kinds)
        if rest or len(given) != len(op.inputs) - 2:
            raise InexpressibleError(f"{len(given)} tensors are no multiple of {kinds}")
        made = [step(work, given[n::count]) for n in range(count)]
        work.build.done(*(found[kind] for kind in range(kinds - 1) for found in made))

    return rewrite


DEFINITIONS: dict[Key, Rewrite] = {
    (DOMAIN, "Adagrad"): _for_each(_adagrad, 3),
    (DOMAIN, "Adam"): _for_each(_adam, 4),
    (DOMAIN, "Momentum"): _for_each(_momentum, 3),
}
