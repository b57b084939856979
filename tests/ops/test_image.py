from __future__ import annotations

import io
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.copies import copy_graph
from isomorph.ir.dims import symbol
from isomorph.ir.errors import TypeInferenceError, UnsupportedError
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.parity import Status, verify
from isomorph.parity.well import judge
from tests.ops import harness
from tests.parity.models import save

if TYPE_CHECKING:
    from pathlib import Path

KEY = ("", "GridSample")
MODES = ("nearest", "linear", "cubic")
PADDINGS = ("zeros", "border", "reflection")


def grid_sample(x: Any, grid: Any, dtype: DType = DType.FLOAT32, **attributes: Any) -> Graph:
    """A GridSample of inputs of these shapes; the grid's numbers are float32."""
    graph = Graph()
    data = graph.add_input("x", TensorType(dtype, x))
    where = graph.add_input("grid", TensorType(DType.FLOAT32, grid))
    graph.outputs = [graph.add_op("GridSample", [data, where], attributes).output]
    return graph


def affine_grid(theta: Any, *size: int, **attributes: Any) -> Graph:
    graph = Graph()
    matrix = graph.add_input("theta", TensorType(DType.FLOAT32, theta))
    sizes = graph.add_weight(Weight.of(np.array(size, np.int64)))
    graph.outputs = [graph.add_op("AffineGrid", [matrix, sizes], attributes).output]
    return graph


# -- sampling -----------------------------------------------------------------------------


@st.composite
def samplings(draw: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    rank = draw(st.integers(2, 3))
    spatial = [draw(st.integers(1, 5)) for _ in range(rank)]
    places = [draw(st.integers(1, 4)) for _ in range(rank)]
    reach = draw(st.sampled_from([1.0, 1.5, 5.0, 40.0]))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    x = rng.standard_normal((2, 2, *spatial))
    grid = rng.uniform(-reach, reach, (2, *places, rank))
    if draw(st.booleans()):
        grid = np.round(grid * 4) / 4
    attributes = {
        "mode": draw(st.sampled_from(MODES[: 5 - rank])),
        "padding_mode": draw(st.sampled_from(PADDINGS)),
        "align_corners": draw(st.integers(0, 1)),
    }
    return x, grid, attributes


@pytest.mark.skipif(find_spec("torch") is None, reason="torch, a second source, is not installed")
@settings(max_examples=150, deadline=None, derandomize=True)
@given(samplings())
def test_sampling_is_that_of_torch(case: Any):
    import torch

    x, grid, attributes = case
    graph = Graph()
    inputs = [
        graph.add_input(n, TensorType(DType.FLOAT64, a.shape)) for n, a in (("x", x), ("g", grid))
    ]
    graph.outputs = [graph.add_op("GridSample", inputs, attributes).output]
    found = interpret(graph, [x, grid])[0]
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(attributes["mode"], "nearest")
    corners = bool(attributes["align_corners"])
    wanted = torch.nn.functional.grid_sample(
        torch.from_numpy(x), torch.from_numpy(grid), mode, attributes["padding_mode"], corners
    ).numpy()
    ties = np.zeros(found.shape, bool)
    if mode == "nearest":  # torch reflects before it rounds: halves go the other way
        size = np.array(x.shape[:1:-1])
        at = (grid + 1) / 2 * (size - 1) if corners else ((grid + 1) * size - 1) / 2
        ties |= (np.abs(at - np.floor(at) - 0.5) < 1e-9).any(-1)[:, None]
    np.testing.assert_allclose(found[~ties], wanted[~ties], atol=1e-12 * 40)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("rank", [2, 3])
def test_older_opsets_gather_and_weight(rank: int, padding: str, mode: str):
    """Below 16, where there is no GridSample, and below 20, where it has two spatial axes."""
    rng = np.random.default_rng(0)
    feeds = [
        rng.standard_normal((2, 3, *(4, 5, 3)[:rank])).astype(np.float32),
        rng.uniform(-2, 2, (2, *(3, 2, 2)[:rank], rank)).astype(np.float32),
    ]
    graph = grid_sample(feeds[0].shape, feeds[1].shape, mode=mode, padding_mode=padding)
    infer(graph)
    wanted = interpret(graph, feeds)
    for opset in (11, 15, 16):
        moved, _ = copy_graph(graph)
        assert downgrade(moved, opset) == []
        assert ("GridSample" in {op.type for op in moved.ops()}) == (opset == 16 and rank == 2)
        found = harness.by_runtime(harness.encode(moved, opset), feeds)
        harness.agree(KEY, feeds, found, wanted, 2.0**-24)


@pytest.mark.parametrize(("mode", "prefixed"), [("linear", "bilinear"), ("cubic", "bicubic")])
def test_version_16_names_its_modes_otherwise(mode: str, prefixed: str):
    x, grid = np.ones((1, 1, 3, 3), np.float32), np.zeros((1, 2, 2, 2), np.float32)
    model, feeds = harness.old_model(16, "GridSample", [x, grid], mode=prefixed)
    # The reference interpreter knows the later names alone.
    graph = harness.check_upgrade(model, feeds, harness.by_runtime(model, feeds))
    assert graph.ops()[0].attr("mode") == mode
    assert downgrade(graph, 19) == []
    assert graph.ops()[0].attr("mode") == prefixed


def test_integers_are_computed_as_floats():
    """GridSample-16: "intermediate values are computed as floating point and cast … at the end"."""
    graph = grid_sample((1, 1, 1, 2), (1, 1, 1, 2), DType.INT32, align_corners=1)
    x, grid = np.array([[[[1, 4]]]], np.int32), np.array([[[[0.5, 0.0]]]], np.float32)
    assert interpret(graph, [x, grid])[0].item() == 3  # 3.25


@pytest.mark.parametrize("place", [np.nan, np.inf, -np.inf, 1e30])
def test_what_is_nowhere_is_outside(place: float):
    graph = grid_sample((1, 1, 2, 2), (1, 1, 1, 2))
    x, grid = np.ones((1, 1, 2, 2), np.float32), np.full((1, 1, 1, 2), place, np.float32)
    assert interpret(graph, [x, grid])[0].item() == 0


def test_halves_are_rounded_to_even():
    graph = grid_sample((1, 1, 1, 4), (1, 1, 3, 2), mode="nearest")
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4)
    grid = np.array([[[[-0.5, 0], [0, 0], [0.5, 0]]]], np.float32)  # at 0.5, 1.5 and 2.5
    np.testing.assert_array_equal(interpret(graph, [x, grid])[0], [[[[0, 2, 2]]]])


