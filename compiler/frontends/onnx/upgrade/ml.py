"""ml: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import restate
from isomorph.ir.schema import ML
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import SAME, InexpressibleError

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _label_encoder_2(op: Op, patch: Patch) -> None:
    """Classes by their places become keys and values."""
    value = op.input(0)
    kind = value.type if value is not None else None
    if not isinstance(kind, TensorType):
        raise InexpressibleError("LabelEncoder-1 of an operand of unknown type")
    classes: tuple[str, ...] = tuple(op.attr("classes_strings") or ())
    if kind.dtype is DType.STRING:
        places = {text: place for place, text in enumerate(classes)}
        given = {
            "keys_strings": tuple(places),
            "values_int64s": tuple(places.values()),
            "default_int64": op.attr("default_int64"),
        }
    else:
        given = {
            "keys_int64s": tuple(range(len(classes))),
            "values_strings": classes,
            "default_string": op.attr("default_string"),
        }
    restate(op, patch, 2, attributes=given)


UPGRADES: dict[Key, Steps] = {
    (ML, "LabelEncoder"): {2: _label_encoder_2, 4: SAME},
    (ML, "TreeEnsembleClassifier"): {3: SAME},
    (ML, "TreeEnsembleRegressor"): {3: SAME},
}
