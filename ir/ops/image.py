"""image: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.ops._reshape import Types, tensor, unknown, vector_length
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim

MODES = {
    "nearest": "nearest",
    "linear": "linear",
    "bilinear": "linear",
    "cubic": "cubic",
    "bicubic": "cubic",
}
"""How GridSample interpolates, by the names of version 16 and of version 20."""
PADDINGS = ("zeros", "border", "reflection")
CHANNELS = {"RGB": 3, "BGR": 3, "Grayscale": 1}
"""How many channels ImageDecoder makes, by pixel format."""


def _agree(ctx: Context, what: str, first: Dim, second: Dim) -> Dim:
    """A dim that two operands share."""
    if isinstance(first, int) and isinstance(second, int) and first != second:
        raise ctx.error(f"{what}: {first} and {second} do not agree")
    return second if first is None or isinstance(second, int) else first


def _grid_sample(ctx: Context) -> Types:
    mode, padding = ctx.attr("mode", "linear"), ctx.attr("padding_mode", "zeros")
    if mode not in MODES:
        raise ctx.error(f"mode is {mode!r}, one of {', '.join(sorted(set(MODES.values())))} is")
    if padding not in PADDINGS:
        raise ctx.error(f"padding_mode is {padding!r}, one of {', '.join(PADDINGS)} was expected")
    data, grid = ctx.shape(0), ctx.shape(1)
    for name, shape in (("X", data), ("grid", grid)):
        if shape is not None and len(shape) < 3:
            raise ctx.error(f"{name} has rank {len(shape)}, at least 3 was expected")
    rank = len(data) if data is not None else len(grid) if grid is not None else None
    if rank is None:
        return tensor(ctx, None)
    if grid is not None and len(grid) != rank:
        raise ctx.error(f"X has rank {rank}, and the grid {len(grid)}: they were to be equal")
    if grid is not None:
        _agree(ctx, "numbers that say where to read, and spatial axes", grid[-1], rank - 2)
    batch, channels = data[:2] if data is not None else (None, None)
    if grid is not None:
        batch = _agree(ctx, "batches of X and grid", batch, grid[0])
    places = grid[1:-1] if grid is not None else unknown(rank - 2)
    return tensor(ctx, (batch, channels, *places))


def _affine_grid(ctx: Context) -> Types:
    theta, size = ctx.shape(0), ctx.dims(1)
    count = len(size) if size is not None else vector_length(ctx, 1)
    if theta is not None and len(theta) != 3:
        raise ctx.error(f"theta has rank {len(theta)}; (N, 2, 3) or (N, 3, 4) was expected")
    if count not in (None, 4, 5):
        raise ctx.error(f"size has {count} numbers; (N, C, H, W) or (N, C, D, H, W) was expected")
    rows = None if count is None else count - 2
    if theta is not None:
        rows = _agree(ctx, "rows of theta, and spatial axes", theta[1], rows)
        if isinstance(rows, int):
            if rows not in (2, 3):
                raise ctx.error(f"theta has {rows} rows; 2 or 3 were expected")
            _agree(ctx, "columns of theta, and one more than its rows", theta[2], rows + 1)
    if not isinstance(rows, int):
        return tensor(ctx, None)
    given = size if size is not None else unknown(rows + 2)
    batch = given[0]
    if theta is not None:
        batch = _agree(ctx, "batches of theta and size", theta[0], batch)
    return tensor(ctx, (batch, *given[2:], rows))


def _image_decoder(ctx: Context) -> Types:
    rank, pixels = ctx.rank(0), ctx.attr("pixel_format", "RGB")
    if rank is not None and rank != 1:
        raise ctx.error(f"the encoded stream has rank {rank}, a vector of bytes was expected")
    if pixels not in CHANNELS:
        raise ctx.error(f"pixel_format is {pixels!r}, one of {', '.join(CHANNELS)} was expected")
    return (TensorType(DType.UINT8, (None, None, CHANNELS[pixels])),)


OPS: dict[Key, OpDef] = {
    ("", "GridSample"): OpDef(_grid_sample, Tolerance.SAMPLING),
    ("", "AffineGrid"): OpDef(_affine_grid, Tolerance.SAMPLING),
    ("", "ImageDecoder"): OpDef(_image_decoder, Tolerance.EXACT),
}
