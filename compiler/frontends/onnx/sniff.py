"""What a file that is no ONNX model probably is, from its first bytes."""

from __future__ import annotations

_STARTS = (
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file itself with `git lfs pull`"),
    (b"PK\x03\x04", "a zip archive (a PyTorch .pt or .pt2 is one); export the model to ONNX first"),
    (b"\x80\x02", "a Python pickle; it is never opened here, export the model to ONNX first"),
    (b"\x80\x04", "a Python pickle; it is never opened here, export the model to ONNX first"),
    (b"\x89HDF", "an HDF5 file; convert the Keras model with tf2onnx first"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"\x93NUMPY", "a numpy array"),
)


def guess(head: bytes) -> str:
    """A noun phrase, with a remedy where there is one; empty when nothing is recognised."""
    for start, kind in _STARTS:
        if head.startswith(start):
            return kind
    if head[4:8] == b"ORTM":
        return "an onnxruntime .ort file; the .onnx file it was made from is needed"
    if head[4:8] == b"TFL3":
        return "a TensorFlow Lite file; convert it with tf2onnx first"
    if head[8:10] == b'{"' and head[:8].endswith(b"\0\0"):
        return "a safetensors file: weights without a model"
    start = head.lstrip()[:64].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "a web page; the download went wrong"
    if start.startswith((b"<?xml", b"{", b"[")):
        return "XML or JSON text"
    if head and _is_text(head):
        return "text"
    return ""


def _is_text(head: bytes) -> bool:
    try:
        shown = head[:256].decode()
    except UnicodeDecodeError:
        return False
    return all(c.isprintable() or c.isspace() for c in shown)
