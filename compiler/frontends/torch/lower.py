"""The nodes of a captured program, one after the other, as operators of a graph."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload
from torch.export.graph_signature import InputKind

from isomorph.frontends.array.structure import is_many
from isomorph.frontends.torch.aten import TRANSPOSED, UNREAD, rules
from isomorph.frontends.torch.decompose import decomposition
from isomorph.frontends.torch.errors import LoweringError, NotLowered, TraceError
from isomorph.frontends.torch.mutation import mutates
from isomorph.frontends.torch.scope import Number, Param
from isomorph.frontends.torch.source import of_node
from isomorph.frontends.torch.symbols import UntranslatableError
from isomorph.ir.dims import Expr
from isomorph.ir.graph import Value
from isomorph.ir.source import Source
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.frontends.torch.context import Context

DOMAIN = "isomorph.unsupported"
"""Placeholders of what is not lowered: `check` lists them all; nothing exports or runs one."""

_DEEPEST = 8
_CONTEXTS = ("wrap_with_set_grad_enabled",)
"""Higher-order operators that only say how gradients are kept."""


class Lowering:
    """Walks a program; what it has met is in `env`."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.env: dict[Any, Any] = {}
        self.depth = 0

    # -- the program itself -----------------------------------------------------------------

    def program(self, program: Any, inputs: Sequence[Value]) -> list[Any]:
        """Lower a whole program; its user outputs, in order."""
        given = iter(inputs)
        signature = program.graph_signature
        placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
        for node, spec in zip(placeholders, signature.input_specs, strict=True):
            match spec.kind:
                case InputKind.USER_INPUT:
                    self.env[node] = next(given) if _is_tensor(node) else _constant(spec)
                case InputKind.PARAMETER | InputKind.BUFFER:
                    self.env[node] = Param(_held(program, spec.target), spec.target)
                case InputKind.CONSTANT_TENSOR:
                    self.env[node] = Param(program.constants[spec.target], spec.target)
                case _:
                    raise TraceError(
                        f"the program takes {spec.target!r} ({spec.kind.name.lower()}), "
                        "which has no ONNX form",
                        "a module without custom objects and tokens",
                        source=Source(),
                    )
        for node in program.graph.nodes:
            self._expect(node, self.env)
        results = self.nodes(program.graph_module)
        kept = [i for i, o in enumerate(signature.output_specs) if o.kind.name == "USER_OUTPUT"]
        return [results[i] for i in kept]

    def nodes(self, module: Any) -> list[Any]:
        """Lower the nodes of a graph module whose placeholders are in `env`; its results."""
        for node in module.graph.nodes:
            match node.op:
                case "get_attr":
                    self.env[node] = self._attribute(module, node)
                case "call_function":
                    self._call(node)
                case "output":
                    return [self.resolved(a) for a in node.args[0]]
                case _:
                    pass
        raise LoweringError(f"{module}: no output")

    # -- one node ---------------------------------------------------------------------------

    def _call(self, node: Any) -> None:
        context = self.context
        if not node.users and not mutates(node.target):
            return
        context.node = node
        context.scope.place = self._place(node)
        known = self._symbolic(node)
        if known is not None:
            self.env[node] = known
            return
        if node.target is operator.getitem:
            self.env[node] = self.env[node.args[0]][node.args[1]]
            return
        if getattr(node.target, "__name__", "") in _CONTEXTS:
            _, inner, *args = (self.env.get(a, a) if _is_node(a) else a for a in node.args)
            self.env[node] = self._inlined(inner, args)
            return
        if not self.depth:
            context.scope.lowering(_functional(node.target))
        self.env[node] = self._lowered(node)
        if mutates(node.target):
            self.env[node.args[0]] = self.env[node]

    def _place(self, node: Any) -> Source:
        """The user's line; of an operator around others, that of the first of them."""
        place = of_node(node)
        inner = (self.env.get(n) for n in node.all_input_nodes if n.op == "get_attr")
        for module in inner:
            for part in getattr(getattr(module, "graph", None), "nodes", ()):
                if not place.line:
                    place = of_node(part)
        return place

    def _symbolic(self, node: Any) -> Any:
        """What a node is that computes with sizes alone; `None` for others."""
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and str(node.target) not in rules():
            try:
                return self.context.symbols.dim(value)
            except UntranslatableError:
                return Number(value.node.expr)
        if isinstance(value, torch.SymFloat) and str(node.target) not in rules():
            return Number(value.node.expr)
        if isinstance(value, torch.SymBool):
            return Number(value.node.expr)
        if isinstance(value, (int, float, bool)) and not isinstance(node.target, OpOverload):
            return value
        return () if value is None and "assert" in str(node.target) else None

    def _lowered(self, node: Any) -> Any:
        name = _functional(node.target)
        rule = rules().get(name)
        try:
            if rule is None:
                return self._decomposed(node, name)
            transposed = TRANSPOSED.get(name)
            args = [
                self.env[a]
                if i == transposed and _is_node(a) and _flat_weight(self.env.get(a))
                else self.resolved(a, unread=name in UNREAD)
                for i, a in enumerate(node.args)
            ]
            kwargs = {k: self.resolved(v) for k, v in node.kwargs.items()}
            return self._settled(node, rule(self.context, *args, **kwargs))
        except NotLowered as gap:
            return self._placeholder(node, name, gap)

    def _decomposed(self, node: Any, name: str) -> Any:
        if not isinstance(node.target, OpOverload) or self.depth >= _DEEPEST:
            raise NotLowered(f"{name} is not lowered")
        inner = decomposition(node)
        if inner is None:
            raise NotLowered(f"{name} is not lowered, and torch does not decompose it")
        gaps = _unknown(inner)
        if gaps:
            raise NotLowered(
                f"{name} is not lowered, nor is {', '.join(gaps)} in its decomposition"
            )
        self.depth += 1
        results = self._inlined(inner, [self.env[n] for n in node.all_input_nodes])
        self.depth -= 1
        self.context.node, self.context.scope.place = node, of_node(node)
        single = isinstance(node.meta.get("val"), torch.Tensor)
        return results[0] if single else results

    def _inlined(self, module: Any, args: Sequence[Any]) -> tuple[Any, ...]:
        outer = self.env
        self.env = {}
        places = [n for n in module.graph.nodes if n.op == "placeholder"]
        self.env.update(zip(places, args, strict=True))
        for node in module.graph.nodes:
            self._expect(node, self.env)
        try:
            return tuple(self.nodes(_with_list_output(module)))
        finally:
            self.env = outer

    def _placeholder(self, node: Any, name: str, gap: NotLowered) -> Any:
        context = self.context
        value = node.meta.get("val")
        many = is_many(value)
        kinds = [
            context.symbols.type(v) if isinstance(v, torch.Tensor) else None
            for v in (value if many else [value])
        ]
        operands = [self.resolved(a) for a in node.all_input_nodes]
        made = context.scope.emit(
            name,
            [v for v in operands if isinstance(v, Value)],
            {
                "reason": gap.reason,
                "remedy": gap.remedy
                or "other torch operations: docs/pytorch.md lists what is lowered",
            },
            outputs=len(kinds),
            domain=DOMAIN,
            version=1,
            types=kinds,
        )
        return made.results if many else made.output

    # -- values -----------------------------------------------------------------------------

    def resolved(self, argument: Any, *, unread: bool = False) -> Any:
        """A node's argument as rules take it; weights stay as they are where `unread`."""
        if _is_node(argument):
            found = self.env[argument]
            return found if unread else self.context.stored(found)
        if is_many(argument):
            return [self.resolved(a, unread=unread) for a in argument]
        if isinstance(argument, slice):
            raise NotLowered(f"a slice {argument} as an argument")
        return argument

    def _attribute(self, module: Any, node: Any) -> Any:
        found: Any = module
        for part in str(node.target).split("."):
            found = getattr(found, part)
        return Param(found, str(node.target)) if isinstance(found, torch.Tensor) else found

    def _expect(self, node: Any, env: dict[Any, Any]) -> None:
        """Announce how a node will read the weights among its arguments."""
        if node.op != "call_function" or not isinstance(node.target, OpOverload):
            return
        name = _functional(node.target)
        if name in UNREAD:
            return
        position = TRANSPOSED.get(name)
        for index, argument in enumerate(node.args):
            param = env.get(argument) if _is_node(argument) else None
            if isinstance(param, Param):
                turned = index == position and _flat_weight(param)
                self.context.weights.expect(param.tensor, param.name, transposed=turned)

    def _settled(self, node: Any, made: Any) -> Any:
        """The results with the dims that torch knows; a result of another type is our error."""
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            return self._agreed(node, made, value)
        if is_many(value):
            if not is_many(made) or len(made) != len(value):
                raise LoweringError(f"{node.target}: {len(value)} results expected, not {made}")
            return tuple(
                self._agreed(node, m, v) if isinstance(v, torch.Tensor) else m
                for m, v in zip(made, value, strict=True)
            )
        return made

    def _agreed(self, node: Any, made: Any, value: torch.Tensor) -> Value:
        context = self.context
        wanted = context.symbols.type(value)
        if made is None:
            raise LoweringError(f"{node.target}: a result is missing")
        found = context.type(made)
        if found.dtype is not wanted.dtype or len(found.shape or ()) != len(wanted.shape or ()):
            raise LoweringError(
                f"{of_node(node)}: {node.target} gives {wanted} in torch, {found} here"
            )
        if made.producer is not None:
            dims = [
                own if isinstance(own, int) or new is None else new
                for own, new in zip(found.shape or (), wanted.shape or (), strict=True)
            ]
            made.type = TensorType(found.dtype, tuple(dims))
            self._define(made, dims)
        return made

    def _define(self, value: Value, dims: Sequence[int | Expr | None]) -> None:
        """Let sizes that only this value shows be read from it."""
        scope = self.context.scope
        for axis, dim in enumerate(dims):
            name = str(dim)
            if isinstance(dim, Expr) and name in self.context.symbols.open:
                scope.trace.symbols.setdefault(name, (scope, value, axis))


