"""reduction: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.instances import Arg, Instance

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

    Several = tuple[Instance, ...]


def _reduce(low: float = -4, high: float = 4) -> Several:
    def use(
        shape: tuple[int, ...],
        axes: tuple[int, ...] | None,
        note: str,
        *,
        const: bool = True,
        **given: Any,
    ) -> Instance:
        data = Arg(shape, low=low, high=high)
        if axes is None:
            return Instance((data,), given, note=note)
        return Instance((data, Arg((len(axes),), "int64", axes, const=const)), given, note=note)

    return (
        use((2, 3, 4), (1,), "one axis"),
        use((2, 3, 4), (1,), "pruned", keepdims=0),
        use((2, 3, 4), (-1, 0), "two axes", keepdims=0),
        use((2, 3, 4), None, "all"),
        use((2, 3, 4), None, "all pruned", keepdims=0),
        use((2, 3, 4), (), "empty axes"),
        use((2, 3), (), "empty axes do nothing", noop_with_empty_axes=1),
        use((2, 3), None, "no axes do nothing", noop_with_empty_axes=1, keepdims=0),
        use((2, 3), (0,), "noop with axes", noop_with_empty_axes=1),
        use((2, 3, 4), (1,), "axes at run time", const=False),
        use((2, 3, 4), (0, -1), "axes at run time pruned", const=False, keepdims=0),
        use((), None, "scalar"),
        use((5,), (0,), "vector", keepdims=0),
    )


def _reduce_nothing() -> Several:
    """Over an axis of no elements, where the result is specified."""
    return (
        Instance((Arg((2, 0, 3)), Arg.ints(1)), note="of nothing"),
        Instance((Arg((2, 0, 3)), Arg.ints(0)), note="to nothing"),
    )


def _argument() -> Several:
    tied = Arg((2, 4), values=(1, 3, 3, 1, 2, 0, 2, 0))
    return (
        Instance((Arg((2, 3, 4)),)),
        Instance((Arg((2, 3, 4)),), {"axis": 1, "keepdims": 0}, note="pruned"),
        Instance((Arg((2, 3, 4)),), {"axis": -1}, note="last axis"),
        Instance((Arg((5,)),), {"axis": 0, "keepdims": 0}, note="vector"),
        Instance((tied,), {"axis": 1}, note="ties, first"),
        Instance((tied,), {"axis": 1, "select_last_index": 1}, note="ties, last"),
        Instance(
            (tied,), {"axis": -1, "select_last_index": 1, "keepdims": 0}, note="ties, last, pruned"
        ),
    )


def _cumulative() -> Several:
    def use(
        axis: int, note: str = "", *, const: bool = True, axis_dtype: str = "int64", **given: int
    ) -> Instance:
        place = Arg((), "T2", axis, const=const)
        data = Arg((2, 3, 4), low=0, high=3)
        return Instance((data, place), given, bind={"T2": axis_dtype}, note=note)

    return (
        use(1),
        use(-1, "last axis", axis_dtype="int32"),
        use(0, "axis at run time", const=False),
        use(1, "exclusive", exclusive=1),
        use(1, "reverse", reverse=1),
        use(1, "exclusive reverse", exclusive=1, reverse=1),
        Instance(
            (Arg((5,), low=0, high=2), Arg((), "T2", 0, const=True)),
            bind={"T2": "int64"},
            note="vector",
        ),
    )


INSTANCES: dict[Key, Several] = {
    ("", "ArgMax"): _argument(),
    ("", "ArgMin"): _argument(),
    ("", "CumProd"): _cumulative(),
    ("", "CumSum"): _cumulative(),
    ("", "ReduceL1"): _reduce() + _reduce_nothing(),
    ("", "ReduceL2"): _reduce() + _reduce_nothing(),
    ("", "ReduceLogSum"): _reduce(0.25, 4) + _reduce_nothing(),
    ("", "ReduceLogSumExp"): _reduce() + _reduce_nothing(),
    ("", "ReduceMax"): _reduce() + _reduce_nothing(),
    ("", "ReduceMean"): _reduce(),
    ("", "ReduceMin"): _reduce() + _reduce_nothing(),
    ("", "ReduceProd"): _reduce(1, 2) + _reduce_nothing(),
    ("", "ReduceSum"): _reduce() + _reduce_nothing(),
    ("", "ReduceSumSquare"): _reduce() + _reduce_nothing(),
}
