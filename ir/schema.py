"""The one reader of `onnx.defs`: versions, operands, attributes, type constraints, bodies.

Of what onnx does not define, `ir/schema_microsoft.py`, `ir/schema_fused.py` and
`ir/schema_transformers.py` have definitions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import onnx
import onnx.defs
import onnx.helper

from isomorph.ir import schema_fused as fused
from isomorph.ir import schema_microsoft as microsoft
from isomorph.ir import schema_transformers as transformers
from isomorph.ir.types import DType, schema_name

if TYPE_CHECKING:
    from isomorph.ir.types import Type

CANONICAL = {"": 28, "ai.onnx.ml": 5, "com.microsoft": 1}
"""The opset that every op is upgraded to first. A constant of ours: never what is installed."""

ML = "ai.onnx.ml"

OWN: dict[tuple[str, str], microsoft.Row] = {
    **{(microsoft.DOMAIN, name): row for name, row in microsoft.DEFINITIONS.items()},
    **{(microsoft.DOMAIN, name): row for name, row in fused.FUSED.items()},
    **{(microsoft.DOMAIN, name): row for name, row in transformers.DEFINITIONS.items()},
    **{("", name): row for name, row in fused.STANDARD.items()},
}
"""Definitions that onnxruntime adds; each is version 1 of its operator."""

LOWEST_READ = 6
"""The lowest opset of the default domain that the front end upgrades from."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A formal input or output of an operator."""

    name: str
    type_var: str
    dtypes: frozenset[str]
    optional: bool
    variadic: bool
    homogeneous: bool


@dataclass(frozen=True, slots=True)
class AttributeDef:
    """A formal attribute; `default` is a plain Python value, `None` when there is none."""

    name: str
    kind: str
    required: bool
    default: Any


@dataclass(frozen=True, slots=True)
class Schema:
    """One version of one operator, as its definition says."""

    domain: str
    name: str
    since: int
    deprecated: bool
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int
    attributes: dict[str, AttributeDef]
    type_vars: dict[str, frozenset[str]]
    deterministic: bool
    doc: str

    def input(self, index: int) -> Operand | None:
        """The formal input at a position; variadic ones repeat. `None` past the end."""
        return _formal(self.inputs, index)

    def output(self, index: int) -> Operand | None:
        """The formal output at a position; variadic ones repeat. `None` past the end."""
        return _formal(self.outputs, index)

    def allows(self, index: int, kind: DType | Type | None, *, output: bool = False) -> bool:
        """Whether such a tensor or value may stand at that operand; one of unknown type may."""
        formal = self.output(index) if output else self.input(index)
        name = kind.schema_name if isinstance(kind, DType) else schema_name(kind)
        return name is None or (formal is not None and name in formal.dtypes)


def normal_domain(domain: str) -> str:
    """`ai.onnx` is the default domain's other spelling."""
    return "" if domain == "ai.onnx" else domain


@cache
def versions(domain: str, name: str) -> tuple[int, ...]:
    """Every version at which an operator was defined or changed, ascending; empty if unknown.

    In ai.onnx.ml a deprecation is no version: models keep what they use, and run.
    """
    return _history().get((domain, name), ())


@cache
def since_version(domain: str, name: str, opset: int) -> int | None:
    """The version of an operator that a model of this opset means; `None` if it has none."""
    known = versions(domain, name)
    at = bisect_right(known, opset)
    return known[at - 1] if at else None


@cache
def schema(domain: str, name: str, opset: int) -> Schema | None:
    """The definition in force at this opset; `None` for an operator nobody here knows."""
    since = since_version(domain, name, opset)
    if since is None:
        return None
    if is_own(domain, name, since):
        return _own(domain, name)
    raw = _raw(domain, name, since)
    return Schema(
        domain=domain,
        name=name,
        since=since,
        deprecated=raw.deprecated,
        inputs=tuple(_operand(f) for f in raw.inputs),
        outputs=tuple(_operand(f) for f in raw.outputs),
        min_inputs=raw.min_input,
        max_inputs=raw.max_input,
        min_outputs=raw.min_output,
        max_outputs=raw.max_output,
        attributes={n: _attribute(a) for n, a in raw.attributes.items()},
        type_vars={
            c.type_param_str: frozenset(map(_spelled, c.allowed_type_strs))
            for c in raw.type_constraints
        },
        deterministic=raw.node_determinism != onnx.defs.OpSchema.NodeDeterminism.NonDeterministic,
        doc=raw.doc or "",
    )


def is_own(domain: str, name: str, version: int) -> bool:
    """Whether a version of an operator is onnxruntime's, of which onnx knows nothing."""
    return version == microsoft.VERSION and (domain, name) in OWN


@cache
def canonical(domain: str, name: str) -> Schema | None:
    """The definition in force at the canonical opset."""
    return schema(domain, name, CANONICAL.get(domain, 1))


def operators(domain: str = "") -> tuple[str, ...]:
    """Names of every operator of a domain that is not deprecated at the canonical opset."""
    names = sorted(n for d, n in _history() if d == domain)
    found = ((n, canonical(domain, n)) for n in names)
    return tuple(n for n, s in found if s is not None and not s.deprecated)


