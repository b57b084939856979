"""torch's own decomposition of one operator, for those that have no row in the tables."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx


@cache
def _table() -> dict[Any, Any]:
    from torch._decomp import core_aten_decompositions, decomposition_table

    return {**decomposition_table, **core_aten_decompositions()}


def decomposition(node: Any) -> Any:
    """A graph module over the node's tensor and size arguments; `None` where torch has none.

    Its inputs are the node's own arguments that are nodes, in the order of `node.all_input_nodes`.
    """
    target = node.target
    body = _table().get(target)
    if body is None and not target._can_decompose():  # noqa: SLF001 - torch's own name for it
        return None
    run = body or target.decompose
    inputs = list(node.all_input_nodes)

    def call(*values: Any) -> Any:
        given = dict(zip(inputs, values, strict=True))
        args = torch.fx.map_arg(node.args, given.__getitem__)
        kwargs = torch.fx.map_arg(node.kwargs, given.__getitem__)
        return run(*args, **kwargs)

    fakes = [n.meta["val"] for n in inputs]
    mode = next((f.fake_mode for f in fakes if hasattr(f, "fake_mode")), None)
    try:
        with torch.no_grad(), mode or nullcontext():
            made = make_fx(call)(*fakes)
    except Exception:  # noqa: BLE001 - a decomposition may fail in any way; then there is none
        return None
    for inner in made.graph.nodes:
        inner.meta["stack_trace"] = node.meta.get("stack_trace")
        inner.meta["nn_module_stack"] = node.meta.get("nn_module_stack")
    if any(inner.target == target for inner in made.graph.nodes):
        return None
    return made