def _is_node(value: Any) -> bool:
    return isinstance(value, torch.fx.Node)


def _is_tensor(node: Any) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def _constant(spec: Any) -> Any:
    return getattr(spec.arg, "value", None)


def _held(program: Any, target: str) -> torch.Tensor:
    found = program.state_dict.get(target)
    return program.constants[target] if found is None else found


def _flat_weight(param: Any) -> bool:
    return isinstance(param, Param) and param.tensor.dim() == 2


def _functional(target: Any) -> str:
    """The overload's name; of an in-place operator, that of the one that makes a new tensor."""
    name = str(target)
    if not mutates(target):
        return name
    space, op, overload = name.split(".")
    return f"{space}.{op.removesuffix('_')}.{overload}"


def _unknown(module: Any) -> list[str]:
    """Operators of a decomposition that have neither a row nor a decomposition of their own."""
    known = rules()
    found: dict[str, None] = {}
    for node in module.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, OpOverload):
            continue
        name = _functional(node.target)
        if name in known or "assert" in name or "sym_size" in name:
            continue
        if decomposition(node) is None:
            found.setdefault(name)
    return list(found)


def _with_list_output(module: Any) -> Any:
    for node in module.graph.nodes:
        if node.op == "output" and not isinstance(node.args[0], (list, tuple)):
            node.args = ((node.args[0],),)
    return module
