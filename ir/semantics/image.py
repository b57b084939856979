"""image: what each operator computes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError, UnsupportedError
from isomorph.ir.ops.image import CHANNELS, MODES, PADDINGS
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics._plain import ints
from isomorph.ir.semantics._sampling import sample

if TYPE_CHECKING:
    import numpy.typing as npt

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = npt.NDArray[Any]


def problem(call: Call, message: str) -> Exception:
    """The error for operands that do not fit the op."""
    return TypeInferenceError(f"{call.op}: {message}")


def sampling(call: Call) -> tuple[str, str, bool]:
    """How a GridSample interpolates, how it pads, and whether it aligns corners."""
    mode, padding = call.attr("mode", "linear"), call.attr("padding_mode", "zeros")
    if mode not in MODES or padding not in PADDINGS:
        raise problem(call, f"mode {mode!r} with padding_mode {padding!r} is not defined")
    return MODES[mode], padding, bool(call.attr("align_corners", 0))


def _grid_sample(call: Call, x: Any, grid: Any) -> Array:
    """Padding is applied to each element that a place is made of, as in PyTorch.

    "For integer input types, intermediate values are computed as floating point and cast to
    integer at the end." Halves are rounded to even, which the text says of `nearest` since 20.
    """
    mode, padding, corners = sampling(call)
    rank = x.ndim - 2
    if rank < 1 or grid.ndim != x.ndim or grid.shape[-1] != rank or grid.shape[0] != x.shape[0]:
        raise problem(call, f"X {list(x.shape)} and grid {list(grid.shape)} do not fit each other")
    at = n.up(grid)
    if mode == "nearest":
        return sample(x, at, mode, padding, corners=corners)
    if x.dtype.kind in "OUST":
        raise problem(call, f"text has no {mode} interpolation; mode nearest has no need of one")
    wide = x.astype(np.float64) if x.dtype.kind in "biu" else n.up(x)
    at = at.astype(np.result_type(at, np.abs(wide[:0])), copy=False)
    return n.like(sample(wide, at, mode, padding, corners=corners), x)


def centres(size: int, *, corners: bool) -> npt.NDArray[np.float64]:
    """Where the centres of pixels lie along an axis from -1 to 1; a single one in the middle.

    The standard leaves a single pixel open when corners are aligned: this is PyTorch's answer.
    """
    at = 2 * np.arange(size, dtype=np.float64) - (size - 1)
    return at / max(size - 1 if corners else size, 1)


def _affine_grid(call: Call, theta: Any, size: Any) -> Array:
    given = ints(size)
    rank = len(given) - 2
    wanted = (given[0], rank, rank + 1) if given else ()
    if rank not in (2, 3) or theta.shape != wanted or min(given) < 0:
        raise problem(call, f"theta {list(theta.shape)} does not fit size {list(given)}")
    matrix = n.up(theta)
    corners = bool(call.attr("align_corners", 0))
    total = matrix[:, :, rank].reshape(given[0], *(1,) * rank, rank)
    for axis, count in enumerate(given[2:]):
        at = centres(count, corners=corners).astype(matrix.dtype)
        column = matrix[:, :, rank - 1 - axis].reshape(given[0], *(1,) * rank, rank)
        total = total + at.reshape(-1, *(1,) * (rank - axis)) * column
    return n.like(total, theta)


def _image_decoder(call: Call, stream: Any) -> Array:
    """By Pillow; what cannot be decoded gives an empty matrix."""
    try:
        from PIL import Image
    except ImportError:
        raise UnsupportedError(
            f"{call.op.where}: ImageDecoder is evaluated with Pillow, which is not installed: "
            "pip install 'isomorph[image]', or decode before the model"
        ) from None
    pixels = call.attr("pixel_format", "RGB")
    if pixels not in CHANNELS:
        raise problem(
            call, f"pixel_format is {pixels!r}, one of {', '.join(CHANNELS)} was expected"
        )
    try:
        with Image.open(io.BytesIO(np.asarray(stream, np.uint8).tobytes())) as opened:
            image = np.array(opened.convert("L" if pixels == "Grayscale" else "RGB"))
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError):
        return np.zeros((0, 0, CHANNELS[pixels]), np.uint8)
    if image.ndim == 2:
        return image[:, :, None]
    return np.ascontiguousarray(image[:, :, ::-1]) if pixels == "BGR" else image


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "GridSample"): (Impl(_grid_sample),),
    ("", "AffineGrid"): (Impl(_affine_grid),),
    ("", "ImageDecoder"): (Impl(_image_decoder),),
}
