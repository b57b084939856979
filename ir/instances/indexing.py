"""indexing: small well-typed instances of each operator."""

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.opdef import Key


def _ints(shape: tuple[int, ...], values: object, dtype: str = "int64") -> Arg:
    """Indices that are known at run time only."""
    return Arg(shape, dtype, values)


def _const(shape: tuple[int, ...], values: object, dtype: str = "int64") -> Arg:
    return Arg(shape, dtype, values, const=True)


def _number(value: float, dtype: str = "float32") -> Arg:
    return Arg((1,), dtype, [value], const=True)


_X = Arg((3, 4))
_CUBE = Arg((2, 3, 2))
_NUMBERS = ("float32", "float64", "float16", "int32", "int64")
_BOXES = Arg(
    (1, 6, 4),
    "float32",
    [
        [0.0, 0.0, 1.0, 1.0],
        [0.0, 0.1, 1.0, 1.1],
        [0.0, -0.1, 1.0, 0.9],
        [0.0, 10.0, 1.0, 11.0],
        [1.0, 11.1, 0.0, 10.1],
        [0.0, 100.0, 1.0, 101.0],
    ],
)
_SCORES = Arg(
    (1, 2, 6), "float32", [[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.3, 0.3, 0.9, 0.2, 0.9, 0]]
)


def _suppress(*operands: Arg | None, note: str = "", **attributes: int) -> Instance:
    return Instance((_BOXES, _SCORES, *operands), attributes, main="tensor(float)", note=note)


def _scatter(reduction: str | None, indices: Arg, updates: Arg, **attributes: int) -> Instance:
    given = {**attributes, **({} if reduction is None else {"reduction": reduction})}
    return Instance(
        (_X, indices, updates), given, dtypes=_NUMBERS if reduction else (), note=reduction or ""
    )


INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "Gather"): (
        Instance((_X, _ints((2, 2), [[0, 2], [-1, 1]]))),
        Instance((_X, _ints((3,), [3, 3, -4])), {"axis": -1}, note="duplicates"),
        Instance((_X, _const((), 1)), {"axis": 1}, note="scalar"),
        Instance((_X, _ints((2,), [0, 1], "int32"))),
        Instance((_X, _ints((0,), [])), note="nothing"),
    ),
    ("", "GatherElements"): (
        Instance((_X, _ints((2, 4), [[0, 1, 2, -1], [1, 1, -3, 0]]))),
        Instance((_X, _ints((3, 2), [[0, 3], [1, -1], [2, 2]], "int32")), {"axis": -1}),
        Instance((_X, _ints((0, 4), [])), note="nothing"),
        Instance((_X, _ints((2, 2), [[0, 1], [2, 0]])), note="fewer along other axes"),
    ),
    ("", "GatherND"): (
        Instance((_CUBE, _ints((2, 2), [[0, 1], [1, -1]]))),
        Instance((_CUBE, _ints((2, 3), [[0, 1, 1], [-2, 0, 0]])), note="elements"),
        Instance((_CUBE, _ints((2, 1), [[2], [-3]])), {"batch_dims": 1}),
        Instance((_CUBE, _ints((2, 4, 1), [[0, 1, 2, 0], [2, 2, -1, 1]])), {"batch_dims": 1}),
        Instance((_CUBE, _ints((2, 3, 1), [[[0], [1], [0]], [[1], [1], [-1]]])), {"batch_dims": 2}),
        Instance((_CUBE, _ints((0, 2), [])), note="nothing"),
    ),
    ("", "ScatterElements"): (
        _scatter(None, _ints((2, 4), [[0, 1, 2, -1], [1, 0, 0, 0]]), Arg((2, 4))),
        _scatter(None, _ints((3, 2), [[0, 3], [1, -1], [2, 0]], "int32"), Arg((3, 2)), axis=1),
        *(
            _scatter(how, _ints((2, 4), [[0, 1, 2, 0], [0, 1, -1, 0]]), Arg((2, 4)))
            for how in ("add", "mul", "max", "min")
        ),
        _scatter(None, _ints((0, 4), []), Arg((0, 4))),
    ),
    ("", "ScatterND"): (
        _scatter(None, _ints((2, 1), [[0], [-1]]), Arg((2, 4))),
        _scatter(None, _ints((2, 2), [[0, 1], [2, -1]]), Arg((2,))),
        *(
            _scatter(how, _ints((3, 1), [[1], [1], [-3]]), Arg((3, 4)))
            for how in ("add", "mul", "max", "min")
        ),
        _scatter(None, _ints((0, 1), []), Arg((0, 4))),
    ),
    ("", "TensorScatter"): (
        Instance((Arg((2, 3, 5, 2)), Arg((2, 3, 2, 2)), _ints((2,), [1, 3]))),
        Instance((Arg((2, 5, 3)), Arg((2, 2, 3))), note="from the start"),
        Instance(
            (Arg((2, 3, 5)), Arg((2, 3, 3)), _ints((2,), [1, 4])), {"axis": -1, "mode": "circular"}
        ),
        Instance((Arg((2, 5)), Arg((2, 0)), _ints((2,), [1, 3])), {"axis": 1}, note="nothing"),
    ),
    ("", "OneHot"): tuple(
        Instance((indices, depth, Arg((2,), "T3", [2, 5])), attributes, main="T3", note=note)
        for indices, depth, attributes, note in (
            (_ints((2, 3), [[0, 3, -1], [4, -5, 2]]), _const((), 4), {}, ""),
            (_ints((3,), [0, 3, 1]), _const((1,), [4]), {"axis": 0}, "first"),
            (_ints((2, 2), [[0, 1], [1, 0]]), _ints((), 3), {"axis": -2}, "run-time depth"),
            (Arg((3,), "float32", [0, 1, -1]), _number(3.0), {"axis": 1}, "floats"),
            (_ints((0,), []), _const((), 2), {}, "empty"),
        )
    ),
    ("", "TopK"): (
        Instance((Arg((3, 5)), Arg.ints(3)), outputs=2),
        Instance((Arg((3, 5)), Arg.ints(2)), {"largest": 0, "axis": 0}, outputs=2),
        Instance(
            (Arg((2, 6), "T", [[1, 3, 3, 0, 3, 1], [2, 2, 2, 2, 2, 2]]), Arg.ints(4)),
            outputs=2,
            note="ties",
        ),
        Instance((Arg((3, 5)), _ints((1,), [2])), {"axis": -2}, outputs=2, note="run-time k"),
        Instance((Arg((3, 5)), Arg.ints(5)), outputs=2, note="all"),
    ),
    ("", "NonZero"): (
        Instance((Arg((3, 4), low=-1, high=1),)),
        Instance((Arg((3,), "T", [0, 1, 0]),)),
        Instance((Arg((0, 2)),), note="empty"),
    ),
    ("", "Compress"): (
        Instance((_X, Arg((3,), "bool", [1, 0, 1])), {"axis": 0}),
        Instance((_X, Arg((3,), "bool", [0, 1, 1], const=True)), {"axis": -1}, note="shorter"),
        Instance((_X, Arg((7,), "bool", [0, 1, 0, 0, 1, 1, 0])), note="flattened"),
        Instance((_X, Arg((2,), "bool", [0, 0])), {"axis": 1}, note="nothing"),
    ),
    ("", "Unique"): (
        Instance((Arg((6,), "T", [2, 1, 1, 3, 4, 3]),), outputs=4),
        Instance((Arg((6,), "T", [2, 1, 1, 3, 4, 3]),), {"sorted": 0}, outputs=4, note="unsorted"),
        Instance((Arg((3, 2), "T", [[1, 0], [1, 0], [0, 1]]),), {"axis": 0}, outputs=4),
        Instance((Arg((2, 3), "T", [[3, 1, 3], [4, 1, 4]]),), {"axis": -1, "sorted": 0}, outputs=4),
        Instance((Arg((2, 2), "T", [[1, 0], [0, 1]]),), note="flattened"),
    ),
    ("", "NonMaxSuppression"): (
        _suppress(_number(3, "int64"), _number(0.5), _number(0.25)),
        _suppress(_number(2, "int64"), _number(0.5), note="no score threshold"),
        _suppress(_number(9, "int64"), note="no thresholds"),
        _suppress(note="nothing"),
        _suppress(_number(3, "int64"), _number(0.4), _number(0.0), center_point_box=1),
    ),
}
