"""recurrent: layers as a product with all steps, and a Scan over them for each direction.

What is stored in 16 bits is computed in float32 and rounded at the end, as kernels do it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.build import Build
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer_op
from isomorph.ir.ops.recurrent import DIRECTIONS, GATES
from isomorph.ir.patch import Patch
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import InexpressibleError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.versions import Rewrite

DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
PLAIN = {
    "relu": "Relu",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "softsign": "Softsign",
    "softplus": "Softplus",
}
"""Activations that an operator of the same name computes."""
ALPHA = {"leakyrelu": ("LeakyRelu", 0.01), "elu": ("Elu", 1.0)}
"""Those with an alpha, and its default."""
BOTH = {"affine": (1.0, 0.0), "scaledtanh": (1.0, 1.0), "hardsigmoid": (0.2, 0.5)}
"""Those with an alpha and a beta, and their defaults."""


@dataclass(frozen=True)
class Activation:
    """One activation with its parameters.

    Attributes:
        name: in lower case.
        alpha, beta: as given, else the default.
        clip: bounds what it is applied to.
    """

    name: str
    alpha: float
    beta: float
    clip: float | None

    def __call__(self, build: Build, x: Value, dtype: DType) -> Value:
        """Write it."""
        if self.clip is not None:
            low, high = (build.const(v, dtype) for v in (-self.clip, self.clip))
            x = build("Clip", x, low, high)
        alpha, beta = (build.const(v, dtype) for v in (self.alpha, self.beta))
        match self.name:
            case "affine":
                return build("Add", build("Mul", x, alpha), beta)
            case "scaledtanh":
                return build("Mul", build("Tanh", build("Mul", x, beta)), alpha)
            case "hardsigmoid":
                return build("HardSigmoid", x, alpha=self.alpha, beta=self.beta)
            case "thresholdedrelu":  # x >= alpha stays, unlike in the operator of that name
                kept = build("GreaterOrEqual", x, alpha)
                return build("Where", kept, x, build.const(0, dtype))
            case name if name in ALPHA:
                return build(ALPHA[name][0], x, alpha=self.alpha)
            case name:
                return build(PLAIN[name], x)


@dataclass(frozen=True)
class Inner:
    """The step of one direction as a graph of its own, and the outer values that it captures."""

    graph: Graph
    build: Build
    outside: list[Value]

    def take(self, value: Value) -> Value:
        """An outer value, in the step."""
        self.outside.append(value)
        return self.graph.add_capture(value.name, value.type)


class Layer:
    """One op on its way into a patch."""

    def __init__(self, op: Op, patch: Patch) -> None:
        self.op = op
        self.build = build = Build(op, patch)
        self.patch = patch
        self.kind = op.type
        self.stored = build.dtype()
        narrow = self.stored in {DType.FLOAT16, DType.BFLOAT16}
        self.dtype = DType.FLOAT32 if narrow else self.stored
        self.directions = DIRECTIONS.get(op.attr("direction", "forward"), 0)
        weights = build.operand(2).type
        shape = weights.shape if isinstance(weights, TensorType) else None
        hidden = op.attr("hidden_size") or (shape[2] if shape else None)
        if not isinstance(hidden, int) or not self.directions:
            raise InexpressibleError("the size of its hidden state is not known")
        self.hidden = hidden
        self.layout = bool(op.attr("layout", 0))
        self.activations = self._activations()
        self.lens = op.input(4)
        self.x = build.cast(build.operand(), self.dtype)
        if self.layout:
            self.x = build("Transpose", self.x, perm=(1, 0, 2))

    def run(self) -> None:
        """Write everything."""
        build = self.build
        every: list[Value] = []
        states: list[tuple[Value, ...]] = []
        for direction in range(self.directions):
            found, state = self._direction(direction)
            every.append(build("Unsqueeze", found, build.ints(1)))
            states.append(tuple(build("Unsqueeze", s, build.ints(0)) for s in state))
        whole = self._joined(every, 1)
        last = [self._joined(parts, 0) for parts in zip(*states, strict=True)]
        if self.layout:
            whole = build("Transpose", whole, perm=(2, 0, 1, 3))
            last = [build("Transpose", s, perm=(1, 0, 2)) for s in last]
        build.done(*(build.cast(v, self.stored) for v in (whole, *last)))

    def _joined(self, parts: Sequence[Value], axis: int) -> Value:
        return parts[0] if len(parts) == 1 else self.build("Concat", *parts, axis=axis)

    def _of(self, index: int, direction: int) -> Value | None:
        """The part of an operand that is one direction's."""
        value = self.op.input(index)
        if value is None:
            return None
        axis = 1 if self.layout and index in {5, 6} else 0
        place = self.build.const(direction, DType.INT64)
        return self.build("Gather", self.build.cast(value, self.dtype), place, axis=axis)

    def _weights(self, index: int, direction: int) -> Value:
        found = self._of(index, direction)
        if found is None:
            raise InexpressibleError(f"operand {index} is absent")
        return self.build("Transpose", found, perm=(1, 0))

    def _initial(self, index: int, direction: int) -> Value:
        given = self._of(index, direction)
        if given is not None:
            return given
        build = self.build
        shape = build("Shape", self.x, start=1, end=2)
        whole = build("Concat", shape, build.ints(self.hidden), axis=0)
        return build("Expand", build.const(0, self.dtype), whole)

    def _direction(self, direction: int) -> tuple[Value, tuple[Value, ...]]:
        """Every hidden state (steps, batch, hidden), and the states after the last step."""
        build, rows = self.build, GATES[self.kind] * self.hidden
        given = build("MatMul", self.x, self._weights(1, direction))
        bias = self._of(3, direction)
        linear = self.kind == "GRU" and bool(self.op.attr("linear_before_reset", 0))
        apart: Value | None = None
        if bias is not None:
            first, second = build.op("Split", [bias, build.ints(rows, rows)], {"axis": 0}, 2)
            if linear:
                cut = build.ints(2 * self.hidden, self.hidden)
                gates, apart = build.op("Split", [second, cut], {"axis": 0}, 2)
                nothing = build.const([0.0] * self.hidden, self.dtype)
                second = build("Concat", gates, nothing, axis=0)
            given = build("Add", given, build("Add", first, second))
        states = [self._initial(5, direction)]
        if self.kind == "LSTM":
            states.append(self._initial(6, direction))
        recurrence = self._weights(2, direction)
        extra = self._of(7, direction) if self.kind == "LSTM" else None
        return self._scan(direction, given, states, recurrence, apart if linear else extra)

    def _scan(
        self,
        direction: int,
        given: Value,
        states: Sequence[Value],
        recurrence: Value,
        extra: Value | None,
    ) -> tuple[Value, tuple[Value, ...]]:
        build, graph = self.build, Graph("step")
        inner = Inner(graph, Build(self.op, Patch(graph)), [])
        formal = [graph.add_input("state", s.type) for s in states]
        element = graph.add_input("given", _without_first(given))
        scanned = [given]
        step = STEPS[self.kind]
        taken = None if extra is None else inner.take(extra)
        found = step(self, inner, direction, element, formal, (inner.take(recurrence), taken))
        shown = found[0]
        if self.lens is not None:
            zero, one = (build.const(v, DType.INT64) for v in (0, 1))
            count = build("Squeeze", build("Shape", self.x, start=0, end=1), build.ints(0))
            scanned.append(build("Range", zero, count, one))
            at = graph.add_input("at", TensorType(DType.INT64, ()))
            lens = inner.build.cast(inner.take(self.lens), DType.INT64)
            going = inner.build("Unsqueeze", inner.build("Less", at, lens), inner.build.ints(1))
            pairs = zip(found, formal, strict=True)
            found = [inner.build("Where", going, new, old) for new, old in pairs]
            shown = inner.build("Where", going, shown, inner.build.const(0, self.dtype))
        graph.outputs = [*found, inner.build("Identity", shown)]
        backward = int(self.op.attr("direction", "forward") == "reverse" or direction == 1)
        made = self.patch.op(
            "Scan",
            [*states, *scanned],
            {
                "body": graph,
                "num_scan_inputs": len(scanned),
                "scan_input_directions": (backward,) * len(scanned),
                "scan_output_directions": (backward,),
            },
            outputs=len(states) + 1,
            captures=inner.outside,
        )
        infer_op(made, self.patch.graph, {})
        *last, every = made.results
        return every, tuple(last)

    def _activations(self) -> list[list[Activation]]:
        names = tuple(self.op.attr("activations") or ()) or DEFAULTS[self.kind] * self.directions
        each = len(DEFAULTS[self.kind])
        names = names[: each * self.directions] if self.kind == "RNN" else names
        if len(names) != each * self.directions:
            raise InexpressibleError(f"{len(names)} activations are named")
        alphas = iter(self.op.attr("activation_alpha") or ())
        betas = iter(self.op.attr("activation_beta") or ())
        clip = self.op.attr("clip")
        found: list[Activation] = []
        for name in (n.lower() for n in names):
            alpha = beta = 0.0
            if name in ALPHA:
                alpha = next(alphas, ALPHA[name][1])
            elif name == "thresholdedrelu":
                alpha = next(alphas, 1.0)
            elif name in BOTH:
                alpha, beta = next(alphas, BOTH[name][0]), next(betas, BOTH[name][1])
            elif name not in PLAIN:
                raise InexpressibleError(f"the activation {name!r} does not exist")
            found.append(Activation(name, alpha, beta, clip))
        return [found[d * each : (d + 1) * each] for d in range(self.directions)]


