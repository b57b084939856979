"""movement: what each operator is. Their rules are grouped by what they do to a shape."""

from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.ops import _cut, _produce, _reshape, _resize

_EXACT = Tolerance.EXACT

OPS: dict[Key, OpDef] = {
    ("", "Reshape"): OpDef(_reshape.reshape, _EXACT),
    ("", "Transpose"): OpDef(_reshape.transpose, _EXACT),
    ("", "Squeeze"): OpDef(_reshape.squeeze, _EXACT),
    ("", "Unsqueeze"): OpDef(_reshape.unsqueeze, _EXACT),
    ("", "Flatten"): OpDef(_reshape.flatten, _EXACT),
    ("", "Expand"): OpDef(_reshape.expand, _EXACT),
    ("", "Tile"): OpDef(_reshape.tile, _EXACT),
    ("", "Concat"): OpDef(_cut.concat, _EXACT),
    ("", "Split"): OpDef(_cut.split, _EXACT),
    ("", "Slice"): OpDef(_cut.slice_, _EXACT),
    ("", "Pad"): OpDef(_cut.pad, _EXACT),
    ("", "CenterCropPad"): OpDef(_cut.center_crop_pad, _EXACT),
    ("", "Shape"): OpDef(_produce.shape, _EXACT),
    ("", "Size"): OpDef(_produce.size, _EXACT),
    ("", "Constant"): OpDef(_produce.constant, _EXACT),
    ("", "ConstantOfShape"): OpDef(_produce.constant_of_shape, _EXACT),
    ("", "Range"): OpDef(_produce.range_, Tolerance.ELEMENTWISE, ulps=2.0),
    ("", "EyeLike"): OpDef(_produce.eye_like, _EXACT),
    ("", "Trilu"): OpDef(_produce.same, _EXACT),
    ("", "ReverseSequence"): OpDef(_produce.same, _EXACT),
    ("", "DepthToSpace"): OpDef(_produce.depth_to_space, _EXACT),
    ("", "SpaceToDepth"): OpDef(_produce.space_to_depth, _EXACT),
    ("", "Resize"): OpDef(_resize.resize, Tolerance.DOT),
}
