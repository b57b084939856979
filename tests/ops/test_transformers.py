"""Attentions of onnxruntime's own domain: definitions, meaning, shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.exporters.runtimes.prober import Prober
from isomorph.exporters.runtimes.worker import Job
from isomorph.ir.dims import symbol
from isomorph.ir.errors import TypeInferenceError, UnsupportedError
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, build
from isomorph.ir.interpret import interpret
from isomorph.ir.ops.transformers import OPS
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.schema_transformers import DEFINITIONS
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from tests.ops import harness as h
from tests.ops._contained import DEADLY

if TYPE_CHECKING:
    from isomorph.ir.graph import Value

    Array = np.ndarray[Any, Any]

F32, I32 = DType.FLOAT32, DType.INT32


def test_operators_are_complete():
    assert {name for _, name in OPS} == set(DEFINITIONS)
    assert h.incomplete(OPS) == []


def operand(graph: Graph, place: int, kind: Any) -> Value | None:
    """A type makes an input, an array a constant."""
    if kind is None:
        return None
    if isinstance(kind, TensorType):
        return graph.add_input(f"x{place}", kind)
    return graph.add_weight(Weight.of(np.asarray(kind)), f"c{place}")


def use(name: str, *operands: Any, outputs: int = 1, **attributes: Any) -> Graph:
    graph = Graph(name)
    values = [operand(graph, place, kind) for place, kind in enumerate(operands)]
    op = graph.add_op(
        name, values, attributes, outputs=[f"y{n}" for n in range(outputs)], domain=DOMAIN
    )
    graph.outputs = list(op.results)
    infer(graph)
    return graph


def run(name: str, *operands: Any, outputs: int = 1, **attributes: Any) -> list[Array]:
    """Results in float64, of arrays."""
    arrays = [None if o is None else np.asarray(o) for o in operands]
    kinds = [
        None
        if a is None
        else TensorType(F32 if a.dtype.kind == "f" else DType.of(a.dtype), a.shape)
        for a in arrays
    ]
    graph = use(name, *kinds, outputs=outputs, **attributes)
    return interpret(graph, [a for a in arrays if a is not None], wide=True)


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).normal(0, 1, shape)


def heads(x: Array, count: int) -> Array:
    batch, length, hidden = x.shape
    return x.reshape(batch, length, count, hidden // count).transpose(0, 2, 1, 3)


def textbook(q: Array, k: Array, v: Array, seen: Any = True, scale: float | None = None) -> Array:
    """softmax(q kᵀ / √d) v, head by head, of what each query sees."""
    scale = 1 / np.sqrt(q.shape[3]) if scale is None else scale
    scores = np.where(seen, scale * np.einsum("bhsd,bhtd->bhst", q, k), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = np.einsum("bhst,bhtv->bshv", weights / weights.sum(-1, keepdims=True), v)
    return y.reshape(*y.shape[:2], -1)


def ints(*values: int) -> Array:
    return np.array(values, np.int32)


# -- meaning ------------------------------------------------------------------------------------


def test_attention_projects_first():
    x, w, b = drawn(2, 4, 6), drawn(6, 24), drawn(24)
    q, k, v = (heads(p, 2) for p in np.split(x @ w + b, 3, 2))
    found = run("Attention", x, w, b, num_heads=2)[0]
    np.testing.assert_allclose(found, textbook(q, k, v), rtol=1e-12)
    lower = np.tri(4, dtype=bool)
    found = run("Attention", x, w, b, num_heads=2, unidirectional=1, scale=0.25)[0]
    np.testing.assert_allclose(found, textbook(q, k, v, lower, 0.25), rtol=1e-12)


MASKS: dict[str, tuple[Any, Any]] = {
    "keys": ([[1, 0, 1, 1], [0, 0, 1, 0]], [[1, 0, 1, 1], [0, 0, 1, 0]]),
    "lengths": ([3, 1], [[1, 1, 1, 0], [1, 0, 0, 0]]),
    "ends and starts": ([4, 3, 1, 2], [[0, 1, 1, 1], [0, 0, 1, 0]]),
    "lengths and sums": ([2, 3, 0, 2, 5, 0, 2, 5], [[1, 1, 0, 0], [1, 1, 1, 0]]),
    "nothing": ([[0], [0]], [[1] * 4] * 2),
}


@pytest.mark.parametrize("form", MASKS)
def test_masks_of_attention(form: str):
    given, seen = (np.array(m, np.int32) for m in MASKS[form])
    x, w, b = drawn(2, 4, 6), drawn(6, 24), drawn(24)
    q, k, v = (heads(p, 2) for p in np.split(x @ w + b, 3, 2))
    found = run("Attention", x, w, b, given, num_heads=2)[0]
    wanted = textbook(q, k, v, seen[:, None, None] > 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_filter_is_added_so_that_a_query_without_keys_sees_all():
    x, w, b = drawn(1, 3, 4), drawn(4, 12), drawn(12)
    plain = run("Attention", x, w, b, num_heads=1)[0]
    filtered = run("Attention", x, w, b, ints(0), num_heads=1)[0]
    np.testing.assert_allclose(filtered, plain, rtol=1e-9)


def test_multi_head_attention_is_what_packed_operands_make():
    q, k, v = (drawn(2, 5, 12, seed=i) for i in range(3))
    apart = run("MultiHeadAttention", q, k, v, num_heads=3)[0]
    np.testing.assert_allclose(apart, textbook(*(heads(x, 3) for x in (q, k, v))), rtol=1e-12)
    together = np.stack([x.reshape(2, 5, 3, 4) for x in (q, k, v)], 3)
    assert (run("MultiHeadAttention", together, num_heads=3)[0] == apart).all()
    assert (run("MultiHeadAttention", q, together[:, :, :, 1:], num_heads=3)[0] == apart).all()


def test_a_past_is_the_same_as_more_keys():
    q, k, v = (drawn(2, 5, 12, seed=i) for i in range(3))
    whole = run("MultiHeadAttention", q, k, v, num_heads=3, unidirectional=1)[0]
    pasts = [heads(x[:, :3], 3) for x in (k, v)]
    new = [x[:, 3:] for x in (q, k, v)]
    found = run(
        "MultiHeadAttention", *new, None, None, None, *pasts, outputs=3, num_heads=3,
        unidirectional=1,
    )  # fmt: skip
    np.testing.assert_allclose(found[0], whole[:, 3:], rtol=1e-12)
    assert (found[1] == heads(k, 3)).all()
    assert (found[2] == heads(v, 3)).all()
    buffers = [np.concatenate((p, drawn(2, 3, 4, 4)), 2) for p in pasts]
    shared = run(
        "MultiHeadAttention", *new, None, None, None, *buffers, ints(3), outputs=3, num_heads=3,
        unidirectional=1,
    )  # fmt: skip
    np.testing.assert_allclose(shared[0], whole[:, 3:], rtol=1e-12)
    assert (shared[1][:, :, 5:] == buffers[0][:, :, 5:]).all()


def test_beams_attend_to_where_they_came_from():
    q, k, v = (drawn(2, 1, 4, seed=i) for i in range(3))
    pasts = [drawn(2, 1, 3, 4, seed=i) for i in (5, 6)]
    swapped = np.array([[[1, 1], [0, 0]]], np.int32)
    given = [q, k, v, None, None, None]
    found = run("MultiHeadAttention", *given, *pasts, ints(2), swapped, outputs=3, num_heads=1)
    turned = [p[::-1].copy() for p in pasts]
    for p, past in zip(turned, pasts, strict=True):
        p[:, :, 2:] = past[:, :, 2:]
    wanted = run("MultiHeadAttention", *given, *turned, ints(2), outputs=3, num_heads=1)
    assert (found[0] == wanted[0]).all()
    assert (found[1][:, :, :2] == pasts[0][:, :, :2]).all()


def grouped(*operands: Any, **attributes: Any) -> list[Array]:
    given = {"num_heads": 4, "kv_num_heads": 2, "outputs": 3, **attributes}
    return run("GroupQueryAttention", *operands, **given)


def test_heads_of_keys_are_shared_and_a_prompt_is_causal():
    q, k, v = drawn(2, 4, 32), drawn(2, 4, 16), drawn(2, 4, 16, seed=1)
    parts = [heads(q, 4), *(np.repeat(heads(x, 2), 2, 1) for x in (k, v))]
    lengths = (None, None, ints(3, 3), np.int32(4))
    lower = np.tri(4, dtype=bool)
    np.testing.assert_allclose(grouped(q, k, v, *lengths)[0], textbook(*parts, lower), rtol=1e-12)
    near = lower & ~np.tri(4, k=-2, dtype=bool)
    found = grouped(q, k, v, *lengths, local_window_size=2)[0]
    np.testing.assert_allclose(found, textbook(*parts, near), rtol=1e-12)
    packed = grouped(np.concatenate((q, k, v), 2), None, None, *lengths)[0]
    np.testing.assert_allclose(packed, textbook(*parts, lower), rtol=1e-12)


@pytest.mark.parametrize("rotated", [False, True])
def test_tokens_one_by_one_give_what_the_prompt_gives(rotated: bool):
    q, k, v = drawn(1, 4, 32), drawn(1, 4, 16), drawn(1, 4, 16, seed=1)
    angles = (np.cos(drawn(6, 4)), np.sin(drawn(6, 4))) if rotated else ()
    given = {"do_rotary": int(rotated), "rotary_interleaved": 1}
    whole = grouped(q, k, v, None, None, ints(3), np.int32(4), *angles, **given)
    past = [np.zeros((1, 2, 0, 8))] * 2
    for t in range(4):
        new = (x[:, t : t + 1] for x in (q, k, v))
        y, *past = grouped(*new, *past, ints(t), np.int32(t + 1), *angles, **given)
        np.testing.assert_allclose(y[:, 0], whole[0][:, t], rtol=1e-10)
    np.testing.assert_allclose(past[0], whole[1], rtol=1e-12)


def test_a_sink_takes_its_share_and_gives_nothing():
    q, k, v = drawn(1, 1, 32), drawn(1, 1, 16), drawn(1, 1, 16, seed=1)
    score = np.einsum("bhsd,bhsd->h", heads(q, 4), np.repeat(heads(k, 2), 2, 1)) / np.sqrt(8)
    lengths = (None, None, ints(0), np.int32(1))
    none = (None,) * 4
    found = grouped(q, k, v, *lengths, *none, score)[0].reshape(4, 8)
    np.testing.assert_allclose(found, np.repeat(heads(v, 2), 2, 1)[0, :, 0] / 2, rtol=1e-9)
    smooth = grouped(q, k, v, *lengths, smooth_softmax=1)[0].reshape(4, 8)
    share = 1 / (1 + np.exp(-score))
    wanted = share[:, None] * np.repeat(heads(v, 2), 2, 1)[0, :, 0]
    np.testing.assert_allclose(smooth, wanted, rtol=1e-12)


REFUSED = (
    ("seqlens_k are", {5: ints(4, 0)}),
    ("total_sequence_length is 9", {6: np.int32(9)}),
    ("seqlens_k are", {5: ints(-1, 2)}),
)


@pytest.mark.parametrize(("message", "changed"), REFUSED)
def test_lengths_that_do_not_fit_are_named(message: str, changed: dict[int, Any]):
    given: list[Any] = [drawn(2, 1, 32), *[drawn(2, 1, 16)] * 2, *[drawn(2, 2, 3, 8)] * 2]
    given += [ints(3, 3), np.int32(4)]
    for place, value in changed.items():
        given[place] = value
    with pytest.raises(TypeInferenceError, match=message):
        grouped(*given)


def test_what_is_not_evaluated_says_so():
    x, w, b = drawn(1, 2, 4), drawn(4, 12), drawn(12)
    with pytest.raises(UnsupportedError, match="do_rotary"):
        run("Attention", x, w, b, num_heads=1, do_rotary=1)
    given = [drawn(1, 1, 32), *[drawn(1, 1, 16)] * 2, *[drawn(1, 2, 3, 8)] * 2]
    with pytest.raises(UnsupportedError, match="quantized cache"):
        grouped(*given, ints(3), np.int32(4), k_quant_type="PER_TENSOR")
    last = 2**31 - 2
    dropped = {"sliding_window_cache": 1, "local_window_size": 3}
    with pytest.raises(UnsupportedError, match="up to 4194304 are"):
        grouped(*given, ints(last), np.int32(last + 1), **dropped)


@pytest.mark.parametrize("room", [3, 4, 6])
def test_a_cache_that_drops_old_keys_gives_what_one_that_keeps_them_gives(room: int):
    q, k, v = drawn(1, 9, 32), drawn(1, 9, 16), drawn(1, 9, 16, seed=1)
    whole = grouped(q, k, v, None, None, ints(8), np.int32(9), local_window_size=3)
    past = [np.zeros((1, 2, room, 8))] * 2
    given = {"local_window_size": 3, "sliding_window_cache": 1}
    for t in range(9):
        new = (x[:, t : t + 1] for x in (q, k, v))
        y, *past = grouped(*new, *past, ints(t), np.int32(t + 1), **given)
        np.testing.assert_allclose(y[:, 0], whole[0][:, t], rtol=1e-10)
    held = min(9, 9 - (room - 2) * -(-(9 - room) // (room - 2)))
    assert (past[0][:, :, :held] == whole[1][:, :, 9 - held :]).all()


# -- shapes -------------------------------------------------------------------------------------


def floats(*shape: Any) -> TensorType:
    return TensorType(F32, shape)


def whole(*shape: Any) -> TensorType:
    return TensorType(I32, shape)


def test_rules_keep_symbols():
    b, s, p = symbol("b"), symbol("s"), symbol("p")
    made = use(
        "Attention", floats(b, s, 6), floats(6, 24), floats(24), None, floats(2, b, 2, p, 4),
        outputs=2, num_heads=2,
    )  # fmt: skip
    assert [v.type for v in made.outputs] == [floats(b, s, 8), floats(2, b, 2, p + s, 4)]
    past = floats(b, 3, p, 4)
    made = use(
        "MultiHeadAttention", *[floats(b, s, 12)] * 3, None, whole(b, p + s), None, past, past,
        outputs=4, num_heads=3,
    )  # fmt: skip
    kept = floats(b, 3, p + s, 4)
    wanted = [floats(b, s, 12), kept, kept, floats(b, 3, s, p + s)]
    assert [v.type for v in made.outputs] == wanted
    cache = floats(b, 2, p, 8)
    made = use(
        "GroupQueryAttention", floats(b, 1, 64), None, None, cache, cache, whole(b), whole(),
        outputs=3, num_heads=4, kv_num_heads=2,
    )  # fmt: skip
    assert [v.type for v in made.outputs] == [floats(b, 1, 32), *[floats(b, 2, None, 8)] * 2]
    cache = floats(b, 2, 4, 8)
    made = use(
        "GroupQueryAttention", floats(b, 1, 64), None, None, cache, cache, whole(b), ints(5),
        outputs=3, num_heads=4, kv_num_heads=2,
    )  # fmt: skip
    assert made.outputs[1].type == floats(b, 2, 5, 8)


X, W, B = floats(2, 4, 6), floats(6, 24), floats(24)
Q = floats(2, 4, 12)
GROUPED = (floats(2, 4, 32), floats(2, 4, 16), floats(2, 4, 16), None, None, whole(2), ints(4))
WRONG: tuple[tuple[str, tuple[Any, ...], dict[str, Any], str], ...] = (
    ("Attention", (X, floats(5, 24), B), {}, "rows of weights is 5 and 6"),
    ("Attention", (X, W, floats(23)), {}, "columns of weights is 23 and 24"),
    ("Attention", (X, floats(6, 25), None), {}, "25 is no multiple of 3"),
    ("Attention", (X, W, B, whole(3)), {}, r"mask_index has shape \(3\)"),
    ("Attention", (X, W, B, whole(2, 3)), {}, r"mask_index has shape \(2, 3\)"),
    ("Attention", (X, W, B, None, floats(2, 2, 2, 3, 5)), {}, "head size is 4 and 5"),
    ("Attention", (X, W, B), {"qkv_hidden_sizes": (8, 6, 10)}, "three were expected, two equal"),
    ("Attention", (X, W, B, None, None, floats(3, 2, 4, 4)), {}, "batch of attention_bias"),
    ("MultiHeadAttention", (Q, Q), {}, "key and value are required"),
    ("MultiHeadAttention", (Q, Q, floats(2, 5, 12)), {}, "number of keys is 4 and 5"),
    ("MultiHeadAttention", (Q, Q, Q, floats(35)), {}, "elements of bias is 35 and 36"),
    ("MultiHeadAttention", (Q, Q, Q, None, whole(4)), {}, r"key_padding_mask has shape \(4\)"),
    ("MultiHeadAttention", (Q, Q, Q, *[None] * 3, floats(2, 2, 3, 6)), {}, "one of them is absent"),
    ("MultiHeadAttention", (floats(2, 4, 2, 2, 6),), {}, "how many query holds is 2 and 3"),
    ("MultiHeadAttention", (floats(2, 4, 13), Q, Q), {}, "13 is no multiple of 2"),
    ("GroupQueryAttention", (GROUPED[0], GROUPED[1], None, *GROUPED[3:]), {}, "key and value come"),
    ("GroupQueryAttention", GROUPED, {"kv_num_heads": 3}, "4 is no multiple of 3"),
    ("GroupQueryAttention", (*GROUPED[:6], ints(5)), {}, "number of keys is 4 and 5"),
    ("GroupQueryAttention", GROUPED, {"do_rotary": 1}, "cos_cache and sin_cache come together"),
    ("GroupQueryAttention", (*GROUPED, *[floats(9, 5)] * 2), {}, "10 numbers of heads of 8"),
    ("GroupQueryAttention", GROUPED, {"causal": 0, "local_window_size": 3}, "-1 was expected"),
    ("GroupQueryAttention", GROUPED, {"outputs": 4}, "neither is stated"),
)


@pytest.mark.parametrize(("name", "operands", "attributes", "message"), WRONG)
def test_rules_name_what_does_not_fit(
    name: str, operands: tuple[Any, ...], attributes: dict[str, Any], message: str
):
    given = {"num_heads": 4 if name == "GroupQueryAttention" else 2, **attributes}
    if name == "GroupQueryAttention":
        given = {"kv_num_heads": 2, **given}
    with pytest.raises(TypeInferenceError, match=message):
        use(name, *operands, **given)


# -- what kills ---------------------------------------------------------------------------------


def test_deadly_uses_kill_the_process_they_run_in():
    with Prober() as prober:
        for domain, name, note in DEADLY:
            found = [i for i in INSTANCES.get((domain, name)) or () if i.note == note]
            graph, feeds = build((domain, name), found[0], F32)
            infer(graph)
            model = h.encode(graph, h.RUNTIME_OPSET)
            named = {v.name: f for v, f in zip(graph.inputs, feeds, strict=True)}
            assert prober.ask(Job(model.SerializeToString(), named))[0] == "crash"