Weights = tuple["Value", "Value | None"]
"""The recurrence weights, a column for each gate, and what else a kind of layer has."""


def _split(layer: Layer, build: Build, x: Value, count: int, axis: int) -> tuple[Value, ...]:
    sizes = build.ints(*[layer.hidden] * count)
    return build.op("Split", [x, sizes], {"axis": axis}, count)


def _rnn(
    layer: Layer, inner: Inner, direction: int, given: Value, state: list[Value], weights: Weights
) -> list[Value]:
    build, (f,) = inner.build, layer.activations[direction]
    total = build("Add", given, build("MatMul", state[0], weights[0]))
    return [f(build, total, layer.dtype)]


def _gru(
    layer: Layer, inner: Inner, direction: int, given: Value, state: list[Value], weights: Weights
) -> list[Value]:
    build, (f, g), (h,) = inner.build, layer.activations[direction], state
    gz, gr, gh = _split(layer, build, given, 3, 1)
    if layer.op.attr("linear_before_reset", 0):
        rz, rr, rh = _split(layer, build, build("MatMul", h, weights[0]), 3, 1)
    else:
        wz, wr, wh = _split(layer, build, weights[0], 3, 1)
        rz, rr, rh = build("MatMul", h, wz), build("MatMul", h, wr), wh
    z = f(build, build("Add", gz, rz), layer.dtype)
    r = f(build, build("Add", gr, rr), layer.dtype)
    if layer.op.attr("linear_before_reset", 0):
        inside = build("Mul", r, rh if weights[1] is None else build("Add", rh, weights[1]))
    else:
        inside = build("MatMul", build("Mul", r, h), rh)
    candidate = g(build, build("Add", gh, inside), layer.dtype)
    fresh = build("Mul", build("Sub", build.const(1, layer.dtype), z), candidate)
    return [build("Add", fresh, build("Mul", z, h))]


