"""What hostile and broken files come to: `HOSTILE`, by what is wrong with them.

A row is a builder, the error that reading ends in (`None` when the file is read), and a pattern of
what that says. docs/hostile-files.md is written from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper

from isomorph.ir.errors import InvalidModelError, UnsupportedError
from tests.frontends.onnx import hostile as h
from tests.frontends.onnx.hostile import X, model

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = tuple[Callable[[], onnx.ModelProto | bytes], type[Exception] | None, str]


HOSTILE: dict[str, dict[str, Row]] = {
    "no model at all": {
        "an empty file": (lambda: b"", InvalidModelError, "is empty"),
        "text": (
            lambda: b"Dear model,\nhow are you?\n",
            InvalidModelError,
            "not an ONNX model but text",
        ),
        "a web page": (
            lambda: b"<!DOCTYPE html><html><body>404</body></html>",
            InvalidModelError,
            "a web page",
        ),
        "a pointer of Git LFS": (
            lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            InvalidModelError,
            "git lfs pull",
        ),
        "a zip archive": (lambda: b"PK\x03\x04rest of it", InvalidModelError, "a zip archive"),
        "a pickle": (lambda: b"\x80\x02}q\x00.", InvalidModelError, "never opened here"),
        "JSON": (lambda: b'{"nodes": []}', InvalidModelError, "JSON"),
        "noise": (lambda: bytes(range(255, 0, -1)), InvalidModelError, "not a whole ONNX model"),
        "zeros": (lambda: bytes(100), InvalidModelError, "not a whole ONNX model"),
        "another message of ONNX": (
            lambda: helper.make_node("Relu", ["x"], ["y"]).SerializeToString(),
            InvalidModelError,
            "ONNX model",
        ),
        "a header alone": (
            lambda: b"\x08\x0a",
            InvalidModelError,
            "a graph and an IR version are expected",
        ),
        "a length of 2 GiB in 15 bytes": (
            lambda: b"\x08\x0a\x3a\xff\xff\xff\xff\x07" + bytes(8),
            InvalidModelError,
            "claims 2147483647 bytes",
        ),
        "a length of 2^63": (
            lambda: b"\x3a" + b"\xff" * 9 + b"\x01",
            InvalidModelError,
            "not a whole ONNX model",
        ),
        "a number without end": (
            lambda: b"\x08" + b"\xff" * 40,
            InvalidModelError,
            "not a whole ONNX model",
        ),
        "names that are not UTF-8": (
            h.not_text,
            InvalidModelError,
            r"b'Re\\xffl' is not UTF-8",
        ),
        "a field that the format does not define": (h.unknown_field, None, ""),
    },
    "header": {
        "no opset": (lambda: model(opset=0), InvalidModelError, "opset 0.*1 is the lowest"),
        "a negative opset": (lambda: model(opset=-3), InvalidModelError, "opset -3"),
        "an opset of the future": (
            lambda: model(opset=999),
            UnsupportedError,
            "opset 999.*up to 28",
        ),
        "two opsets of one domain": (
            h.two_opsets,
            InvalidModelError,
            "opsets 21 and 20 of ai.onnx",
        ),
        "a format of the future": (
            lambda: model(ir_version=77),
            UnsupportedError,
            "IR version is 77.*up to 14",
        ),
        "a negative format": (lambda: model(ir_version=-1), InvalidModelError, "IR version is -1"),
        "a constraint that is none": (
            lambda: h.metadata("isomorph.constraints", "batch >> 4"),
            InvalidModelError,
            "isomorph.constraints.*batch >> 4",
        ),
        "a range that is none": (
            lambda: h.metadata("isomorph.domains", "x in a..b"),
            InvalidModelError,
            "isomorph.domains.*x in a..b",
        ),
    },
    "names and order": {
        "an operand that nothing computes": (
            lambda: model([helper.make_node("Relu", ["z"], ["y"])]),
            InvalidModelError,
            "nothing computes its input 'z'",
        ),
        "an output that nothing computes": (
            lambda: model([]),
            InvalidModelError,
            "nothing computes its output 'y'",
        ),
        "a name of 10 MB": (
            lambda: h.long_name(10_000_000),
            InvalidModelError,
            "nothing computes its input 'qqq",
        ),
        "a value that is computed twice": (
            lambda: h.twice("y"),
            InvalidModelError,
            "'y' is computed twice",
        ),
        "an input that is computed": (
            lambda: h.twice("x"),
            InvalidModelError,
            "'x' is computed twice",
        ),
        "two results of one name": (
            lambda: model([helper.make_node("Split", ["x"], ["y", "y"], num_outputs=2)]),
            InvalidModelError,
            "'y' is computed twice",
        ),
        "an input that is there twice": (
            lambda: model(inputs=[X, X]),
            InvalidModelError,
            "input 'x' is defined twice",
        ),
        "an initializer that is there twice": (
            lambda: model(initializers=[numpy_helper.from_array(np.zeros(1), "w")] * 2),
            InvalidModelError,
            "initializer 'w' is defined twice",
        ),
        "an initializer of another type than its input": (
            lambda: model(initializers=[numpy_helper.from_array(np.zeros(2, np.int64), "x")]),
            InvalidModelError,
            "initializer 'x' is int64.*, but the input of the same name is stated to be float32",
        ),
        "50,000 initializers, one of them twice": (
            lambda: h.many_initializers(50_000),
            InvalidModelError,
            "initializer 'w49999' is defined twice",
        ),
        "a circle of two nodes": (h.cyclic, InvalidModelError, "cycle"),
        "a circle of 50,000 nodes": (lambda: h.circle(50_000), InvalidModelError, "cycle"),
        "a circle through a subgraph": (h.circle_through_subgraph, InvalidModelError, "cycle"),
        "20,000 nodes in the wrong order": (lambda: h.backwards(20_000), None, ""),
    },
    "operators": {
        "a domain that is not imported": (
            lambda: model([helper.make_node("F", ["x"], ["y"], domain="a.b")]),
            InvalidModelError,
            "does not import the domain 'a.b'",
        ),
        "an attribute that is given twice": (
            h.attribute_twice,
            InvalidModelError,
            "'alpha' is given twice",
        ),
        "a reference outside of functions": (
            h.reference_outside_of_functions,
            InvalidModelError,
            "outside of functions",
        ),
        "an attribute that is missing": (
            lambda: model([helper.make_node("Cast", ["x"], ["y"])]),
            InvalidModelError,
            "attribute 'to' is missing",
        ),
        "an attribute that does not exist": (
            lambda: model([helper.make_node("Relu", ["x"], ["y"], alpha=1.0)]),
            InvalidModelError,
            "no attribute 'alpha'",
        ),
        "an attribute of another kind": (
            lambda: model([helper.make_node("Cast", ["x"], ["y"], to="float")]),
            InvalidModelError,
            "attribute 'to' is 'float'.*INT is expected",
        ),
        "an element type that does not exist": (
            lambda: model([helper.make_node("Cast", ["x"], ["y"], to=256)]),
            InvalidModelError,
            "attribute 'to' is 256; an element type",
        ),
        "operands that it does not take": (
            lambda: model([helper.make_node("Relu", ["x", "x"], ["y"])]),
            InvalidModelError,
            "2 inputs, 1 to 1",
        ),
        "an operand that is left out": (
            lambda: model([helper.make_node("Add", ["x", ""], ["y"])]),
            InvalidModelError,
            r"operand 1 \(B\) is absent",
        ),
    },
    "tensors": {
        "a negative dim": (lambda: h.dims(-4), InvalidModelError, r"initializer 'w'.*\(-4,\)"),
        "enormous dims": (lambda: h.dims(2**62, 2**62), InvalidModelError, "more than 1 TiB"),
        "enormous dims and no element": (
            lambda: h.dims(0, 2**62),
            InvalidModelError,
            "more than 1 TiB",
        ),
        "more dims than an array has": (lambda: h.dims(*[1] * 65), UnsupportedError, "65 dims"),
        "a million dims": (lambda: h.dims(*[1] * 1_000_000), UnsupportedError, "1000000 dims"),
        "dims of an input that are negative": (
            lambda: model(inputs=[helper.make_tensor_value_info("x", 1, [-4])]),
            InvalidModelError,
            "input 'x': dim -4 is negative",
        ),
        "fewer bytes than the dims need": (
            lambda: h.dims(5),
            InvalidModelError,
            "need 20 bytes, it has 16",
        ),
        "a gigabyte that is not there": (
            lambda: h.dims(1 << 28),
            InvalidModelError,
            "need 1073741824 bytes, it has 16",
        ),
        "fewer numbers than the dims need": (
            lambda: h.typed_data(3, 1 << 28),
            InvalidModelError,
            "need 268435456 elements, it has 3",
        ),
        "an element type of the future": (
            lambda: h.data_type(999),
            InvalidModelError,
            "element type 999",
        ),
        "no element type": (lambda: h.data_type(0), InvalidModelError, "element type 0"),
        "a sparse tensor with an index past its end": (
            lambda: h.sparse([1, 9]),
            InvalidModelError,
            "do not ascend within",
        ),
        "a sparse tensor with unsorted indices": (
            lambda: h.sparse([2, 1]),
            InvalidModelError,
            "do not ascend",
        ),
        "a sparse tensor of 128 GiB when dense": (
            lambda: h.sparse([1], 2**35),
            UnsupportedError,
            "are made dense",
        ),
        "a sparse tensor of 256 MiB when dense": (lambda: h.sparse([1], 2**26), None, ""),
    },
    "nesting and size": {
        "subgraphs 60 deep": (lambda: h.nested(60, 1), InvalidModelError, "nested deeper"),
        "subgraphs 5,000 deep, in 200 kB": (
            lambda: h.nested(5000, 1 << 17),
            InvalidModelError,
            "nested deeper",
        ),
        "subgraphs 10,000 deep": (
            lambda: h.deep_subgraphs(10_000),
            (InvalidModelError, UnsupportedError),
            "nested deeper than",
        ),
        "types 10,000 deep": (
            lambda: h.deep_type(10_000),
            (InvalidModelError, UnsupportedError),
            "nested deeper than",
        ),
        "types 40 deep": (
            lambda: h.deep_type(40),
            UnsupportedError,
            "its type is nested deeper than 32 levels",
        ),
        "3,000 subgraphs that share 3,000 captures": (
            lambda: h.captures_that_multiply(3000),
            UnsupportedError,
            "3000 subgraphs use 3000 values",
        ),
        "1,000 subgraphs whose names collide": (lambda: h.names_that_collide(1000), None, ""),
    },
    "functions": {
        "functions that call each other in a circle": (
            lambda: h.functions({"f": ["g"], "g": ["f"]}),
            InvalidModelError,
            "circle: local.f → local.g → local.f",
        ),
        "a function that calls itself": (
            lambda: h.functions({"f": ["f"]}),
            InvalidModelError,
            "circle",
        ),
        "functions that expand to a billion nodes": (
            h.bomb,
            UnsupportedError,
            "expand to .* nodes",
        ),
        "a chain of 100 functions": (
            lambda: h.functions({f"f{i}": [f"f{i + 1}" if i < 99 else "Relu"] for i in range(100)}),
            UnsupportedError,
            "call each other 100 deep",
        ),
        "3,000 calls of a function with 100,000 numbers": (
            lambda: h.large_constant_called(3000, 100_000, ints=False),
            None,
            "",
        ),
        "3,000 calls of a function with a list of 100,000": (
            lambda: h.large_constant_called(3000, 100_000, ints=True),
            None,
            "",
        ),
    },
    "data in other files": {
        "an absolute path": (
            lambda: h.external("/etc/passwd"),
            InvalidModelError,
            "'w'.*'/etc/passwd'.*absolute",
        ),
        "a path that leads up": (lambda: h.external("../w.bin"), InvalidModelError, "leads out"),
        "a path that leads down and up": (
            lambda: h.external("a/../../w.bin"),
            InvalidModelError,
            "leads out",
        ),
        "an absolute path of Windows": (
            lambda: h.external("C:\\w.bin"),
            InvalidModelError,
            "absolute",
        ),
        "a path that leads up in Windows": (
            lambda: h.external("..\\w.bin"),
            InvalidModelError,
            "leads out",
        ),
        "a share of Windows": (
            lambda: h.external("\\\\host\\w.bin"),
            InvalidModelError,
            "absolute",
        ),
        "a URL": (lambda: h.external("file:///etc/passwd"), InvalidModelError, "no such file"),
        "a home folder": (lambda: h.external("~/w.bin"), InvalidModelError, "no such file"),
        "a file that is not there": (
            lambda: h.external("no.bin"),
            InvalidModelError,
            "no such file",
        ),
        "a file as a folder": (
            lambda: h.external("w.bin/x"),
            InvalidModelError,
            "cannot be opened",
        ),
        "a name of 5,000 letters": (
            lambda: h.external("n" * 5000),
            InvalidModelError,
            "cannot be opened",
        ),
        "no path": (lambda: h.external(""), InvalidModelError, "names no file"),
        "a path with a null": (lambda: h.external("a\0b"), InvalidModelError, "names no file"),
        "the folder itself": (
            lambda: h.external("."),
            InvalidModelError,
            "the model's folder itself",
        ),
        "the model itself": (lambda: h.external("model.onnx", 0, 17), InvalidModelError, "need 16"),
        "an address in memory": (
            lambda: h.external("*/_ORT_MEM_ADDR_/*", 140000000, 16),
            InvalidModelError,
            "no such file",
        ),
        "a negative offset": (lambda: h.external("w.bin", -1), InvalidModelError, "offset '-1'"),
        "an offset that is no number": (
            lambda: h.external("w.bin", "0x10"),
            InvalidModelError,
            "'0x10'",
        ),
        "an offset of 2^62": (
            lambda: h.external("w.bin", 2**62, 16),
            InvalidModelError,
            "which has 64",
        ),
        "an offset of 2^64": (
            lambda: h.external("w.bin", 2**64, 16),
            InvalidModelError,
            "offset '18446744073709551616'",
        ),
        "an offset past the end": (
            lambda: h.external("w.bin", 60),
            InvalidModelError,
            "bytes 60 to 76",
        ),
        "a length that does not fit": (
            lambda: h.external("w.bin", 0, 15),
            InvalidModelError,
            "need 16 bytes, 15",
        ),
        "a negative length": (
            lambda: h.external("w.bin", 0, -16),
            InvalidModelError,
            "length '-16'",
        ),
        "a place that is stated twice": (
            h.stated_twice,
            InvalidModelError,
            "states 'location' twice",
        ),
        "a path that leads up, of a constant in a function": (
            lambda: h.in_attribute("../w.bin"),
            InvalidModelError,
            "leads out",
        ),
        "tensors that overlap in part": (
            lambda: h.two_in_a_file((0, 16), (8, 16)),
            InvalidModelError,
            "bytes 8 to 24 of 'w.bin', of which tensor 'w' has 0 to 16",
        ),
        "a tensor within another": (
            lambda: h.two_in_a_file((0, 16), (4, 8)),
            InvalidModelError,
            "tensors share all of their bytes or none",
        ),
        "tensors that share all of their bytes": (
            lambda: h.two_in_a_file((0, 16), (0, 16), (16, 48)),
            None,
            "",
        ),
    },
}
