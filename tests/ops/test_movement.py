from __future__ import annotations

import pytest
from isomorph.ir.opdef import OPS

from tests.ops import harness

KEYS = [key for key in OPS.rows() if OPS.family(key) == "movement"]


def test_every_aspect_has_its_rows():
    assert harness.incomplete(KEYS) == []


@pytest.mark.parametrize(("key", "instance", "dtype"), harness.cases(KEYS))
def test_reference(key, instance, dtype):
    harness.check_reference(key, instance, dtype)


@pytest.mark.parametrize(("key", "instance", "dtype"), harness.cases(KEYS, harness.REPRESENTATIVE))
def test_runtime(key, instance, dtype):
    harness.check_runtime(key, instance, dtype)


@pytest.mark.parametrize(("key", "instance", "dtype"), harness.cases(KEYS))
def test_narrow(key, instance, dtype):
    harness.check_narrow(key, instance, dtype)


@pytest.mark.parametrize(("key", "instance", "dtype"), harness.cases(KEYS, ("float32", "int64")))
def test_rule(key, instance, dtype):
    harness.check_rule(key, instance, dtype)


@pytest.mark.parametrize(("key", "instance", "dtype"), harness.cases(KEYS, harness.REPRESENTATIVE))
def test_versions(key, instance, dtype):
    harness.check_versions(key, instance, dtype)