def _lstm(
    layer: Layer, inner: Inner, direction: int, given: Value, state: list[Value], weights: Weights
) -> list[Value]:
    build, (f, g, last), (h, c) = inner.build, layer.activations[direction], state
    total = build("Add", given, build("MatMul", h, weights[0]))
    gi, go, gf, gc = _split(layer, build, total, 4, 1)
    holes = () if weights[1] is None else _split(layer, build, weights[1], 3, 0)

    def seen(gate: Value, index: int, cell: Value) -> Value:
        return build("Add", gate, build("Mul", holes[index], cell)) if holes else gate

    i = f(build, seen(gi, 0, c), layer.dtype)
    if layer.op.attr("input_forget", 0):
        forget = build("Sub", build.const(1, layer.dtype), i)
    else:
        forget = f(build, seen(gf, 2, c), layer.dtype)
    fresh = build("Mul", i, g(build, gc, layer.dtype))
    after = build("Add", build("Mul", forget, c), fresh)
    o = f(build, seen(go, 1, after), layer.dtype)
    return [build("Mul", o, last(build, after, layer.dtype)), after]


STEPS: dict[str, Callable[[Layer, Inner, int, Value, list[Value], Weights], list[Value]]] = {
    "RNN": _rnn,
    "GRU": _gru,
    "LSTM": _lstm,
}


def _without_first(value: Value) -> TensorType | None:
    kind = value.type
    if not isinstance(kind, TensorType):
        return None
    return TensorType(kind.dtype, None if kind.shape is None else kind.shape[1:])


def _layer(op: Op, patch: Patch) -> None:
    Layer(op, patch).run()


DEFINITIONS: dict[Key, Rewrite] = {
    ("", "GRU"): _layer,
    ("", "LSTM"): _layer,
    ("", "RNN"): _layer,
}
