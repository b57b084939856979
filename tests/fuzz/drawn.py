"""What drawn graphs found, made small: each was once an error, or called wrong, and is right.

Of each the graph in ONNX's text form, and inputs; `tests/fuzz/test_drawn.py` takes it through the
house and before the court as the fuzzer does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD = '<ir_version: 10, opset_import: ["": {opset}, "com.microsoft": 1, "ai.onnx.ml": 5]>'
INF, NAN, TOP, TOP32 = np.inf, np.nan, 1.797e308, 3.4e38


@dataclass(frozen=True)
class Drawn:
    """A graph that was drawn.

    Attributes:
        body: of the graph, its inputs and outputs in front.
        feeds: one per input.
        refused: whether onnxruntime does not take the inputs, so that its file alone is tried.
        target: the opset that it is written for at last.
        opset: the one that it is stated at.
        hostile: whether its numbers are.
    """

    body: str
    feeds: Sequence[Any] = ()
    target: int = 23
    opset: int = 26
    hostile: bool = False
    refused: bool = False

    @property
    def text(self) -> str:
        return f"{HEAD.format(opset=self.opset)} g {self.body}"


def f4(*values: Any) -> np.ndarray:
    return np.array(values, np.float32)


def f8(*values: Any) -> np.ndarray:
    return np.array(values, np.float64)


PIXELS = np.random.default_rng(3).uniform(-2, 2, (1, 2, 3, 4, 2)).astype(np.float32)
PIXELS[0, 0, 1, 3, 0], PIXELS[0, 0, 1, 1, 1] = NAN, INF
FAR = np.random.default_rng(4).uniform(-TOP32, TOP32, (1, 2, 2, 3, 3)).astype(np.float32)
OFFSET = (100 + np.random.default_rng(0).uniform(-2, 2, (1, 3, 8, 8))).astype(np.float32)
WIDE = np.random.default_rng(1).uniform(-4e3, 4e3, (2, 3, 4)).astype(np.float32)

DRAWN: dict[str, Drawn] = {
    "a constant whose float16 is 1 is folded": Drawn(
        """() => (float16[3] y) <float16[3] w = {18017, 52281, 20231}> {
            y = Softmax <axis = 0> (w)
        }""",
        target=15,
    ),
    "a folded constant is what another weight is": Drawn(
        """(bool x) => (float[1] y) {
            y = If (x) <
                then_branch = t () => (float[1] p) <float[1] w = {3.790128}> { p = Sigmoid (w) },
                else_branch = e () => (float[1] q) <float[1] v = {0.97790647}> { q = Identity (v) }>
        }""",
        (np.array(True),),
        target=17,
    ),
    "the sign of Celu's zero is that of no maximum": Drawn(
        "() => (double[3] y) <double[3] w = {-0.0, 0.0, -1.0}> { y = Celu (w) }"
    ),
    "products of two of three operands overflow": Drawn(
        """(float[n] x, float[n, 2] z, float[2] v) => (float y) {
            y = Einsum <equation = "i,ij,j->"> (x, z, v)
        }""",
        (f4(-3, -4), f4([-TOP32, TOP32 / 2], [TOP32 / 3, -TOP32]), f4(0, 0)),
        hostile=True,
    ),
    "squares of float64 overflow and underflow at once": Drawn(
        """(double[4, 1] x, double[3, 4] z) => (double[1, 3] y) {
            y = com.microsoft.FusedMatMul <transA = 1, transB = 1, alpha = 2.0> (x, z)
        }""",
        (
            f8([-TOP], [-TOP], [0], [-0.3147]),
            f8(
                [-7.559e-322, 8.844e-322, 3.078e-321, -9.881e-324],
                [1.176e-321, -2.955e-321, -3.641e-321, 2.045e-321],
                [1.932e-321, -1.255e-321, -4.017e-321, -3.350e-321],
            ),
        ),
        hostile=True,
    ),
    "a kernel of a support vector machine overflows": Drawn(
        """(float[n, 2] x) => (float[n, 1] y) {
            y = ai.onnx.ml.SVMRegressor <kernel_type = "POLY", n_supports = 3,
                coefficients = [1.0, 0.5, -1.0], support_vectors = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0],
                rho = [0.1], kernel_params = [0.5, 1.0, 3.0]> (x)
        }""",
        (f4([INF, 0], [TOP32, -0.2], [0.15, -TOP32]),),
        hostile=True,
    ),
    "what is normalized is subnormal, its scale is not": Drawn(
        """(float[1, 7] x, float[7] s) => (float[1, 7] y) {
            y = SimplifiedLayerNormalization (x, s)
        }""",
        (
            f4([4.0860578e13, 6.8e-11, -1.7e-13, -1.13e-2, 5.66e-22, 1.3701739, 2.0211325e-27]),
            f4(-1340.4166, 1771.6853, 6942.087, 3678.8047, 1377.656, 3260.8674, -3298.9326),
        ),
        hostile=True,
    ),
    "a scale over a deviation is subnormal": Drawn(
        """(float[2, 3, 4] x, float[3] s, float[3] b, float[3] m, float[3] v)
                => (float[2, 3, 4] y) {
            y, p, q = BatchNormalization <training_mode = 1> (x, s, b, m, v)
        }""",
        (WIDE, f4(3.7e-38, 3.2e-38, 7e-39), f4(3.7e-38, 3.2e-38, 7e-39), f4(0, 0, 0), f4(1, 2, 3)),
        target=17,
        hostile=True,
    ),
    "a product of some factors underflows before the rest": Drawn(
        """(float[n, 2] x) => (float[2] y) <int64[1] a = {0}> {
            y = ReduceProd <keepdims = 0> (x, a)
        }""",
        (f4([1e-30, 1], [1e-30, 2], [-1e25, 3], [1e30, 4]),),
        hostile=True,
    ),
    "places are beyond the format": Drawn(
        """(float[1, 2, 3, 4, 2] x, float[1, 2, 2, 3, 3] p) => (float[1, 2, 2, 2, 3] y) {
            y = GridSample <mode = "linear", padding_mode = "border", align_corners = 1> (x, p)
        }""",
        (PIXELS, FAR),
        target=20,
        hostile=True,
    ),
    "weights of a cubic are rounded, of numbers far from 0": Drawn(
        """(float[1, 3, m, k] x) => (float[1, 3, i, j] y) <float[4] w = {1, 1, 2, 2.5}> {
            y = Resize <mode = "cubic", coordinate_transformation_mode = "align_corners"> (x, , w)
        }""",
        (OFFSET,),
        target=17,
    ),
    "sums of float64 leave its range": Drawn(
        """(double[1, 13, 1] x) => (double[1, a, 12, 2] y) <int64 s = {1}, int64 l = {12}> {
            y = STFT <onesided = 0> (x, s, , l)
        }""",
        (np.where(np.arange(13) % 3 == 0, TOP, -1.5e308).reshape(1, 13, 1),),
        target=15,
        hostile=True,
    ),
    "numbers are drawn from infinities": Drawn(
        """() => (int32[2, 5] y)
                <bfloat16[2, 3] w = {65408, 32640, 65408, 15782, 65408, 32640}> {
            y = Multinomial <sample_size = 5, seed = 0.001> (w)
        }""",
        target=18,
        hostile=True,
    ),
    "one number masks every key": Drawn(
        """(float[1, 1, 2, 4] q, float[1, 1, 3, 4] k, float[1, 1, 3, 4] v, float m)
                => (float[1, 1, 2, 4] y) { y = Attention (q, k, v, m) }""",
        (np.ones((1, 1, 2, 4), "f4"), *[np.ones((1, 1, 3, 4), "f4")] * 2, np.array(1, "f4")),
        target=18,
        refused=True,
    ),
    "a window with pads fits no elements": Drawn(
        """(float[1, 1, 2, 0] x, float[1, 1, 2, 4] w) => (float[1, 1, 2, 0] y) {
            y = Conv <auto_pad = "SAME_LOWER", strides = [1, 2]> (x, w)
        }""",
        (np.zeros((1, 1, 2, 0), "f4"), np.ones((1, 1, 2, 4), "f4")),
        refused=True,
    ),
    "dilated windows are padded so that sizes stay": Drawn(
        """(float[1, 1, n] x) => (float[1, 1, m] y) {
            y = LpPool <kernel_shape = [3], strides = [2], dilations = [2], auto_pad = "SAME_UPPER">
                (x)
        }""",
        (f4([[1, -2, 3, -4, 5]]),),
    ),
    "a region along an axis that keeps its size": Drawn(
        """(float[1, 1, n, 4] x) => (float[1, 1, 3, 3] y)
                <float[8] r = {0, 0, 0.4, -0.2, 1, 1, 0.9, 1.3}, int64[4] s = {1, 1, 3, 3}> {
            y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize",
                extrapolation_value = 7.0> (x, r, , s)
        }""",
        (np.arange(12, dtype="f4").reshape(1, 1, 3, 4) ** 1.5,),
        target=17,
    ),
    "a mean of no losses": Drawn(
        """(float[n, 2] x, int64[n] t) => (float y) { y = NegativeLogLikelihoodLoss (x, t) }""",
        (np.zeros((0, 2), "f4"), np.zeros(0, "i8")),
    ),
    "products of no terms": Drawn(
        """(float[1, 2, n] x, float[3, n, 2] z) => (float[3, 2, 2] y) { y = MatMul (x, z) }""",
        (np.zeros((1, 2, 0), "f4"), np.zeros((3, 0, 2), "f4")),
    ),
    "the magnitude of the least integer": Drawn(
        """(int32[2, 2] x) => (float[2, 2] y) { y = ai.onnx.ml.Normalizer <norm = "L1"> (x) }""",
        (np.array([[-(2**31), 1], [2, 3]], np.int32),),
        hostile=True,
    ),
    "the largest of NaN": Drawn(
        """(double[1, 2] x) => (float[1, 2] y) { y = ai.onnx.ml.Normalizer <norm = "MAX"> (x) }""",
        (f8([0.5, NAN]),),
        hostile=True,
    ),
    "an attention without a bias kills the process": Drawn(
        """(float[1, 2, 2] x, float[2, 6] w) => (float[1, 2, 2] y) {
            y = com.microsoft.Attention <num_heads = 1> (x, w)
        }""",
        (f4([[1, 2], [3, 4]]), np.ones((2, 6), "f4")),
    ),
    "a scan of nothing kills the process": Drawn(
        """(float[0] x, float[n, 2] z) => (float[0] s, float[0, n] y) {
            s, y = Scan <num_scan_inputs = 1, scan_output_axes = [1],
                body = b (float[0] a, float[2] e) => (float[0] c, float[0] d) {
                    c = Identity (a)
                    d = Identity (a)
                }> (x, z)
        }""",
        (np.zeros(0, "f4"), np.ones((2, 2), "f4")),
    ),
}
