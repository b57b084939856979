"""pooling: small well-typed instances of each operator."""

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.opdef import Key

A = Arg
X = A((2, 3, 7, 6))
LINE = A((2, 3, 9))
SPACE = A((1, 2, 4, 5, 3))
TIES = tuple(i * 5 % 7 % 3 for i in range(216))
EMPTY = A((0, 3, 7, 6))
IMAGE = A((2, 3, 6, 8))
ROIS = A((3, 4), "T1", (0.5, 0.75, 5.5, 4.25, 1.0, 1.0, 3.0, 2.5, -1.5, 2.25, 9.0, 7.5))
BATCH = A((3,), "int64", (0, 1, 0))
WINDOWS = (
    Instance((X,), {"kernel_shape": (3, 2)}),
    Instance(
        (X,),
        {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)},
        note="strides and pads",
    ),
    Instance((X,), {"kernel_shape": (3, 2), "pads": (2, 0, 1, 1)}, note="uneven pads"),
    Instance(
        (X,),
        {"kernel_shape": (3, 3), "strides": (2, 3), "auto_pad": "SAME_UPPER"},
        note="same upper",
    ),
    Instance(
        (X,),
        {"kernel_shape": (2, 3), "strides": (2, 2), "auto_pad": "SAME_LOWER"},
        note="same lower",
    ),
    Instance((X,), {"kernel_shape": (2, 3), "strides": (2, 2), "auto_pad": "VALID"}, note="valid"),
    Instance((LINE,), {"kernel_shape": (4,), "strides": (2,), "pads": (1, 2)}, note="1-D"),
    Instance((SPACE,), {"kernel_shape": (2, 3, 2), "pads": (0, 1, 1, 0, 1, 0)}, note="3-D"),
    Instance((EMPTY,), {"kernel_shape": (3, 2)}, note="empty batch"),
)
CEIL = (
    Instance((X,), {"kernel_shape": (2, 3), "strides": (3, 2), "ceil_mode": 1}, note="ceil"),
    Instance(
        (X,),
        {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1), "ceil_mode": 1},
        note="ceil with pads",
    ),
    Instance(
        (LINE,),
        {"kernel_shape": (2,), "strides": (5,), "pads": (0, 1), "ceil_mode": 1},
        note="ceil, last window dropped",
    ),
)
DILATED = (
    Instance((X,), {"kernel_shape": (2, 3), "dilations": (3, 2)}, note="dilations"),
    Instance(
        (X,),
        {"kernel_shape": (2, 2), "dilations": (2, 3), "strides": (2, 1), "pads": (1, 2, 0, 1)},
        note="dilations with pads",
    ),
)

INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "MaxPool"): (
        *WINDOWS,
        *CEIL,
        *DILATED,
        Instance(
            (X,),
            {"kernel_shape": (3, 2), "strides": (2, 2), "pads": (1, 0, 1, 1)},
            outputs=2,
            note="indices",
        ),
        Instance(
            (X,),
            {"kernel_shape": (3, 2), "strides": (2, 2), "pads": (1, 0, 1, 1), "storage_order": 1},
            outputs=2,
            note="indices by column",
        ),
        Instance(
            (A((2, 3, 6, 6), values=TIES),),
            {"kernel_shape": (3, 3)},
            outputs=2,
            note="indices of ties",
        ),
        Instance((LINE,), {"kernel_shape": (3,), "strides": (2,)}, outputs=2, note="indices, 1-D"),
        Instance((SPACE,), {"kernel_shape": (2, 2, 2)}, outputs=2, note="indices, 3-D"),
    ),
    ("", "AveragePool"): (
        *WINDOWS,
        *CEIL,
        *DILATED,
        Instance(
            (X,),
            {
                "kernel_shape": (3, 3),
                "strides": (2, 2),
                "pads": (1, 1, 1, 1),
                "count_include_pad": 1,
            },
            note="padding counts",
        ),
        Instance(
            (X,),
            {
                "kernel_shape": (3, 3),
                "strides": (2, 2),
                "pads": (1, 1, 1, 1),
                "count_include_pad": 1,
                "ceil_mode": 1,
            },
            note="padding counts, ceil",
        ),
        Instance(
            (X,),
            {
                "kernel_shape": (2, 3),
                "dilations": (2, 2),
                "pads": (1, 1, 1, 2),
                "count_include_pad": 1,
            },
            note="padding counts, dilations",
        ),
    ),
    ("", "LpPool"): (
        *WINDOWS,
        *CEIL,
        *DILATED,
        Instance((X,), {"kernel_shape": (3, 2), "p": 1}, note="p 1"),
        Instance((X,), {"kernel_shape": (3, 2), "p": 3, "pads": (1, 1, 1, 1)}, note="p 3"),
        Instance(
            (X,), {"kernel_shape": (2, 2), "p": 3, "dilations": (2, 1)}, note="p 3, dilations"
        ),
    ),
    ("", "GlobalMaxPool"): (
        Instance((X,)),
        Instance((LINE,), note="1-D"),
        Instance((SPACE,), note="3-D"),
        Instance((EMPTY,), note="empty batch"),
    ),
    ("", "GlobalAveragePool"): (
        Instance((X,)),
        Instance((LINE,), note="1-D"),
        Instance((SPACE,), note="3-D"),
        Instance((EMPTY,), note="empty batch"),
    ),
    ("", "GlobalLpPool"): (
        Instance((X,)),
        Instance((LINE,), {"p": 1}, note="1-D, p 1"),
        Instance((SPACE,), {"p": 3}, note="3-D, p 3"),
    ),
    ("", "MaxUnpool"): (
        Instance(
            (A((1, 1, 2, 2), "T1"), A((1, 1, 2, 2), "int64", (5, 7, 13, 15))),
            {"kernel_shape": (2, 2), "strides": (2, 2)},
            main="T1",
        ),
        Instance(
            (A((1, 1, 2, 2), "T1"), A((1, 1, 2, 2), "int64", (5, 7, 13, 15)), A.ints(1, 1, 5, 5)),
            {"kernel_shape": (2, 2), "strides": (2, 2)},
            main="T1",
            note="output shape",
        ),
        Instance(
            (
                A((1, 1, 2, 2), "T1"),
                A((1, 1, 2, 2), "int64", (0, 2, 6, 8)),
                A((4,), "int64", (1, 1, 3, 4)),
            ),
            {"kernel_shape": (2, 2), "strides": (2, 2), "pads": (1, 0, 0, 1)},
            main="T1",
            note="run-time output shape, pads",
        ),
        Instance(
            (A((2, 1, 3), "T1"), A((2, 1, 3), "int64", (1, 2, 5, 6, 8, 11))),
            {"kernel_shape": (2,), "strides": (2,)},
            main="T1",
            note="1-D",
        ),
    ),
    ("", "MaxRoiPool"): (
        Instance(
            (IMAGE, A((3, 5), values=(0, 1, 1, 6, 4, 1, 0, 2, 3, 5, 0, 2, 0, 2, 0))),
            {"pooled_shape": (2, 2)},
        ),
        Instance(
            (IMAGE, A((2, 5), values=(1, 2, 3, 14, 9, 0, -4, 0, 6, 20))),
            {"pooled_shape": (3, 2), "spatial_scale": 0.5},
            note="scaled, beyond the image",
        ),
    ),
    ("", "RoiAlign"): (
        Instance(
            (A((2, 3, 6, 8), "T1"), ROIS, BATCH),
            {"output_height": 2, "output_width": 3, "sampling_ratio": 2},
            main="T1",
        ),
        Instance(
            (A((2, 3, 6, 8), "T1"), ROIS, BATCH),
            {"output_height": 2, "output_width": 2, "spatial_scale": 0.5},
            main="T1",
            note="adaptive, scaled",
        ),
        Instance(
            (A((2, 3, 6, 8), "T1"), ROIS, BATCH),
            {
                "output_height": 2,
                "output_width": 3,
                "coordinate_transformation_mode": "output_half_pixel",
            },
            main="T1",
            note="output half pixel",
        ),
        Instance(
            (A((2, 3, 6, 8), "T1"), ROIS, BATCH),
            {"output_height": 2, "output_width": 2, "sampling_ratio": 2, "mode": "max"},
            main="T1",
            note="max",
        ),
    ),
}
