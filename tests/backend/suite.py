"""The cases of onnx's own backend suite, of every kind, by name and with their values loaded.

Kinds are those of `onnx.backend.test`: `node` (one operator, made in memory), `simple`,
`pytorch-converted` and `pytorch-operator` (files with recorded values), and `light` (nine classic
networks whose weights are made by ConstantOfShape; the suite calls them `real`).
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnx import ModelProto, TypeProto
    from onnx.backend.test.case.test_case import TestCase

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")


class Case(NamedTuple):
    """A model, and what it gives for what.

    Attributes:
        kind: one of `KINDS`.
        load: reads the model.
        values: pairs of inputs and wanted outputs.
        rtol, atol: the suite's own tolerance.
    """

    name: str
    kind: str
    load: Callable[[], ModelProto]
    values: Callable[[], Sequence[tuple[Sequence[Any], Sequence[Any]]]]
    rtol: float
    atol: float


@cache
def suite() -> dict[str, Case]:
    """Every case by name; the recorded ones are read from disk when they are asked for."""
    from onnx.backend.test.loader import load_model_tests, load_node_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [_node(c) for c in load_node_model_tests()]
    for kind in KINDS[1:-1]:
        found += [_recorded(c, kind) for c in load_model_tests(kind=kind)]
    found += [_light(c) for c in load_model_tests(kind="real")]
    cases = {case.name: case for case in found}
    if len(cases) != len(found):
        raise ValueError("two cases of the suite have one name")
    return cases


def _node(case: TestCase) -> Case:
    def load() -> ModelProto:
        assert case.model is not None
        return case.model

    return Case(case.name, "node", load, lambda: case.data_sets or (), case.rtol, case.atol)


def _recorded(case: TestCase, kind: str) -> Case:
    folder = Path(str(case.model_dir))

    def load() -> ModelProto:
        import onnx

        return onnx.load(folder / "model.onnx")

    def values() -> list[tuple[list[Any], list[Any]]]:
        graph = load().graph
        return [
            (
                [_read(f, graph.input[i].type) for i, f in enumerate(_files(part, "input"))],
                [_read(f, graph.output[i].type) for i, f in enumerate(_files(part, "output"))],
            )
            for part in sorted(folder.glob("test_data_set*"))
        ]

    return Case(case.name, kind, load, values, case.rtol, case.atol)


def _light(case: TestCase) -> Case:
    import onnx
    from onnx.backend.test.runner import Runner

    path = Path(onnx.__file__).parents[1] / str(case.url)

    def load() -> ModelProto:
        return onnx.load(path)

    def values() -> list[tuple[list[Any], list[Any]]]:
        graph = load().graph
        made = {t.name for t in graph.initializer}
        given = [
            Runner.generate_dummy_data(v, seed=0, name=case.model_name, random=False)
            for v in graph.input
            if v.name not in made
        ]
        wanted = [
            _read(path.with_name(f"{path.stem}_output_{i}.pb"), v.type)
            for i, v in enumerate(graph.output)
        ]
        return [(given, wanted)]

    return Case(case.name, "light", load, values, case.rtol, case.atol)


def _files(folder: Path, stem: str) -> list[Path]:
    found = folder.glob(f"{stem}_*.pb")
    return sorted(found, key=lambda path: int(path.stem.rpartition("_")[2]))


def _read(path: Path, kind: TypeProto) -> Any:
    import onnx

    data = path.read_bytes()
    match kind.WhichOneof("value"):
        case "sequence_type":
            return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(data))
        case "optional_type":
            return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
        case "tensor_type":
            return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))
        case other:
            raise ValueError(f"{path}: values of kind {other} are not read")
