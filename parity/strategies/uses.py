"""What an op of a drawn graph is: an operator, one of its small uses, element types, attributes.

The uses in `isomorph.ir.instances` are seeds: they say how many operands there are, of which rank,
and which attributes belong together. Everything else about them is drawn anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from isomorph.ir import schema
from isomorph.ir.instances import INSTANCES, dtypes_of
from isomorph.ir.opdef import OPS
from isomorph.ir.types import DType
from isomorph.parity.strategies.choices import chance, one_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isomorph.ir.instances import Instance
    from isomorph.ir.opdef import Key
    from isomorph.ir.schema import AttributeDef
    from isomorph.parity.strategies.choices import Choices
    from isomorph.parity.strategies.growing import Growing

FLOATS = (0.0, 1.0, 0.5, -1.0, 2.0, 1e-3, 100.0, -0.25)
USUAL = (DType.FLOAT32, DType.INT64)
MOVED, OTHER_TYPE = 30, 20
"""How often, in percent, an attribute is changed, and a type that the use fixes."""


TOGETHER = frozenset({"activations", "activation_alpha", "activation_beta"})
"""Attributes that one another's places count in, with defaults that are written nowhere."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A use to start from.

    Attributes:
        key: of the operator.
        instance: the use.
        main: element type of its main type variable.
    """

    key: Key
    instance: Instance
    main: DType


def every_operator() -> tuple[Key, ...]:
    """Every operator that has a table, and uses to start from."""
    return tuple(k for k in OPS.rows() if INSTANCES.get(k))


def operators_of(ops: Iterable[str | Key] | None) -> tuple[Key, ...]:
    """The operators that are meant: `Add`, `com.microsoft.BiasGelu`, or `("", "Add")`.

    Raises:
        ValueError: when one is not supported.
    """
    known = every_operator()
    if ops is None:
        return known
    found: list[Key] = []
    for wanted in ops:
        domain, _, name = wanted.rpartition(".") if isinstance(wanted, str) else (*wanted, "")[::2]
        key = (schema.normal_domain(domain), name if isinstance(wanted, str) else wanted[1])
        if key not in known:
            raise ValueError(f"operator {wanted!r} is not supported, or has no uses to start from")
        found.append(key)
    if not found:
        raise ValueError("no operators to draw from were given")
    return tuple(found)


def seed_of(choices: Choices, key: Key, growing: Growing) -> Seed:
    """A use of an operator, preferably at element types that the graph has values of."""
    instance = one_of(choices, _instances(key))
    allowed = _dtypes(key, instance)
    there = {h.tensor.dtype for h in growing.held if h.tensor is not None}
    fitting = [d for d in allowed if d in there]
    usual = [d for d in USUAL if d in allowed]
    pick = choices.below(10)
    if pick < 5 and fitting:
        main = one_of(choices, fitting)
    elif pick < 8 and usual:
        main = usual[0]
    else:
        main = one_of(choices, allowed)
    return Seed(key, _retyped(choices, key, instance), main)


def attributes_of(choices: Choices, seed: Seed, *, as_given: bool) -> dict[str, Any]:
    """Attributes for it: those of the use, one or two of them perhaps moved."""
    known = schema.canonical(*seed.key)
    found = {
        k: v(seed.main) if callable(v) else v
        for k, v in seed.instance.attributes.items()
        if v is not None
    }
    if as_given or known is None or not chance(choices, MOVED):
        return found
    names = [
        n
        for n, a in known.attributes.items()
        if a.kind not in {"GRAPH", "TENSOR"} and n not in TOGETHER and not _is_woven(seed.key)
    ]
    for _ in range(1 + chance(choices, 30)):
        if names:
            name = one_of(choices, names)
            moved = _moved(choices, seed.key, known.attributes[name], found.get(name))
            if moved is None:
                found.pop(name, None)
            else:
                found[name] = moved
    return found


def _is_woven(key: Key) -> bool:
    """Whether the attributes are tables that refer to one another, such as a tree's nodes."""
    return key[0] == schema.ML and key[1].startswith(("TreeEnsemble", "SVM"))


@cache
def _instances(key: Key) -> tuple[Instance, ...]:
    """Its uses at which some element type is possible."""
    return tuple(i for i in INSTANCES.get(key) or () if _dtypes(key, i))


@cache
def _known_dtypes(key: Key, index: int) -> tuple[DType, ...]:
    return dtypes_of(key, (INSTANCES.get(key) or ())[index])


def _dtypes(key: Key, instance: Instance) -> tuple[DType, ...]:
    every = INSTANCES.get(key) or ()
    return _known_dtypes(key, next(n for n, i in enumerate(every) if i is instance))


def _retyped(choices: Choices, key: Key, instance: Instance) -> Instance:
    """The use with another element type for one of the variables that it fixes."""
    known = schema.canonical(*key)
    if known is None or not instance.bind or not chance(choices, OTHER_TYPE):
        return instance
    name = one_of(choices, sorted(instance.bind))
    allowed = [d for d in DType if d.schema_name in known.type_vars.get(name, ())]
    if not allowed:
        return instance
    return replace(instance, bind={**instance.bind, name: str(one_of(choices, allowed))})


def _moved(choices: Choices, key: Key, formal: AttributeDef, given: Any) -> Any:
    """Another value of an attribute, `None` for none at all."""
    if not formal.required and chance(choices, 20):
        return None
    known = _seen(key, formal.name)
    match formal.kind:
        case "INT":
            usual = known if formal.default is None else (*known, formal.default)
            if all(v in {0, 1} for v in usual):
                return choices.below(2)
            near = [] if given is None else [given + 1, given - 1]
            return one_of(choices, [*known, *near, 0, 1, 2, -1])
        case "FLOAT":
            return one_of(choices, [*known, *FLOATS])
        case "INTS":
            numbers = [int(v) for v in given or ()]
            if numbers and chance(choices, 60):
                at = choices.below(len(numbers))
                numbers[at] += one_of(choices, (1, -1, 2))
                return tuple(numbers)
            return one_of(choices, known) if known else given
        case _:
            return one_of(choices, known) if known else given


@cache
def _seen(key: Key, name: str) -> tuple[Any, ...]:
    """The values that an attribute has in the operator's uses, in order."""
    found: list[Any] = []
    for instance in INSTANCES.get(key) or ():
        value = instance.attributes.get(name)
        if value is not None and not callable(value) and value not in found:
            found.append(value)
    return tuple(found)
