"""attention: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.instances import Arg, Instance

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

    Several = tuple[Instance, ...]


def _use(
    note: str = "",
    *,
    q: tuple[int, ...] = (2, 3, 4, 8),
    k: tuple[int, ...] = (2, 3, 6, 8),
    v: tuple[int, ...] | None = None,
    mask: Arg | None = None,
    past: int | None = None,
    nonpad: tuple[int, ...] | None = None,
    outputs: int = 1,
    values: str = "T1",
    dtypes: tuple[str, ...] = (),
    **given: Any,
) -> Instance:
    """One Attention; `past` is how many keys went before, `nonpad` how many count."""
    v = (*k[:-1], 5) if v is None else v
    operands: list[Arg | None] = [Arg(q, "T1"), Arg(k, "T1"), Arg(v, values), mask]
    if past is None:
        operands += [None, None]
    else:
        heads = k[1] if len(k) == 4 else given["kv_num_heads"]
        sizes = (k[3], v[3]) if len(k) == 4 else (k[2] // heads, v[2] // heads)
        kinds = ("T1", values)
        operands += [Arg((k[0], heads, past, n), t) for n, t in zip(sizes, kinds, strict=True)]
    operands.append(None if nonpad is None else Arg((len(nonpad),), "int64", nonpad))
    while operands[-1] is None:
        operands.pop()
    return Instance(tuple(operands), given, outputs, "T1", note, dtypes)


def _seen(*shape: int) -> Arg:
    return Arg(shape, "bool")


def _rows(*rows: str) -> Arg:
    """A mask of truth values, one text of 1 and 0 a query."""
    values = [[c == "1" for c in row] for row in rows]
    return Arg((len(rows), len(rows[0])), "bool", values)


def _attention() -> Several:
    split: dict[str, Any] = {"q": (2, 4, 24), "k": (2, 6, 24), "v": (2, 6, 15)}
    three: dict[str, Any] = {"q_num_heads": 3, "kv_num_heads": 3}
    square: dict[str, Any] = {"k": (2, 3, 4, 8)}
    ready: dict[str, Any] = {"k": (2, 3, 6, 8), "nonpad": (5, 4)}
    empty_row = _rows("111000", "000000", "101010", "000001")
    return (
        _use(),
        _use("rank 3", **split, **three),
        _use("groups", q=(2, 6, 4, 8), k=(2, 2, 6, 8)),
        _use("one head of keys, rank 3", q=(2, 4, 32), k=(2, 6, 8), v=(2, 6, 5), q_num_heads=4,
             kv_num_heads=1),
        _use("scale", scale=0.3),
        _use("causal", **square, is_causal=1),
        _use("causal, more keys", is_causal=1),
        _use("causal, fewer keys", k=(2, 3, 2, 8), is_causal=1),
        _use("softcap", softcap=1.5),
        _use("truth", mask=_seen(4, 6)),
        _use("truth of keys alone", mask=_seen(6)),
        _use("a row without keys", mask=empty_row),
        _use("bias", mask=Arg((2, 3, 4, 6), "T1")),
        _use("bias of each head", mask=Arg((3, 1, 6), "T1")),
        _use("float32 bias", mask=Arg((4, 6), "float32")),
        _use("whole bias", mask=Arg((4, 6), "int64", low=-2, high=2)),
        _use("truth, causal", mask=_seen(2, 1, 4, 6), is_causal=1),
        _use("bias, causal, rank 3", **split, **three, mask=Arg((4, 6), "T1"), is_causal=1),
        _use("past", past=3, outputs=3),
        _use("past, causal, masked", past=3, outputs=3, mask=_seen(4, 9), is_causal=1),
        _use("past, groups, rank 3", q=(2, 4, 32), k=(2, 6, 16), v=(2, 6, 10), q_num_heads=4,
             kv_num_heads=2, past=2, outputs=3, is_causal=1),
        *(
            _use(f"scores {mode}", outputs=4, mask=empty_row, softcap=2.0, past=None,
                 qk_matmul_output_mode=mode)
            for mode in range(4)
        ),
        _use("scores 3 of groups", q=(2, 6, 4, 8), k=(2, 2, 6, 8), outputs=4,
             qk_matmul_output_mode=3),
        _use("scores 2, causal", outputs=4, is_causal=1, qk_matmul_output_mode=2),
        _use("softmax in float16", dtypes=("float16", "bfloat16"), outputs=4,
             softmax_precision=10, qk_matmul_output_mode=3),
        _use("softmax in float32", dtypes=("float32", "float16", "bfloat16"),
             softmax_precision=1, mask=_seen(4, 6)),
        _use("softmax in float64", softmax_precision=11, is_causal=1),
        _use("some keys count", **ready),
        _use("some keys count, causal", **ready, is_causal=1),
        _use("fewer keys count than queries", nonpad=(2, 6), is_causal=1),
        _use("some keys count, masked", **ready, mask=Arg((4, 6), "T1")),
        _use("a short mask", mask=_seen(4, 4)),
        _use("a short mask, causal", mask=Arg((2, 1, 4, 5), "T1"), is_causal=1),
        _use("left window", left_window_size=1, right_window_size=0),
        _use("both windows, causal", left_window_size=2, right_window_size=1, is_causal=1),
        _use("window, masked", left_window_size=1, mask=Arg((3, 4, 5), "T1")),
        _use("window, truth", right_window_size=1, mask=_seen(6)),
        _use("window, past", left_window_size=2, past=3, outputs=3, is_causal=1),
        _use("window, some keys count", left_window_size=1, **ready, is_causal=1),
        _use("values of another type", values="float32"),
    )  # fmt: skip


def _rotary() -> Several:
    def use(
        note: str = "",
        *,
        x: tuple[int, ...] = (2, 3, 4, 8),
        half: int = 4,
        places: bool = True,
        **given: Any,
    ) -> Instance:
        batch, length = x[0], x[-2]
        angles = Arg((6, half) if places else (batch, length, half), low=-1, high=1)
        if not places:
            return Instance((Arg(x), angles, angles), given, note=note)
        drawn = [(2 * i) % 6 for i in range(batch * length)]
        return Instance(
            (Arg(x), angles, angles, Arg((batch, length), "int64", drawn)), given, note=note
        )

    return (
        use(),
        use("interleaved", interleaved=1),
        use("rank 3", x=(2, 4, 24), num_heads=3),
        use("rank 3, interleaved", x=(2, 4, 24), num_heads=3, interleaved=1),
        use("in part", half=2, rotary_embedding_dim=4),
        use("in part, rank 3, interleaved", x=(2, 4, 24), half=3, rotary_embedding_dim=6,
            num_heads=3, interleaved=1),
        use("angles of each token", places=False),
        use("angles of each token, rank 3, in part", x=(2, 4, 24), half=2, places=False,
            num_heads=3, rotary_embedding_dim=4),
    )  # fmt: skip


def _linear() -> Several:
    def use(
        rule: str,
        note: str = "",
        *,
        heads: tuple[int, int] = (2, 2),
        length: int = 5,
        sizes: tuple[int, int] = (3, 4),
        past: str = "",
        decay: int | None = None,
        beta: int | None = None,
        **given: Any,
    ) -> Instance:
        queries, keys = heads
        operands: list[Arg | None] = [
            Arg((2, length, queries * sizes[0]), low=-1, high=1),
            Arg((2, length, keys * sizes[0]), low=-0.5, high=0.5),
            Arg((2, length, keys * sizes[1]), low=-1, high=1),
            Arg((2, keys, *sizes), past, low=-1, high=1) if past else None,
            None if decay is None else Arg((2, length, decay), low=-1, high=0),
            None if beta is None else Arg((2, length, beta), low=0, high=1),
        ]
        while operands[-1] is None:
            operands.pop()
        attributes = {"q_num_heads": queries, "kv_num_heads": keys, "update_rule": rule, **given}
        return Instance(tuple(operands), attributes, 2, note=note)

    return (
        use("linear"),
        use("gated", "decay of each key", decay=6),
        use("gated", "decay of each head", decay=2),
        use("delta", beta=2),
        use("gated_delta", decay=6, beta=2),
        use("gated_delta", "one beta, past", decay=6, beta=1, past="T"),
        use("gated_delta", "groups", heads=(4, 2), decay=2, beta=2, past="T", scale=0.5),
        use("gated_delta", "float32 state", decay=6, beta=2, past="float32"),
        use("delta", "one token", length=1, beta=2, past="T"),
        use("linear", "one token, no past", length=1),
        use("gated", "one head of keys", heads=(3, 1), decay=3, past="T"),
    )


def _causal_conv() -> Several:
    def use(
        note: str = "",
        *,
        length: int = 5,
        taps: int = 3,
        bias: bool = False,
        past: bool = False,
        **given: Any,
    ) -> Instance:
        operands: list[Arg | None] = [Arg((2, 4, length)), Arg((4, 1, taps))]
        operands += [Arg((4,)) if bias else None, Arg((2, 4, taps - 1)) if past else None]
        while operands[-1] is None:
            operands.pop()
        return Instance(tuple(operands), given, 2, note=note)

    return (
        use(),
        use("bias", bias=True),
        use("past", past=True),
        use("bias, past", bias=True, past=True, activation="silu"),
        use("swish", activation="swish"),
        use("one tap", taps=1),
        use("shorter than the kernel", length=1, taps=4),
        use("one token", length=1, past=True, activation="silu"),
    )


INSTANCES: dict[Key, Several] = {
    ("", "Attention"): _attention(),
    ("", "CausalConvWithState"): _causal_conv(),
    ("", "LinearAttention"): _linear(),
    ("", "RotaryEmbedding"): _rotary(),
    ("", "SwiGLU"): (
        Instance((Arg((2, 3, 4)), Arg((2, 3, 4)))),
        Instance((Arg((2, 3)), Arg((2, 3))), {"alpha": 1.702}, note="alpha"),
        Instance((Arg(()), Arg(())), note="scalar"),
    ),
}
