"""Uses that no test may run in its own process, and the one that they are run in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.exporters.runtimes.prober import Prober
from isomorph.exporters.runtimes.worker import Job

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

DEADLY = frozenset({("com.microsoft", "Attention", "no bias")})
"""Uses that kill a process which runs them in onnxruntime."""


def assert_survived(model: onnx.ModelProto, feeds: Sequence[Any]) -> None:
    """Assert that onnxruntime outlives a model, in a process of its own."""
    weights = {w.name for w in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in weights]
    with Prober() as prober:
        job = Job(model.SerializeToString(), dict(zip(names, feeds, strict=True)))
        outcome, why = prober.ask(job)
    assert outcome != "crash", why
