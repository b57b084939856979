"""The digits example: its stored files, its training code, and the array function agree."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

HERE = Path(__file__).parents[2] / "examples" / "digits"
TRAIN = runpy.run_path(str(HERE / "train.py"))


@pytest.fixture(scope="module")
def weights() -> dict[str, Any]:
    return load_file(HERE / "digits.safetensors")


@pytest.fixture(scope="module")
def held() -> tuple[Any, Any]:
    with np.load(HERE / "heldout.npz") as file:
        return file["images"], file["labels"]


def test_the_stored_weights_classify_the_held_out_images(
    weights: dict[str, Any], held: tuple[Any, Any]
) -> None:
    assert TRAIN["accuracy"](weights, *held) >= 0.98


def test_the_files_are_small_and_plain(weights: dict[str, Any], held: tuple[Any, Any]) -> None:
    images, labels = held
    assert images.shape == (360, 1, 8, 8)
    assert images.dtype == np.float32
    assert (images.min(), images.max()) == (0, 1)
    assert labels.dtype == np.int64
    assert np.bincount(labels).tolist() == [36] * 10
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float32)}
    stored = ("digits.safetensors", "heldout.npz")
    assert sum((HERE / name).stat().st_size for name in stored) < 300_000


def test_the_held_out_images_are_those_that_training_never_saw(held: tuple[Any, Any]) -> None:
    pytest.importorskip("sklearn")
    images, labels, held_images, held_labels = TRAIN["split"]()
    np.testing.assert_array_equal(held_images, held[0])
    np.testing.assert_array_equal(held_labels, held[1])
    assert len(labels) == 1797 - 360
    seen = {image.tobytes() for image in images}
    assert not any(image.tobytes() in seen for image in held_images)


def test_training_follows_the_true_gradient(weights: dict[str, Any], held: tuple[Any, Any]) -> None:
    """Against central differences in float64, on weights where no gradient has vanished."""
    rng = np.random.default_rng(0)
    p = {
        name: w + 0.1 * rng.standard_normal(w.shape) if ".var" not in name else w.astype(float)
        for name, w in weights.items()
    }
    images, labels = held[0][:7].astype(float), held[1][:7]
    _, grads = TRAIN["loss_and_gradients"](dict(p), images, labels)
    assert set(grads) == {name for name in p if not name.endswith((".mean", ".var"))}
    for name, gradient in grads.items():
        direction = rng.standard_normal(p[name].shape)
        step = 1e-6
        ahead, behind = (
            TRAIN["loss_and_gradients"](p | {name: p[name] + s * direction}, images, labels)[0]
            for s in (step, -step)
        )
        slope = (ahead - behind) / (2 * step)
        assert slope == pytest.approx((gradient * direction).sum(), rel=1e-4, abs=1e-8), name


def test_the_array_function_is_the_trained_net(
    weights: dict[str, Any], held: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In float64, with epsilon as the float32 that an ONNX attribute holds."""
    stored = float(np.float32(TRAIN["EPSILON"]))
    monkeypatch.setitem(TRAIN["evaluate"].__globals__, "EPSILON", stored)
    model = runpy.run_path(str(HERE / "model.py"))
    assert {name: w.shape for name, w in weights.items()} == model["SHAPES"]
    images = held[0].astype(np.float64)
    wide = {name: w.astype(np.float64) for name, w in weights.items()}
    logits = np.asarray(model["digits"](images))
    np.testing.assert_allclose(logits, TRAIN["evaluate"](wide, images), rtol=1e-9, atol=1e-12)
