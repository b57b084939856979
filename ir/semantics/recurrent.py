"""recurrent: what each operator computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.ops.recurrent import DIRECTIONS
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics._accumulate import accumulate
from isomorph.ir.semantics._activations import activations

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call
    from isomorph.ir.semantics._activations import Function

    Array = npt.NDArray[Any]
    State = tuple[Array, ...]
    Step = Callable[[Array, State], State]
    Product = Callable[[Array, Array], Array]

DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}


def plain_product(x: Array, weights: Array) -> Array:
    """What the gates are given: rows of weights, gates one below the other."""
    return x @ weights.T


@dataclass(frozen=True)
class Cell:
    """One direction of one op: its weights and activations.

    Attributes:
        w, r: input and recurrence weights, gates one below the other.
        wb, rb: their biases.
        peepholes: for the input, output and forget gates, or none.
        functions: activations in the order of the op's definition (f, g, h).
        clip: bounds whatever an activation is applied to.
        inputs, states: products with the weights of all steps' operands, and of one step's state.
        changes: applied to what an activation is given, and to what it gives.
    """

    w: Array
    r: Array
    wb: Array
    rb: Array
    peepholes: tuple[Array, ...]
    functions: Sequence[Function]
    clip: float | None
    inputs: Product = plain_product
    states: Product = plain_product
    changes: tuple[Function, Function] | None = None

    def activate(self, index: int, x: Array) -> Array:
        """Apply one of the activations to the clipped operand."""
        if self.clip is not None:
            bound = x.dtype.type(self.clip)
            x = np.clip(x, -bound, bound)
        if self.changes is None:
            return self.functions[index](x)
        before, after = self.changes
        return after(self.functions[index](before(x)))


def _rnn_step(call: Call, cell: Cell) -> tuple[Array, Step]:
    def step(given: Array, state: State) -> State:
        (h,) = state
        return (cell.activate(0, given + h @ cell.r.T),)

    return cell.wb + cell.rb, step


def _gru_step(call: Call, cell: Cell) -> tuple[Array, Step]:
    linear = bool(call.attr("linear_before_reset", 0))
    hidden = cell.r.shape[1]
    rz, rr, rh = np.split(cell.r, 3)
    bias = cell.wb + cell.rb
    if linear:
        bias = np.concatenate([bias[: 2 * hidden], cell.wb[2 * hidden :]])
    candidate_bias = cell.rb[2 * hidden :]

    def step(given: Array, state: State) -> State:
        (h,) = state
        gz, gr, gh = np.split(given, 3, 1)
        z = cell.activate(0, gz + h @ rz.T)
        r = cell.activate(0, gr + h @ rr.T)
        inner = r * (h @ rh.T + candidate_bias) if linear else (r * h) @ rh.T
        return ((1 - z) * cell.activate(1, gh + inner) + z * h,)

    return bias, step


def _lstm_step(call: Call, cell: Cell) -> tuple[Array, Step]:
    coupled = bool(call.attr("input_forget", 0))

    def step(given: Array, state: State) -> State:
        h, c = state
        gi, go, gf, gc = np.split(given + cell.states(h, cell.r), 4, 1)
        if cell.peepholes:
            gi = gi + cell.peepholes[0] * c
            gf = gf + cell.peepholes[2] * c
        i = cell.activate(0, gi)
        f = 1 - i if coupled else cell.activate(0, gf)
        after = f * c + i * cell.activate(1, gc)
        if cell.peepholes:
            go = go + cell.peepholes[1] * after
        return cell.activate(0, go) * cell.activate(2, after), after

    return cell.wb + cell.rb, step


STEPS = {"RNN": _rnn_step, "GRU": _gru_step, "LSTM": _lstm_step}


def _plain_products(_: int) -> tuple[Product, Product]:
    return plain_product, plain_product


def layer(
    call: Call,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lens: Array | None = None,
    *rest: Array | None,
    products: Callable[[int], tuple[Product, Product]] = _plain_products,
    changes: tuple[Function, Function] | None = None,
) -> tuple[Array, ...]:
    """Sequences that end early keep their last state, and their outputs after it are 0.

    `products` gives a direction's products with w and with r, `changes` are those of
    `Cell`.
    """
    dtype, layout, kind = x.dtype, call.attr("layout", 0), _kind(call)
    x, w, r = accumulate(x), accumulate(w), accumulate(r)
    direction = call.attr("direction", "forward")
    directions, hidden = DIRECTIONS.get(direction, 0), r.shape[2]
    if not directions or len(w) != directions or len(r) != directions:
        raise _problem(call, f"direction {direction!r} with weights for {len(w)} directions")
    if call.attr("hidden_size", hidden) != hidden:
        raise _problem(call, f"hidden_size is {call.attr('hidden_size')}, the weights' {hidden}")
    if layout:
        x = x.swapaxes(0, 1)
    batch = x.shape[1]
    initial: list[Array] = []
    for given in (*rest, None, None)[: 2 if kind == "LSTM" else 1]:
        if given is None:
            initial.append(np.zeros((directions, batch, hidden), x.dtype))
        else:
            initial.append(accumulate(given).swapaxes(0, 1) if layout else accumulate(given))
    peephole = accumulate(rest[2]) if len(rest) > 2 and rest[2] is not None else None
    functions = _functions(call, directions)
    if lens is not None and lens.size and not 0 <= lens.min() <= lens.max() <= len(x):
        raise _problem(call, f"sequence_lens {lens.tolist()} for sequences of {len(x)} steps")
    outputs: list[Array] = []
    states: list[State] = []
    for d in range(directions):
        rows = w.shape[1]
        biases = accumulate(b)[d] if b is not None else np.zeros(2 * rows, x.dtype)
        cell = Cell(
            w[d],
            r[d],
            biases[:rows],
            biases[rows:],
            tuple(np.split(peephole[d], 3)) if peephole is not None else (),
            functions[d],
            call.attr("clip"),
            *products(d),
            changes,
        )
        backward = direction == "reverse" or d == 1
        found, state = _unroll(call, cell, x, tuple(s[d] for s in initial), lens, backward)
        outputs.append(found)
        states.append(state)
    every = np.stack(outputs, 1)
    last = [np.stack(parts) for parts in zip(*states, strict=True)]
    if layout:
        every, last = every.transpose(2, 0, 1, 3), [s.swapaxes(0, 1) for s in last]
    return tuple(np.ascontiguousarray(a.astype(dtype, copy=False)) for a in (every, *last))


def _unroll(
    call: Call, cell: Cell, x: Array, state: State, lens: Array | None, backward: bool
) -> tuple[Array, State]:
    """Every hidden state (steps, batch, hidden), and the state after the last step."""
    steps, batch = x.shape[:2]
    order = _order(steps, batch, lens) if backward else None
    if order is not None:
        x = np.take_along_axis(x, order[:, :, None], 0)
    bias, step = STEPS[_kind(call)](call, cell)
    given = cell.inputs(x, cell.w) + bias
    found = np.zeros((steps, batch, cell.r.shape[1]), x.dtype)
    for t in range(steps):
        if lens is None:
            state = step(given[t], state)
            found[t] = state[0]
            continue
        going = (t < lens)[:, None]
        before = tuple(np.where((t <= lens)[:, None], s, 0) for s in state)
        after = step(given[t], before)
        state = tuple(np.where(going, new, old) for new, old in zip(after, state, strict=True))
        found[t] = np.where(going, after[0], 0)
    if order is not None:
        found = np.take_along_axis(found, order[:, :, None], 0)
    return found, state


def _order(steps: int, batch: int, lens: Array | None) -> Array:
    """Each sequence backwards, what lies after its end left in place: its own inverse."""
    at = np.arange(steps)[:, None]
    ends = np.full(batch, steps) if lens is None else lens.astype(np.int64)
    return np.where(at < ends, ends - 1 - at, at)


def _kind(call: Call) -> str:
    """The operator whose steps these are."""
    return "LSTM" if call.op.type.endswith("LSTM") else call.op.type


def _functions(call: Call, directions: int) -> list[list[Function]]:
    defaults = DEFAULTS[_kind(call)]
    names = tuple(call.attr("activations") or ()) or defaults * directions
    if call.op.type == "RNN" and len(names) > directions:
        names = names[:directions]
    if len(names) != len(defaults) * directions:
        raise _problem(
            call, f"{len(names)} activations, {len(defaults) * directions} were expected"
        )
    alphas, betas = call.attr("activation_alpha") or (), call.attr("activation_beta") or ()
    found = activations(names, alphas, betas, lambda text: _problem(call, text))
    each = len(defaults)
    return [found[d * each : (d + 1) * each] for d in range(directions)]


def _problem(call: Call, message: str) -> Exception:
    return TypeInferenceError(f"{call.op}: {message}")


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "LSTM"): (Impl(layer),),
    ("", "GRU"): (Impl(layer),),
    ("", "RNN"): (Impl(layer),),
}
