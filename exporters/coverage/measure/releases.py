"""The packages that measurements depend on, as they are installed here."""

from __future__ import annotations

from importlib import metadata

from isomorph.exporters.target import installed


def releases() -> dict[str, str]:
    """Their versions; torch only where it is there."""
    found = {
        "onnx": metadata.version("onnx"),
        "onnxruntime": installed("onnxruntime") or "",
    }
    try:
        return {**found, "torch": metadata.version("torch").partition("+")[0]}
    except metadata.PackageNotFoundError:
        return found