# -- judging ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", PADDINGS)
def test_a_place_a_hundredth_of_a_pixel_off_is_no_rounding(mode: str, padding: str):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 2, 32, 32)).astype(np.float32)
    grid = rng.uniform(-1.2, 1.2, (1, 16, 16, 2)).astype(np.float32)
    graph = grid_sample(x.shape, grid.shape, mode=mode, padding_mode=padding)
    infer(graph)
    op = graph.ops()[0]
    right = harness.by_runtime(harness.encode(graph, 22), [x, grid])
    wrong = harness.by_runtime(harness.encode(graph, 22), [x, grid + np.float32(0.01 / 16)])
    (good,), (bad,) = judge(op, [x, grid], right), judge(op, [x, grid], wrong)
    assert good.status is Status.PASS, good
    assert bad.status is Status.FAIL


STN = """<ir_version: 9, opset_import: ["": 20]>
stn (float[n, 2, 3] theta, float[n, 3, h, w] x) => (float[n, 3, h, w] y) {
    size = Shape (x)
    grid = AffineGrid <align_corners = FIRST> (theta, size)
    y = GridSample <align_corners = SECOND, padding_mode = "PADDING"> (x, grid)
}"""


def transformer(folder: Path, first: int = 0, second: int = 0, padding: str = "border") -> Path:
    text = STN.replace("FIRST", str(first)).replace("SECOND", str(second))
    model = onnx.parser.parse_model(text.replace("PADDING", padding))
    return save(model, folder / f"stn-{first}-{second}-{padding}.onnx")


