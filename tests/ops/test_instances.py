"""Every instance of a family against the reference, onnxruntime, its shape rule and every opset.

A new family is swept here as soon as it is in `FAMILIES`; nothing is written for it. Where another
implementation is known to be wrong, or a use is known to fail, that is a row in `tests/ops/known`.
What is special about a family is tested in its own `test_<family>.py`, without this sweep; only a
family whose sweep needs other choices makes it there, and is named in `ELSEWHERE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isomorph.ir.instances import INSTANCES
from isomorph.ir.opdef import FAMILIES, OPS
from tests.ops import harness, known
from tests.project.tree import ROOT

if TYPE_CHECKING:
    from isomorph.ir.instances import Instance
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import DType

ELSEWHERE = (
    "elementwise",
    "reduction",
    "linear",
    "convolution",
    "pooling",
    "normalization",
    "recurrent",
    "quantized",
)
"""Families whose instances are swept in `test_<family>.py`."""

KEYS = [key for key in OPS.rows() if OPS.family(key) not in ELSEWHERE]
KINDS = harness.REPRESENTATIVE
EVERY_TYPE = harness.cases(
    KEYS,
    where=lambda key, instance, dtype: (
        str(dtype) in KINDS or instance is (INSTANCES.get(key) or (None,))[0]
    ),
)
PARAMETERS = ("key", "instance", "dtype")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_aspect_has_its_rows(family: str):
    assert harness.incomplete(key for key in OPS.rows() if OPS.family(key) == family) == []


@pytest.mark.parametrize("family", ELSEWHERE)
def test_what_is_swept_elsewhere_is(family: str):
    own = (ROOT / "tests/ops" / f"test_{family}.py").read_text(encoding="utf-8")
    wanted = ("check_reference", "check_runtime", "check_narrow", "check_rule", "check_versions")
    assert [w for w in wanted if w not in own] == []


@pytest.mark.parametrize(PARAMETERS, EVERY_TYPE)
def test_reference(request: pytest.FixtureRequest, key: Key, instance: Instance, dtype: DType):
    known.expect(request, known.REFERENCE, key, instance, dtype)
    harness.check_reference(key, instance, dtype)


@pytest.mark.parametrize(PARAMETERS, harness.cases(KEYS, KINDS))
def test_runtime(request: pytest.FixtureRequest, key: Key, instance: Instance, dtype: DType):
    known.expect_limited(request, key, instance, dtype)
    harness.check_runtime(key, instance, dtype)


@pytest.mark.parametrize(PARAMETERS, EVERY_TYPE)
def test_narrow(key: Key, instance: Instance, dtype: DType):
    harness.check_narrow(key, instance, dtype)


@pytest.mark.parametrize(PARAMETERS, harness.cases(KEYS, ("float32", "int64")))
def test_rule(request: pytest.FixtureRequest, key: Key, instance: Instance, dtype: DType):
    known.expect(request, known.RULE, key, instance, dtype)
    harness.check_rule(key, instance, dtype)


@pytest.mark.parametrize(PARAMETERS, harness.cases(KEYS, KINDS))
def test_versions(key: Key, instance: Instance, dtype: DType):
    harness.check_versions(key, instance, dtype)
