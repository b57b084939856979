"""transformers: small well-typed uses of each attention of onnxruntime's own domain.

Among them are forms that the definition has and onnxruntime's CPU kernels refuse: keys and values
packed into one operand, masks of four dims, normalized queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.schema_microsoft import DOMAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.opdef import Key

    Several = tuple[Instance, ...]

LOWEST = -3.4028234663852886e38


def _whole(*values: int) -> Arg:
    """int32 lengths, places or counts, which an op takes as they are."""
    return Arg((len(values),), "int32", values)


def _rows(*rows: str, shape: tuple[int, ...] | None = None) -> Arg:
    """An int32 mask, one text of digits a row."""
    values = [[int(c) for c in row] for row in rows]
    return Arg(shape or (len(rows), len(rows[0])), "int32", values)


def _made(
    operands: Sequence[Arg | None], given: dict[str, Any], outputs: int, note: str
) -> Instance:
    found = [*operands]
    while found[-1] is None:
        found.pop()
    return Instance(tuple(found), given, outputs, note=note)


def _attention() -> Several:
    def use(
        note: str = "",
        *,
        mask: Arg | None = None,
        past: int | None = None,
        added: tuple[int, ...] | None = None,
        length: int = 4,
        columns: int = 24,
        stated: Arg | None = None,
        bias: bool = True,
        const: bool = False,
        outputs: int = 1,
        **given: Any,
    ) -> Instance:
        """Two sequences of six numbers a token; eight of Q and of K make two heads."""
        kept = None if past is None else Arg((2, 2, 2, past, 4))
        operands = [
            Arg((2, length, 6)),
            Arg((6, columns), low=-1.0, high=1.0, const=const),
            Arg((columns,), const=const) if bias else None,
            mask,
            kept,
            None if added is None else Arg(added),
            stated,
        ]
        outputs = outputs if past is None else 2
        return _made(operands, {"num_heads": 2, **given}, outputs, note)

    scores = _rows("1100", "1010", "0000", "1111", "0011", "0001", "1110", "1000", shape=(2, 4, 4))
    causal: dict[str, Any] = {"unidirectional": 1}
    return (
        use(),
        use("no bias", bias=False),
        use("constant weights", const=True),
        use("scale", scale=0.3),
        use("scale 0", scale=0.0),
        use("present", outputs=2),
        use("keys that count", mask=_rows("1110", "1000")),
        use("numbers below and above", mask=Arg((2, 4), "int32", (2, 1, -3, 0, 5, 0, 0, -1))),
        use("no key counts", mask=_rows("0000", "1111")),
        use("a mask that says nothing", mask=Arg((2, 1), "int32", (0, 0))),
        use("a mask that says nothing, of one", mask=Arg((1, 1), "int32", (0,))),
        use("scores that count", mask=scores),
        use("a mask of four dims", mask=Arg((2, 1, 6, 6), "int32", low=0, high=1)),
        use("lengths", mask=_whole(3, 1)),
        use("length 0, and beyond", mask=_whole(0, 9)),
        use("ends and starts", mask=_whole(4, 3, 1, 2)),
        use("lengths and their sums", mask=_whole(3, 2, 0, 3, 5, 0, 3, 5)),
        use("filtered mildly", mask=_rows("1110", "1000"), mask_filter_value=-2.0),
        use("filtered by the lowest", mask=_rows("1110", "0011"), mask_filter_value=LOWEST),
        use("causal", **causal),
        use("causal, keys that count", mask=_rows("1110", "0001"), **causal),
        use("causal, the first keys filtered by the lowest", mask=_rows("0011", "0001"),
            mask_filter_value=LOWEST, **causal),
        use("causal, scores that count", mask=scores, **causal),
        use("causal, ends and starts", mask=_whole(4, 3, 1, 2), **causal),
        use("added", added=(2, 2, 4, 4)),
        use("added to every sequence", added=(1, 2, 4, 4)),
        use("added to every head", added=(2, 1, 4, 4)),
        use("added to all, masked, causal", added=(1, 1, 4, 4), mask=_rows("1110", "1011"),
            **causal),
        use("values of another size", columns=22, qkv_hidden_sizes=(8, 8, 6)),
        use("sizes that are stated", columns=24, qkv_hidden_sizes=(8, 8, 8)),
        use("past", past=3),
        use("past, one token", past=5, length=1),
        use("no past yet", past=0),
        use("past, masked, causal", past=2, mask=_rows("101011", "110001"), **causal),
        use("past, lengths", past=2, mask=_whole(5, 6)),
        use("past, scores that count, causal", past=1,
            mask=Arg((2, 4, 5), "int32", low=0, high=1), **causal),
        use("shared buffer", past=8, stated=_whole(2), past_present_share_buffer=1),
    )  # fmt: skip


def _multi_head() -> Several:
    def use(
        note: str = "",
        *,
        q: tuple[int, ...] = (2, 4, 12),
        k: tuple[int, ...] | None = (2, 6, 12),
        v: tuple[int, ...] | None = (2, 6, 15),
        bias: int | None = None,
        mask: Arg | None = None,
        added: tuple[int, ...] | None = None,
        past: int | None = None,
        stated: int | None = None,
        beams: Arg | None = None,
        outputs: int = 1,
        **given: Any,
    ) -> Instance:
        """Two sequences, three heads of four numbers (the values' of five)."""
        kept = None if past is None else Arg((q[0], 3, past, 4))
        operands = [
            Arg(q),
            None if k is None else Arg(k),
            None if v is None else Arg(v),
            None if bias is None else Arg((bias,)),
            mask,
            None if added is None else Arg(added),
            kept,
            kept,
            None if stated is None else _whole(stated),
            beams,
        ]
        return _made(operands, {"num_heads": 3, **given}, outputs, note)

    own: dict[str, Any] = {"k": (2, 4, 12), "v": (2, 4, 12)}
    token: dict[str, Any] = {"q": (2, 1, 12), "k": (2, 1, 12), "v": (2, 1, 12)}
    after: dict[str, Any] = {**own, "past": 3, "outputs": 3}
    scored: dict[str, Any] = {**after, "outputs": 4}
    unkept: dict[str, Any] = {**after, "outputs": 1}
    longer: dict[str, Any] = {**after, "k": (2, 6, 12), "v": (2, 6, 12)}
    causal: dict[str, Any] = {"unidirectional": 1}
    ready: dict[str, Any] = {"k": (2, 3, 6, 4), "v": (2, 3, 6, 4)}
    six = _rows("111010", "110000")
    return (
        use(),
        use("scale", scale=0.3),
        use("bias", bias=39),
        use("present", outputs=3),
        use("scores", outputs=4, mask=six),
        use("lengths", mask=_whole(3, 6)),
        use("length beyond, and 0", mask=_whole(9, 0)),
        use("lengths and their sums", mask=_whole(3, 6, 0, 4, 8, 0, 3, 9)),
        use("keys that count", mask=six),
        use("scores that count", mask=Arg((2, 4, 6), "int32", low=0, high=1)),
        use("filtered mildly", mask=six, mask_filter_value=-3.0),
        use("added", added=(2, 3, 4, 6)),
        use("added to every sequence", added=(1, 3, 4, 6)),
        use("added to every head, masked", added=(2, 1, 4, 6), mask=six),
        use("added to all", added=(1, 1, 4, 6), bias=39),
        use("causal", **own, **causal),
        use("causal, scores", **own, outputs=4, **causal),
        use("causal, fewer keys", k=(2, 2, 12), v=(2, 2, 12), **causal),
        use("causal, more keys", **causal),
        use("causal, one query", q=(2, 1, 12), **causal),
        use("causal, the first keys filtered by the lowest", **own, mask=_rows("0011", "1111"),
            mask_filter_value=LOWEST, **causal),
        use("past", **after),
        use("past, bias, scores", **scored, bias=36),
        use("past, causal", **after, **causal),
        use("past, masked", **after, mask=_rows("1101011", "1000001")),
        use("past, lengths", **after, mask=_whole(5, 7)),
        use("past, new keys that count", **after, mask=_rows("1101", "1000")),
        use("past, everything", **scored, bias=36, added=(1, 3, 4, 7),
            mask=Arg((2, 4, 7), "int32", low=0, high=1), **causal),
        use("past, other keys", **longer),
        use("past, one token", **token, past=5, outputs=3),
        use("past that is not handed on", **unkept),
        use("shared buffer", **token, past=8, stated=3, outputs=3),
        use("shared buffer, several tokens", **own, past=8, stated=3, outputs=4,
            added=(1, 1, 4, 7)),
        use("shared buffer, masked", **token, past=8, stated=3, outputs=3,
            mask=_rows("1011", "1101")),
        use("beams", **token, past=6, stated=3, outputs=3,
            beams=Arg((1, 2, 6), "int32", (0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0))),
        use("keys that are ready", **ready),
        use("keys that are ready, bias", **ready, bias=36, mask=six),
        use("packed", q=(2, 4, 3, 3, 4), k=None, v=None),
        use("packed keys", k=(2, 6, 3, 2, 4), v=None),
    )  # fmt: skip


def _grouped() -> Several:
    def use(
        note: str = "",
        *,
        batch: int = 2,
        length: int = 4,
        past: int | None = None,
        lengths: tuple[int, ...] | None = None,
        total: int | None = None,
        new: int | None = None,
        size: int = 16,
        half: int | None = None,
        places: tuple[int, ...] | None = None,
        added: tuple[int, ...] | None = None,
        sink: bool = False,
        packed: bool = False,
        norm: bool = False,
        outputs: int = 3,
        const: bool = False,
        **given: Any,
    ) -> Instance:
        """Four heads of queries share two of keys."""
        new = length if new is None else new
        total = (past or 0) + new if total is None else total
        lengths = (total - 1,) * batch if lengths is None else lengths
        angles = None if half is None else Arg((12, half), low=-1, high=1)
        kept = None if past is None else Arg((batch, 2, past, size))
        fresh = None if packed else Arg((batch, new, 2 * size))
        weight = Arg((size,)) if norm else None
        operands = [
            Arg((batch, length, (8 if packed else 4) * size)),
            fresh,
            fresh,
            kept,
            kept,
            Arg((batch,), "int32", lengths, const=const),
            Arg((), "int32", total, const=const),
            angles,
            angles,
            None if places is None else Arg((batch, length), "int64", places),
            None if added is None else Arg(added),
            Arg((4,)) if sink else None,
            None,
            None,
            weight,
            weight,
        ]
        given = {"num_heads": 4, "kv_num_heads": 2, **given}
        return _made(operands, given, outputs, note)

    turned: dict[str, Any] = {"half": 8, "do_rotary": 1}
    token: dict[str, Any] = {"length": 1, "past": 5}
    chunk: dict[str, Any] = {"batch": 1, "length": 3, "past": 5}
    # rows that are left over hold whatever lies in memory: none is here
    dropping: dict[str, Any] = {"sliding_window_cache": 1, "const": True}
    roomy: dict[str, Any] = {**chunk, "past": 8}
    return (
        use(),
        use("one result", outputs=1),
        use("constant lengths", const=True),
        use("packed", packed=True),
        use("heads of eight", size=8),
        use("heads of four", size=4),
        use("scale", scale=0.3),
        use("both ways", causal=0),
        use("softcap", softcap=1.5),
        use("window", local_window_size=2),
        use("window of one", local_window_size=1),
        use("window of none", local_window_size=0),
        use("window wider than all", local_window_size=9, softcap=2.0),
        use("smooth", smooth_softmax=1),
        use("sink", sink=True),
        use("sink, softcap, window", sink=True, softcap=1.5, local_window_size=2),
        use("added", added=(2, 4, 4, 4)),
        use("added to every sequence, softcap", added=(1, 4, 4, 4), softcap=1.5),
        use("added to every head, sink", added=(2, 1, 4, 4), sink=True),
        use("added to all", added=(1, 1, 4, 4)),
        use("scores", outputs=4, causal=0, const=True, qk_output=1, softcap=2.0,
            added=(1, 1, 4, 4)),
        use("weights", outputs=4, causal=0, qk_output=2, sink=True, const=True),
        use("shorter sequences", lengths=(3, 1)),
        use("shorter sequences, both ways", lengths=(3, 1), causal=0),
        use("rotated", **turned),
        use("rotated, interleaved", **turned, rotary_interleaved=1),
        use("rotated, packed", **turned, packed=True),
        use("rotated in part", size=32, half=8, do_rotary=1),
        use("rotated from a position", **turned, places=(3, 4, 5, 6, 0, 1, 2, 3)),
        use("angles that are not used", half=8),
        use("normalized", norm=True),
        use("one token", **token),
        use("one token, shorter sequences", **token, lengths=(5, 2)),
        use("one token, rotated", **token, **turned, lengths=(5, 2)),
        use("one token, positions", **token, **turned, places=(7, 1)),
        use("one token, window, added", **token, local_window_size=2, added=(2, 1, 1, 6)),
        use("one token, scores", **token, outputs=4, qk_output=1, const=True),
        use("one token, packed, smooth", **token, packed=True, smooth_softmax=1),
        use("one token, past that is not handed on", **token, outputs=1),
        use("one token, first of all", length=1, past=0),
        use("a buffer", length=1, past=8, total=6, lengths=(5, 3)),
        use("a buffer, prompt", past=8, total=4),
        use("a buffer, several tokens", **roomy, total=6),
        use("several tokens", **chunk),
        use("several tokens, rotated", **chunk, **turned),
        use("several tokens, positions", **chunk, **turned, places=(2, 0, 9)),
        use("several tokens, both ways", **chunk, causal=0),
        use("several tokens, window, sink", **chunk, local_window_size=2, sink=True),
        use("keys of another layer", **chunk, new=0, total=5),
        use("old keys dropped", **token, **dropping, local_window_size=5, total=10),
        use("old keys dropped, several at once", length=1, past=6, total=10, lengths=(9, 5),
            **dropping, local_window_size=3),
        use("old keys dropped, several tokens", **chunk, **dropping, local_window_size=5, total=9),
        use("old keys dropped, more tokens than rows", batch=1, length=7, past=4, total=12,
            **dropping, local_window_size=4),
        use("old keys dropped, prompt", past=3, total=4, **dropping, local_window_size=3),
        use("old keys dropped, added", **token, **dropping, local_window_size=5, total=10,
            added=(1, 1, 1, 10)),
        use("old keys dropped, rotated, sink", **token, **dropping, **turned, local_window_size=5,
            total=10, sink=True),
    )  # fmt: skip


INSTANCES: dict[Key, Several] = {
    (DOMAIN, "Attention"): _attention(),
    (DOMAIN, "GroupQueryAttention"): _grouped(),
    (DOMAIN, "MultiHeadAttention"): _multi_head(),
}