def test_a_spatial_transformer_is_verified(tmp_path: Path):
    verdict = verify(transformer(tmp_path), transformer(tmp_path), cases=20)
    assert verdict.status is Status.PASS, verdict


@pytest.mark.parametrize("change", [{"first": 1}, {"second": 1}, {"padding": "zeros"}])
def test_another_transformer_is_not_the_same(tmp_path: Path, change: dict[str, Any]):
    folder = tmp_path / "replay"
    found = transformer(tmp_path, **change)
    verdict = verify(transformer(tmp_path), found, cases=20, replay_folder=folder)
    assert verdict.status is Status.FAIL


@pytest.mark.parametrize("opset", [11, 16])
def test_a_transformer_without_the_operators_is_the_same(tmp_path: Path, opset: int):
    graph = decode_model(onnx.load(transformer(tmp_path)))
    assert upgrade(graph) == []
    infer(graph)
    assert downgrade(graph, opset) == []
    older = save(harness.encode(graph, opset), tmp_path / "older.onnx")
    verdict = verify(transformer(tmp_path), older, cases=20)
    assert verdict.status is Status.PASS, verdict


# -- grids --------------------------------------------------------------------------------


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [(1, 1, 3, 4), (1, 1, 2, 3, 4)])
def test_the_identity_gives_the_centres_of_pixels(size: tuple[int, ...], corners: int):
    rank = len(size) - 2
    theta = np.eye(rank, rank + 1, dtype=np.float32)[None]
    (grid,) = interpret(affine_grid(theta.shape, *size, align_corners=corners), [theta])
    assert grid.shape == (1, *size[2:], rank)
    ramp = np.arange(np.prod(size[2:]), dtype=np.float32).reshape(size)
    graph = grid_sample(ramp.shape, grid.shape, align_corners=corners)
    np.testing.assert_allclose(interpret(graph, [ramp, grid])[0], ramp, atol=1e-5)


def test_a_single_pixel_with_corners_aligned_lies_in_the_middle():
    """As in PyTorch; the standard does not say, and onnxruntime 1.31 puts it at the far edge."""
    theta = np.array([[[2, 0, 0.5], [0, 3, -0.5]]], np.float32)
    graph = affine_grid(theta.shape, 1, 1, 1, 1, align_corners=1)
    infer(graph)
    np.testing.assert_array_equal(interpret(graph, [theta])[0], [[[[0.5, -0.5]]]])
    results = harness.by_runtime(harness.encode(graph, 20), [theta])
    op = graph.ops()[0]
    (finding,) = judge(op, [theta, np.array([1, 1, 1, 1])], results)
    assert finding.status is Status.RUNTIME
    assert "a single pixel" in finding.reason


# -- shapes -------------------------------------------------------------------------------

B, C, H, W, P, Q = (symbol(n) for n in "bchwpq")
SYMBOLIC = (
    (grid_sample((B, C, H, W), (B, P, Q, 2)), (B, C, P, Q)),
    (grid_sample((B, C, 4, H, W), (B, 2, P, Q, 3)), (B, C, 2, P, Q)),
    (grid_sample((B, C, H, W), None), (B, C, None, None)),
    (grid_sample(None, (2, P, Q, 2)), (2, None, P, Q)),
    (affine_grid((B, 2, 3), 4, 1, 5, 6), (4, 5, 6, 2)),
    (affine_grid((B, 3, 4), 4, 1, 5, 6, 7), (4, 5, 6, 7, 3)),
)


@pytest.mark.parametrize(("graph", "shape"), SYMBOLIC)
def test_rules_keep_symbols(graph, shape):
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, shape)


def test_a_grid_as_large_as_an_image():
    graph = Graph()
    theta = graph.add_input("theta", TensorType(DType.FLOAT32, (B, 2, 3)))
    image = graph.add_input("image", TensorType(DType.FLOAT32, (B, 3, H, W)))
    size = graph.add_op("Shape", [image]).output
    graph.outputs = [graph.add_op("AffineGrid", [theta, size]).output]
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, (B, H, W, 2))


