"""What a graph was captured from, ready to be run again: in its own precision, or in float64."""

from __future__ import annotations

import copy
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from isomorph.frontends.torch.capture import Function, called, capturing, evaluating
from isomorph.frontends.torch.weights import array_of, tensor_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    import numpy as np

    from isomorph.frontends.signature import Parameter

    Change = Callable[[np.ndarray], np.ndarray]

_NARROW = (torch.float32, torch.float16, torch.bfloat16)


class Origin:
    """A module, a function or a program, and where each input goes when it is called."""

    def __init__(self, source: Any, parameters: Sequence[Parameter] = ()) -> None:
        self.source = source
        self.parameters = list(parameters)
        self._double: Any = None
        self._held: frozenset[torch.dtype] = frozenset()

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs (numpy arrays) in the source's own precision; raises whatever the source does."""
        module = self._module(self.source)
        with evaluating(module), capturing():
            return _arrays(self._call(module, [tensor_of(v) for v in inputs]))

    def wide(self, inputs: Sequence[Any], change: Change | None = None) -> list[Any]:
        """Outputs with every float in float64, parameters too; `change` alters every result."""
        if self._double is None:
            self._held = frozenset(t.dtype for t in self.tensors())
            module = copy.deepcopy(self._module(self.source))
            for part in module.modules():
                part.training = False
            self._double = module.double()
        tensors = [tensor_of(v) for v in inputs]
        figures = self._figures(tensors)
        tensors = [t.double() if t.dtype in _NARROW else t for t in tensors]
        with capturing(), _in_double(), figures, _Wide(change):
            return _arrays(self._call(self._double, tensors))

    def tensors(self) -> Iterator[torch.Tensor]:
        """Parameters and buffers."""
        module = self._module(self.source)
        yield from module.parameters()
        yield from module.buffers()

    def _figures(self, inputs: Sequence[torch.Tensor]) -> Any:
        """What is asked of the element type is that of the source's own, where it has one."""
        dtypes = self._held.union(t.dtype for t in inputs)
        found = {dtype for dtype in dtypes if dtype.is_floating_point}
        if len(found) > 1 or found == {torch.float64}:
            return nullcontext()
        return _figures_of(found.pop() if found else torch.float32)

    def _module(self, source: Any) -> torch.nn.Module:
        if isinstance(source, torch.nn.Module):
            return source
        if isinstance(source, torch.export.ExportedProgram):
            return Program(source)
        return Function(source)

    def _call(self, module: Any, tensors: list[Any]) -> Any:
        if not self.parameters:
            return called(module, tensors, {})
        pairs = list(zip(self.parameters, tensors, strict=True))
        args = [t for p, t in pairs if not p.keyword]
        return called(module, args, {p.name: t for p, t in pairs if p.keyword})


class Program(torch.nn.Module):
    """An exported program without the checks of its own: its operators, one after the other."""

    def __init__(self, program: Any) -> None:
        super().__init__()
        self.graph_module = program.graph_module
        self.specs = [(s.kind.name, s.target) for s in program.graph_signature.input_specs]
        self.kinds = [s.kind.name for s in program.graph_signature.output_specs]
        self.names: dict[str, str] = {}
        for kind, target in self.specs:
            if kind == "USER_INPUT" or target in self.names:
                continue
            found = program.state_dict.get(target)
            tensor = program.constants[target] if found is None else found
            self.names[target] = f"held_{len(self.names)}"
            self.register_buffer(self.names[target], tensor.detach())

    def forward(self, *inputs: Any) -> Any:
        given = iter(inputs)
        flat = [
            next(given) if kind == "USER_INPUT" else getattr(self, self.names[target])
            for kind, target in self.specs
        ]
        results = torch.fx.Interpreter(self.graph_module).run(*flat)
        return [r for r, kind in zip(results, self.kinds, strict=True) if kind == "USER_OUTPUT"]


@contextmanager
def _figures_of(dtype: torch.dtype) -> Generator[None, None, None]:
    """`torch.finfo` of float64, and an epsilon that torch takes from it, are those of a dtype."""
    asked = torch.finfo

    def finfo(of: torch.dtype | None = None) -> torch.finfo:
        of = torch.get_default_dtype() if of is None else of
        return asked(dtype if of is torch.float64 else of)

    torch.finfo = finfo  # type: ignore[misc, assignment] - a class stands there; it comes back
    try:
        with _Epsilon(asked(dtype).eps):
            yield
    finally:
        torch.finfo = asked  # type: ignore[misc] - as above


class _Epsilon(TorchFunctionMode):
    """RMS normalization without an epsilon has this one."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _BY_EPSILON:
            names = ("input", "normalized_shape", "weight", "eps")
            kwargs = {**dict(zip(names, args, strict=False)), **kwargs}
            args = ()
            if kwargs.get("eps") is None:
                kwargs["eps"] = self.epsilon
        return func(*args, **kwargs)


_BY_EPSILON = (torch.rms_norm, torch.nn.functional.rms_norm, torch.ops.aten.rms_norm.default)


class _Wide(TorchDispatchMode):
    """Every operator in float64, whatever dtype it is asked for."""

    def __init__(self, change: Change | None) -> None:
        super().__init__()
        self.change = change

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = pytree.tree_map(_widened, (args, kwargs or {}))
        if self.change is not None and func.overloadpacket in _CANCELLING:
            args = (self._moved(args[0]), *args[1:])
        found = func(*args, **kwargs)
        if self.change is None or func._schema.is_mutable or _aliases(func):  # noqa: SLF001 - how torch tells
            return found
        return pytree.tree_map(self._changed, found)

    def _moved(self, value: Any) -> Any:
        """Every element changed as a number is that was rounded: a mean of exact ones is."""
        third = torch.full_like(value, 1 / 3)
        return value * (self._changed(third) / third)

    def _changed(self, value: Any) -> Any:
        if (
            not isinstance(value, torch.Tensor)
            or value.dtype is not torch.float64
            or not self.change
        ):
            return value
        return torch.from_numpy(self.change(value.detach().numpy())).reshape(value.shape)


_CANCELLING = frozenset(
    {
        torch.ops.aten.native_batch_norm,
        torch.ops.aten.native_group_norm,
        torch.ops.aten.native_layer_norm,
        torch.ops.aten.std,
        torch.ops.aten.var,
        torch.ops.aten.var_mean,
    }
)
"""Operators that subtract a mean: what is lost inside of them shows when their operands move."""


def _aliases(func: Any) -> bool:
    return any(r.alias_info is not None for r in func._schema.returns)  # noqa: SLF001 - as above


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.dtype in _NARROW else value
    return torch.float64 if isinstance(value, torch.dtype) and value in _NARROW else value


@contextmanager
def _in_double() -> Generator[None, None, None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _arrays(found: Any) -> list[Any]:
    leaves = [v for v in pytree.tree_leaves(found) if v is not None]
    return [array_of(torch.as_tensor(v)) for v in leaves]
