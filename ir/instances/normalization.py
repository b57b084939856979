"""normalization: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.instances import Arg, Instance

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

    Several = tuple[Instance, ...]


def _positive(shape: tuple[int, ...], dtype: str = "T", *, const: bool = False) -> Arg:
    return Arg(shape, dtype, low=0.5, high=2, const=const)


def _batch() -> Several:
    def use(
        shape: tuple[int, ...],
        note: str = "",
        *,
        others: str = "",
        const: bool = False,
        outputs: int = 1,
        **given: Any,
    ) -> Instance:
        channels = (shape[1],)
        t1, t2 = ("T1", "T2") if others else ("T", "T")
        operands = (
            Arg(shape),
            _positive(channels, t1, const=const),
            Arg(channels, t1, const=const),
            Arg(channels, t2, const=const),
            _positive(channels, t2, const=const),
        )
        bind = {"T1": others, "T2": others} if others else {}
        return Instance(operands, given, outputs, bind=bind, note=note)

    return (
        use((2, 3, 4, 5)),
        use((2, 3, 4), "constant statistics", const=True),
        use((2, 3), "vectors"),
        use((2, 3, 2, 2, 2), "volumes", epsilon=0.5, momentum=0.5),
        use((2, 3, 4, 5), "float32 statistics", others="float32"),
        use((2, 3, 4, 5), "training", outputs=3, training_mode=1),
        use(
            (2, 3), "training on vectors", outputs=3, training_mode=1, momentum=0.25, epsilon=0.125
        ),
    )


def _instance() -> Several:
    return (
        Instance((Arg((2, 3, 4, 5)), _positive((3,)), Arg((3,)))),
        Instance((Arg((2, 3, 4)), _positive((3,)), Arg((3,))), {"epsilon": 0.5}, note="epsilon"),
        Instance(
            (Arg((2, 3, 4, 5)), _positive((3,), const=True), Arg((3,), const=True)), note="constant"
        ),
    )


def _group() -> Several:
    def use(shape: tuple[int, ...], groups: int, note: str = "", **given: Any) -> Instance:
        channels = (shape[1],)
        operands = (Arg(shape), _positive(channels), Arg(channels))
        return Instance(operands, {"num_groups": groups, **given}, note=note)

    return (
        use((2, 4, 3, 2), 2),
        use((2, 4, 3), 4, "a channel each"),
        use((2, 4, 3), 1, "one group", epsilon=0.5),
    )


def _layer() -> Several:
    def use(
        axis: int | None, own: tuple[int, ...], note: str = "", *, bias: bool = True, **given: Any
    ) -> Instance:
        operands = (Arg((2, 3, 4)), _positive(own), *([Arg(own)] if bias else []))
        outputs = given.pop("outputs", 1)
        return Instance(operands, {"axis": axis, **given}, outputs, note=note)

    return (
        use(None, (4,)),
        use(-1, (4,), "no bias", bias=False),
        use(1, (3, 4), "two axes"),
        use(-2, (3, 4), "two axes from behind", epsilon=0.5),
        use(0, (2, 3, 4), "all axes"),
        use(1, (4,), "broadcast scale"),
        use(-1, (4,), "statistics", outputs=3),
        use(1, (3, 4), "statistics of two axes", outputs=3, bias=False),
    )


def _rms() -> Several:
    def use(axis: int | None, own: tuple[int, ...], note: str = "", **given: Any) -> Instance:
        return Instance((Arg((2, 3, 4)), _positive(own)), {"axis": axis, **given}, note=note)

    return (
        use(None, (4,)),
        use(1, (3, 4), "two axes"),
        use(-2, (3, 4), "two axes from behind", epsilon=0.5),
        use(0, (4,), "broadcast scale"),
    )


def _along() -> Several:
    ties = (1, 3, 3, 1, 2, 2)
    return (
        Instance((Arg((2, 3)),)),
        Instance((Arg((2, 3, 4)),), {"axis": 1}, note="inner axis"),
        Instance((Arg((2, 3, 4)),), {"axis": 0}, note="first axis"),
        Instance((Arg((2, 3, 4)),), {"axis": -2}, note="negative axis"),
        Instance((Arg((2, 3, 4)),), {"axis": 2}, note="last axis"),
        Instance((Arg((5,)),), {"axis": 0}, note="vector"),
        Instance((Arg((2, 3), values=ties),), {"axis": -1}, note="ties"),
        Instance((Arg((2, 3, 1)),), {"axis": 1}, note="before a dim of 1"),
        Instance((Arg((2, 3), low=-30, high=30),), note="large"),
    )


def _lrn() -> Several:
    return (
        Instance((Arg((2, 5, 3, 2)),), {"size": 3}),
        Instance(
            (Arg((2, 5, 3)),), {"size": 4, "alpha": 0.5, "beta": 0.6, "bias": 2.0}, note="even size"
        ),
        Instance((Arg((2, 2, 3)),), {"size": 7, "alpha": 0.5}, note="wider than the channels"),
    )


def _lp() -> Several:
    zeros = Arg((2, 3), values=(0, 0, 0, 3, 0, 4))
    return (
        Instance((Arg((2, 3, 4)),)),
        Instance((Arg((2, 3, 4)),), {"axis": 1, "p": 1}, note="p 1"),
        Instance((Arg((2, 3, 4)),), {"axis": 0, "p": 2}, note="p 2"),
        Instance((zeros,), {"axis": -1}, note="zero norm"),
        Instance((zeros,), {"axis": 1, "p": 1}, note="zero norm, p 1"),
    )


INSTANCES: dict[Key, Several] = {
    ("", "BatchNormalization"): _batch(),
    ("", "GroupNormalization"): _group(),
    ("", "Hardmax"): _along(),
    ("", "InstanceNormalization"): _instance(),
    ("", "LRN"): _lrn(),
    ("", "LayerNormalization"): _layer(),
    ("", "LogSoftmax"): _along(),
    ("", "LpNormalization"): _lp(),
    ("", "MeanVarianceNormalization"): (
        Instance((Arg((2, 3, 4, 5)),), {"axes": (0, 2, 3)}),
        Instance((Arg((2, 3, 4)),), {"axes": (1, 2)}, note="inner axes"),
        Instance((Arg((2, 3)),), {"axes": (-1,)}, note="last axis"),
    ),
    ("", "RMSNormalization"): _rms(),
    ("", "Softmax"): _along(),
}