WRONG = (
    (grid_sample((1, 1, 4, 4), (1, 2, 2, 3)), "spatial axes: 3 and 2 do not agree"),
    (grid_sample((1, 1, 4, 4), (2, 2, 2, 2)), "batches of X and grid: 1 and 2"),
    (grid_sample((1, 1, 4, 4), (1, 2, 2, 2, 3)), "X has rank 4, and the grid 5"),
    (grid_sample((1, 4), (1, 2)), "X has rank 2, at least 3 was expected"),
    (grid_sample((1, 1, 4, 4), (1, 2, 2, 2), mode="lanczos"), "mode is 'lanczos'"),
    (grid_sample((1, 1, 4, 4), (1, 2, 2, 2), padding_mode="wrap"), "padding_mode is 'wrap'"),
    (affine_grid((1, 2, 3), 1, 1, 2, 3, 4), "rows of theta, and spatial axes: 2 and 3"),
    (affine_grid((1, 2, 4), 1, 1, 2, 3), "columns of theta"),
    (affine_grid((1, 2, 3), 1, 1, 2), "size has 3 numbers"),
    (affine_grid((3, 2, 3), 1, 1, 2, 2), "batches of theta and size: 3 and 1"),
)


@pytest.mark.parametrize(("graph", "message"), WRONG)
def test_rules_name_what_does_not_fit(graph, message):
    with pytest.raises(TypeInferenceError, match=message):
        infer(graph)


def test_text_is_not_interpolated():
    graph = grid_sample((1, 1, 1, 1), (1, 1, 1, 2), DType.STRING)
    feeds = [np.array([[[["a"]]]], object), np.zeros((1, 1, 1, 2), np.float32)]
    with pytest.raises(TypeInferenceError, match="text has no linear interpolation"):
        interpret(graph, feeds)


# -- images -------------------------------------------------------------------------------


def decoder(**attributes: str) -> Graph:
    graph = Graph()
    stream = graph.add_input("stream", TensorType(DType.UINT8, (symbol("n"),)))
    graph.outputs = [graph.add_op("ImageDecoder", [stream], attributes).output]
    infer(graph)
    return graph


def encoded(pixels: np.ndarray, kind: str, **options: Any) -> np.ndarray:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind, **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("BMP", {}), ("PNG", {}), ("TIFF", {}), ("PPM", {}), ("WEBP", {"lossless": True}),
     ("JPEG2000", {})],
)  # fmt: skip
def test_lossless_formats_come_back(kind: str, options: dict[str, Any]):
    stream = encoded(PIXELS, kind, **options)
    np.testing.assert_array_equal(interpret(decoder(), [stream])[0], PIXELS)
    (reversed_,) = interpret(decoder(pixel_format="BGR"), [stream])
    np.testing.assert_array_equal(reversed_, PIXELS[:, :, ::-1])
    (grey,) = interpret(decoder(pixel_format="Grayscale"), [stream])
    assert grey.shape == (5, 7, 1)


@pytest.mark.parametrize("form", ["L", "RGBA", "P"])
def test_every_image_has_the_channels_that_are_asked_for(form: str):
    stream = io.BytesIO()
    Image.fromarray(PIXELS).convert(form).save(stream, "PNG")
    (found,) = interpret(decoder(), [np.frombuffer(stream.getvalue(), np.uint8)])
    assert found.shape == (5, 7, 3)


@pytest.mark.parametrize("cut", [0, 1, 30])
def test_what_cannot_be_decoded_is_empty(cut: int):
    """ImageDecoder-20: "If it can't decode for any reason … it will return an empty matrix"."""
    stream = encoded(PIXELS, "PNG")[:cut]
    for pixels, channels in (("RGB", 3), ("Grayscale", 1)):
        (found,) = interpret(decoder(pixel_format=pixels), [stream])
        assert found.shape == (0, 0, channels)


def test_without_pillow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    stream = encoded(PIXELS, "PNG")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'isomorph\[image\]'"):
        interpret(decoder(), [stream])


def test_images_are_decoded_before_models_of_older_opsets():
    (stuck,) = downgrade(decoder(), 19)
    assert stuck.lowest == 20
