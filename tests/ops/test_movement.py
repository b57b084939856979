from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isomorph.ir.instances import INSTANCES
from isomorph.ir.opdef import OPS
from tests.ops import harness, known

if TYPE_CHECKING:
    from isomorph.ir.instances import Instance
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import DType

KEYS = [key for key in OPS.rows() if OPS.family(key) == "movement"]
KINDS = harness.REPRESENTATIVE
EVERY_TYPE = harness.cases(
    KEYS,
    where=lambda key, instance, dtype: (
        str(dtype) in KINDS or instance is (INSTANCES.get(key) or (None,))[0]
    ),
)
PARAMETERS = ("key", "instance", "dtype")


def test_every_aspect_has_its_rows():
    assert harness.incomplete(KEYS) == []


@pytest.mark.parametrize(PARAMETERS, EVERY_TYPE)
def test_reference(request: pytest.FixtureRequest, key: Key, instance: Instance, dtype: DType):
    known.expect(request, known.REFERENCE, key, instance, dtype)
    harness.check_reference(key, instance, dtype)


@pytest.mark.parametrize(PARAMETERS, harness.cases(KEYS, KINDS))
def test_runtime(request: pytest.FixtureRequest, key: Key, instance: Instance, dtype: DType):
    known.expect(request, known.RUNTIME, key, instance, dtype)
    harness.check_runtime(key, instance, dtype)


@pytest.mark.parametrize(PARAMETERS, EVERY_TYPE)
def test_narrow(key: Key, instance: Instance, dtype: DType):
    harness.check_narrow(key, instance, dtype)


@pytest.mark.parametrize(PARAMETERS, harness.cases(KEYS, ("float32", "int64")))
def test_rule(key: Key, instance: Instance, dtype: DType):
    harness.check_rule(key, instance, dtype)


@pytest.mark.parametrize(PARAMETERS, harness.cases(KEYS, KINDS))
def test_versions(key: Key, instance: Instance, dtype: DType):
    harness.check_versions(key, instance, dtype)