def body(
    domain: str, name: str, version: int, opset: int, node: bytes, types: list[bytes]
) -> onnx.FunctionProto | None:
    """The function body of an operator, for one use of it.

    Args:
        domain: of the operator.
        name: of the operator.
        version: its own.
        opset: the newest opset of bodies preferred; failing that, the oldest body there is.
        node: the serialized NodeProto, which bodies that depend on their context look at.
        types: serialized TypeProtos of its operands, empty where absent or unknown.
    """
    since = since_version(domain, name, version)
    if since is None or is_own(domain, name, since):
        return None
    raw = _raw(domain, name, since)
    fixed = sorted(raw.function_opset_versions)
    built = sorted(raw.context_dependent_function_opset_versions)
    every = sorted({*fixed, *built})
    if not every:
        return None
    chosen = max((v for v in every if v <= opset), default=every[0])
    if chosen in fixed:
        found = raw.get_function_with_opset_version(chosen)
    else:
        found = raw.get_context_dependent_function_with_opset_version(chosen, node, types)
    if not found:
        return None
    made = onnx.FunctionProto()
    made.ParseFromString(found)
    if not made.opset_import:
        made.opset_import.add(domain="", version=chosen)
    return made


@cache
def has_body(domain: str, name: str, version: int) -> bool:
    """Whether a version of an operator is defined by a function body, too."""
    since = since_version(domain, name, version)
    if since is None or is_own(domain, name, since):
        return False
    raw = _raw(domain, name, since)
    return bool(raw.has_function or raw.has_context_dependent_function)


def ir_version_for(opset: int) -> int:
    """The lowest IR version whose release defined this opset of the default domain."""
    for row in onnx.helper.VERSION_TABLE:
        if row[2] >= opset:
            return row[1]
    raise ValueError(f"opset {opset} is newer than the installed onnx defines")


def _raw(domain: str, name: str, since: int) -> Any:
    """The definition as onnx has it; `Any`, because its stubs lack half of the members."""
    return onnx.defs.get_schema(name, since, domain)


@cache
def ended(domain: str, name: str) -> int | None:
    """The version at which an operator was deprecated, if it was."""
    known = onnx.defs.get_all_schemas_with_history()
    found = [
        s.since_version
        for s in known
        if (s.domain, s.name) == (domain, name)
        and s.deprecated
        and s.since_version <= CANONICAL.get(domain, s.since_version)
    ]
    return min(found, default=None)


@cache
def imported(domain: str, name: str) -> int:
    """The newest version of a domain that means an operator's canonical one, and not as an end."""
    newest, end = CANONICAL.get(domain, 1), ended(domain, name)
    return newest if domain != ML or end is None else min(newest, end - 1)


@cache
def _history() -> dict[tuple[str, str], tuple[int, ...]]:
    found: dict[tuple[str, str], list[int]] = {}
    for s in onnx.defs.get_all_schemas_with_history():
        limit = CANONICAL.get(s.domain)
        if s.domain == ML and s.deprecated:
            continue
        if limit is None or s.since_version <= limit:
            found.setdefault((s.domain, s.name), []).append(s.since_version)
    for key in OWN:
        found.setdefault(key, []).append(microsoft.VERSION)
    return {key: tuple(sorted(v)) for key, v in found.items()}


def _own(domain: str, name: str) -> Schema:
    """The definition of an operator that is onnxruntime's."""
    inputs, outputs, type_vars, attributes = OWN[domain, name]
    kinds = {v: frozenset(f"tensor({t})" for t in kind.split()) for v, kind in type_vars.items()}
    given, made = (
        tuple(_own_operand(t, kinds) for t in row.split(", ")) for row in (inputs, outputs)
    )
    repeats = bool(given and given[-1].variadic)
    return Schema(
        domain=domain,
        name=name,
        since=microsoft.VERSION,
        deprecated=False,
        inputs=given,
        outputs=made,
        min_inputs=max((n for n, f in enumerate(given, 1) if not f.optional), default=0),
        max_inputs=2**31 - 1 if repeats else len(given),
        min_outputs=max((n for n, f in enumerate(made, 1) if not f.optional), default=0),
        max_outputs=len(made),
        attributes={
            n: AttributeDef(n, kind, default is microsoft.REQUIRED, _plain(default))
            for n, (kind, default) in attributes.items()
        },
        type_vars=kinds,
        deterministic=True,
        doc="",
    )


def _own_operand(text: str, kinds: dict[str, frozenset[str]]) -> Operand:
    """An operand written as `name?: type`."""
    name, kind = text.split(": ")
    marks = name[len(name.rstrip("?*")) :]
    single = kind not in kinds
    return Operand(
        name=name.rstrip("?*"),
        type_var=f"tensor({kind})" if single else kind,
        dtypes=frozenset({f"tensor({kind})"}) if single else kinds[kind],
        optional="?" in marks,
        variadic="*" in marks,
        homogeneous=marks != "**",
    )


def _plain(default: Any) -> Any:
    return None if default is microsoft.REQUIRED else default


def _spelled(name: str) -> str:
    """A type's name in the spelling of operands: constraints leave the tensors of maps out."""
    return re.sub(r"map\((\w+), (\w+)\)", r"map(\1,tensor(\2))", name)


def _formal(operands: tuple[Operand, ...], index: int) -> Operand | None:
    if index < len(operands):
        return operands[index]
    return operands[-1] if operands and operands[-1].variadic else None


def _operand(formal: Any) -> Operand:
    option = onnx.defs.OpSchema.FormalParameterOption
    return Operand(
        name=formal.name,
        type_var=formal.type_str,
        dtypes=frozenset(formal.types),
        optional=formal.option == option.Optional,
        variadic=formal.option == option.Variadic,
        homogeneous=formal.is_homogeneous,
    )


def _attribute(attribute: Any) -> AttributeDef:
    proto = attribute.default_value
    default = onnx.helper.get_attribute_value(proto) if proto is not None and proto.type else None
    if isinstance(default, bytes):
        default = default.decode()
    if isinstance(default, list):
        items = cast("list[Any]", default)
        default = tuple(d.decode() if isinstance(d, bytes) else d for d in items)
    return AttributeDef(attribute.name, attribute.type.name, attribute.required, default)
