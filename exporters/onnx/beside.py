"""Data files that keep the names that a model gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.onnx.atomic import WriteError
from isomorph.ir.files import MappedFile
from isomorph.ir.weights import FileRange

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isomorph.exporters.onnx.atomic import Transaction
    from isomorph.ir.weights import Weight


def put_beside(transaction: Transaction, location: str, weights: Sequence[Weight]) -> None:
    """Let a file of a model have the bytes of weights, each at its own offset.

    Args:
        transaction: of the model; takes the file back when it is discarded.
        location: relative to the model's folder, as the model states it.
        weights: stored in ranges of a file, by ascending offset. What lies between is left out.

    Raises:
        WriteError: when another file lies there, or the location leads out of the folder.
    """
    folder = transaction.path.parent
    path = folder / location
    if path == transaction.path:
        raise WriteError(
            f"{path}: the model says that its data lies there, in the model's own file"
        )
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except RuntimeError as error:  # links in a circle
        raise WriteError(f"{path}: it cannot be written: {error}") from None
    if not inside:
        raise WriteError(f"{path}: it lies outside of {folder}, and nothing is written there")
    if path.exists():
        _check_same(path, weights)
        transaction.refer_to(path)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with transaction.new_data() as file:
        for weight in weights:
            if isinstance(weight.storage, FileRange):
                file.seek(weight.storage.offset)
                file.writelines(weight.storage.chunks())
        transaction.place_beside(file, path)


def _check_same(path: Path, weights: Sequence[Weight]) -> None:
    there = MappedFile(path)
    for weight in weights:
        own = weight.storage
        if not isinstance(own, FileRange) or own.file.identity == there.identity:
            continue
        end = own.offset + own.length
        if end > there.size or not all(
            a == b for a, b in zip(own.chunks(), there.chunks(own.offset, own.length), strict=True)
        ):
            raise WriteError(
                f"{path}: another file lies there, whose bytes {own.offset} to {end} are not the "
                "model's; write to another folder"
            )
