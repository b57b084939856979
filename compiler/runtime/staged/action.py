"""What an op of the host is made with, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from isomorph.ir.graph import Graph, Op
    from isomorph.runtime.program import Watch
    from isomorph.runtime.tensors import Held, Pool, Tensor


class Action(Protocol):
    """Does what an op says: results from operands, then captures."""

    def __call__(self, feeds: Sequence[Held], watch: Watch | None, /) -> list[Held]: ...


class Body(Protocol):
    """A subgraph made ready to run."""

    def run(self, inputs: Sequence[Held], watch: Watch | None) -> list[Held]:
        """The outputs from the inputs and then the captures."""
        ...


class Make(Protocol):
    """What handlers of the host's ops make their actions with.

    Attributes:
        pool: where new tensors lie.
    """

    pool: Pool

    def procedure(self, op: Op, body: Graph) -> Body:
        """A subgraph of an op; constants that it captures are constants in it."""
        ...

    def moved(self, x: Tensor, source: int, target: int) -> Tensor:
        """A tensor with one axis in another place."""
        ...

    def apply(
        self,
        kind: str,
        operands: Sequence[Tensor],
        attributes: Mapping[str, Any],
        constants: Sequence[np.ndarray] = (),
        outputs: int = 1,
    ) -> list[Tensor]:
        """The results of one op of kernels, on operands of any shapes."""
        ...


Handler = Callable[["Op", Make], Action]
"""Makes the action of one op."""
