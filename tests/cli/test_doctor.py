"""What doctor says of run times that are missing or in each other's way."""

from isomorph.doctor import runtime_package


def test_both_distributions_are_a_conflict_with_a_repair():
    found = runtime_package({"onnxruntime": "1.31.0", "onnxruntime-gpu": "1.31.1"})
    assert not found.ok
    assert "uninstall -y onnxruntime onnxruntime-gpu" in found.repair


def test_neither_is_a_gap_with_a_repair():
    found = runtime_package({})
    assert not found.ok
    assert "install onnxruntime" in found.repair


def test_either_will_do():
    assert runtime_package({"onnxruntime": "1.31.0"}).ok
    assert runtime_package({"onnxruntime-gpu": "1.31.1"}).ok
