"""DynamicQuantizeLSTM: an LSTM whose weights are integers, and whose operands become such.

All that is multiplied by the input weights is quantized as one tensor, and so is the state of a
step: the whole batch of it, sequences counting for one step after they have ended, as onnxruntime
has it where one thread runs the batch (core/providers/cpu/rnn/uni_directional_lstm.cc). What lies
after the end of a sequence counts, up to the end of the longest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics._dynamic import product, quantized
from isomorph.ir.semantics.recurrent import layer

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from isomorph.ir.semantics import Call
    from isomorph.ir.semantics.recurrent import Product

    Array = npt.NDArray[Any]
    Change = Callable[[Array], Array]


def dynamic_lstm(
    call: Call,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    lens: Array | None,
    h: Array | None,
    c: Array | None,
    p: Array | None,
    w_scale: Array,
    w_zero: Array,
    r_scale: Array,
    r_zero: Array,
    *,
    quotients: Change | None = None,
    sums: Change | None = None,
    gates: tuple[Change, Change] | None = None,
) -> tuple[Array, ...]:
    """As LSTM; weights are (directions, terms, 4 · hidden), scales one per direction or column.

    `quotients` is applied to what is rounded to integers, `sums` to what their products come to,
    `gates` to what activations are given and give.
    """
    steps = len(x) if lens is None else int(lens.max(initial=0))
    left, right = _moved(w, w_zero), _moved(r, r_zero)

    def products(direction: int) -> tuple[Product, Product]:
        factors = [np.asarray(s)[direction].astype(x.dtype) for s in (w_scale, r_scale)]

        def inputs(every: Array, weights: Array) -> Array:
            found = product(quantized(every, every[:steps], quotients), weights.T, factors[0])
            return found if sums is None else sums(found)

        def states(state: Array, weights: Array) -> Array:
            found = product(quantized(state, change=quotients), weights.T, factors[1])
            return found if sums is None else sums(found)

        return inputs, states

    return layer(call, x, left, right, b, lens, h, c, p, products=products, changes=gates)


def _moved(weights: Array, zero: Array) -> Array:
    """Weights less their zero point, gates one below the other."""
    parameter = np.asarray(zero).astype(np.float32)
    parameter = parameter[:, None] if parameter.ndim > 1 else parameter[:, None, None]
    return np.swapaxes(np.asarray(weights).astype(np.float32) - parameter, 1, 2)
