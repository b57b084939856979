"""linear: small well-typed instances of each operator."""

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.opdef import Key

A = Arg
NARROW = ("float32", "float16", "float64", "bfloat16")
SQUARE = (2.0, 1.0, 0.0, 1.0, 3.0, -1.0, 0.0, -1.0, 2.0)

INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "MatMul"): (
        Instance((A((3, 4)), A((4, 5)))),
        Instance((A((2, 3, 4)), A((4, 5))), note="batch on the left"),
        Instance((A((4, 5)), A((2, 5, 3))), note="batch on the right"),
        Instance((A((2, 1, 3, 4)), A((1, 5, 4, 2))), note="batches broadcast"),
        Instance((A((4,)), A((4,))), note="two vectors"),
        Instance((A((4,)), A((2, 4, 3))), note="vector and matrices"),
        Instance((A((2, 3, 4)), A((4,))), note="matrices and vector"),
        Instance((A((3, 7)), A((7, 5), const=True)), note="constant weights"),
        Instance((A((0, 4)), A((4, 5))), note="no rows", dtypes=NARROW),
        Instance((A((3, 0)), A((0, 5))), note="nothing to sum", dtypes=NARROW),
    ),
    ("", "Gemm"): (
        Instance((A((3, 4)), A((4, 5)), A((3, 5)))),
        Instance((A((3, 4)), A((4, 5))), note="no bias"),
        Instance((A((3, 4)), A((5, 4)), A((5,))), {"transB": 1}, note="bias of columns"),
        Instance((A((4, 3)), A((4, 5)), A((3, 1))), {"transA": 1}, note="bias of rows"),
        Instance((A((4, 3)), A((5, 4)), A((1, 5))), {"transA": 1, "transB": 1}, note="both"),
        Instance((A((3, 4)), A((4, 5)), A(())), {"alpha": 2.0, "beta": 3.0}, note="scaled"),
        Instance(
            (A((3, 4)), A((4, 5)), A((5,))),
            {"alpha": 0.5, "beta": 0.25},
            note="halves",
            dtypes=NARROW,
        ),
        Instance((A((3, 4)), A((4, 5)), A((5,))), {"beta": 0.0}, note="bias ignored"),
        Instance(
            (A((3, 4)), A((5, 4), const=True), A((5,), const=True)),
            {"transB": 1},
            note="constant weights",
        ),
        Instance((A((0, 4)), A((4, 5)), A((5,))), note="no rows", dtypes=NARROW),
    ),
    ("", "Einsum"): (
        Instance((A((3, 4)), A((4, 5))), {"equation": "ij,jk->ik"}),
        Instance((A((3, 4)),), {"equation": "ij->ji"}, note="transpose"),
        Instance((A((3, 4)),), {"equation": "ij->i"}, note="sum"),
        Instance((A((3, 4)),), {"equation": "ij->"}, note="sum of all"),
        Instance((A((2, 3, 4)), A((2, 4, 5))), {"equation": "bij, bjk -> bik"}, note="batched"),
        Instance((A((2, 3, 4)), A((4, 5))), {"equation": "...ij,jk->...ik"}, note="ellipsis"),
        Instance((A((2, 1, 4)), A((1, 3, 4))), {"equation": "...a,...a"}, note="implicit"),
        Instance((A((2, 3)), A((4,))), {"equation": "ba,c"}, note="implicit outer"),
        Instance((A((2, 3)), A((3, 4))), {"equation": "Ba,aC->CB"}, note="capitals"),
        Instance(
            (A((2, 3, 4, 5)), A((2, 6, 4, 5))),
            {"equation": "bqhd,bkhd->bhqk"},
            note="attention scores",
        ),
        Instance((A((2, 3, 4)), A((3, 4, 5))), {"equation": "aij,ijb->ab"}, note="two summed"),
        Instance((A((3,)), A((3, 4)), A((4,))), {"equation": "i,ij,j->"}, note="three operands"),
        Instance((A((3, 3)),), {"equation": "ii->i"}, note="diagonal"),
        Instance((A((3, 3)),), {"equation": "ii"}, note="trace"),
        Instance((A((2, 3, 4)), A((2, 3, 4))), {"equation": "bij,bij->bij"}, note="product"),
        Instance((A((0, 3)), A((3, 4))), {"equation": "ij,jk->ik"}, note="empty", dtypes=NARROW),
    ),
    ("", "Det"): (
        Instance((A((3, 3), values=SQUARE),)),
        Instance((A((2, 3, 3)),), note="batch"),
        Instance((A((2, 1, 2, 2)),), note="two batch axes"),
    ),
}
