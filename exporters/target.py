"""What a model is written for: opset, file format, and the release of a run time that loads it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import Any

from isomorph.ir import schema
from isomorph.ir.errors import UnsupportedError

DISTRIBUTIONS = {"onnxruntime": ("onnxruntime", "onnxruntime-gpu")}
"""Packages that bring a run time along, by its name."""

PROVIDERS = ("cpu",)


@dataclass(frozen=True, slots=True)
class Limits:
    """The newest opset of ai.onnx and the newest IR version that a release was seen to load."""

    opset: int
    ir_version: int


LIMITS: dict[str, dict[tuple[int, int], Limits]] = {
    "onnxruntime": {
        (1, 19): Limits(21, 10),
        (1, 20): Limits(21, 10),
        (1, 21): Limits(22, 10),
        (1, 22): Limits(22, 10),
        (1, 23): Limits(23, 11),
        (1, 24): Limits(25, 13),
        (1, 25): Limits(26, 13),
        (1, 26): Limits(26, 13),
        (1, 27): Limits(26, 13),
        (1, 28): Limits(26, 13),
        (1, 29): Limits(26, 13),
        (1, 30): Limits(26, 13),
        (1, 31): Limits(26, 13),
        (1, 32): Limits(28, 14),
    }
}
"""Observed: each release's CPU wheel, asked to load an Identity at every opset and IR version."""


@dataclass(frozen=True, slots=True)
class Target:
    """A frozen description of where a file is going.

    Attributes:
        opset: of the default domain.
        ir_version: the newest that the run time loads.
        runtime: `onnxruntime`.
        release: such as `1.31.1`.
        provider: the execution provider, `cpu`.
        observed: whether this release's limits were seen, or are the newest's that were.
    """

    opset: int
    ir_version: int
    runtime: str = "onnxruntime"
    release: str = ""
    provider: str = "cpu"
    observed: bool = True

    def __str__(self) -> str:
        release = f" {self.release}" if self.release else ""
        return f"opset {self.opset}, {self.runtime}{release}, {self.provider}"

    def to_json(self) -> dict[str, Any]:
        """The target as plain data."""
        return {
            "opset": self.opset,
            "ir_version": self.ir_version,
            "runtime": self.runtime,
            "release": self.release,
            "provider": self.provider,
            "observed": self.observed,
        }


def make_target(
    opset: int | None = None, runtime: str = "onnxruntime", provider: str = "cpu"
) -> Target:
    """A target from what a user asks for.

    Args:
        opset: of the default domain; the newest that the run time loads by default.
        runtime: `onnxruntime` (the installed release) or `onnxruntime==1.31.1`.
        provider: the execution provider.

    Raises:
        UnsupportedError: when the run time is unknown or not installed, or cannot load the opset.
    """
    name, _, release = runtime.partition("==")
    if name not in LIMITS:
        raise UnsupportedError(f"run time {name!r} is not known; {', '.join(LIMITS)} is")
    if provider not in PROVIDERS:
        raise UnsupportedError(
            f"provider {provider!r} of {name} is not known; {', '.join(PROVIDERS)} is"
        )
    own = installed(name) or ""
    release = own if own.startswith(f"{release}.") else release or own
    if not release:
        raise UnsupportedError(
            f"{name} is not installed; install it, or name a release: {name}==1.31.1"
        )
    limits, observed = limits_of(name, release)
    newest = min(limits.opset, schema.CANONICAL[""])
    wanted = newest if opset is None else opset
    if not 1 <= wanted <= newest:
        raise UnsupportedError(
            f"opset {wanted} was asked for; {name} {release} loads opsets 1 to {newest}"
        )
    return Target(wanted, limits.ir_version, name, release, provider, observed)


def installed(runtime: str) -> str | None:
    """The release of a run time that is installed, found without importing it."""
    for distribution in DISTRIBUTIONS[runtime]:
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return None


def limits_of(runtime: str, release: str) -> tuple[Limits, bool]:
    """The limits of a release, and whether they were observed.

    A newer one than all that were seen has the newest's, if it is installed: it can be asked.

    Raises:
        UnsupportedError: when the release cannot be read, or is not known.
    """
    known = LIMITS[runtime]
    try:
        major, minor = (int(part) for part in release.split(".")[:2])
    except ValueError:
        raise UnsupportedError(
            f"{runtime} release {release!r} cannot be read; one such as 1.31.1 is expected"
        ) from None
    if (major, minor) in known:
        return known[major, minor], True
    if release == installed(runtime) and (major, minor) > max(known):
        return known[max(known)], False
    oldest, newest = (".".join(map(str, key)) for key in (min(known), max(known)))
    raise UnsupportedError(
        f"{runtime} {release} is not known here: releases {oldest} to {newest} are, and what is "
        "installed"
    )
