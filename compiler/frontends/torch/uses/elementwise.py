"""Uses of arithmetic, comparison, logic and rounding."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import SOME, I, M, N, Use, X, Y, inside, named, use

aten = torch.ops.aten
J = "j: int64[batch, 6] in 0..9"
Z = "z: float32[batch, 6]"

UNARY: list[Use] = [
    *named(
        (
            torch.abs, torch.ceil, torch.cos, torch.cosh, torch.erf, torch.exp, torch.exp2,
            torch.expm1, torch.floor, torch.frac, torch.isfinite, torch.isinf, torch.isnan,
            torch.logical_not, torch.neg, torch.reciprocal, torch.round, torch.sign, torch.sin,
            torch.sinh, torch.square, torch.tan, torch.tanh, torch.trunc, torch.atan, torch.asinh,
        ),
        X,
    ),
    *named(
        (torch.acos, torch.asin, torch.atanh, torch.log, torch.log1p, torch.log2, torch.log10,
         torch.rsqrt, torch.sqrt),
        inside(0.05, 0.95),
    ),
    use("acosh", torch.acosh, inside(1.1, 3)),
    use("round decimals", lambda x: torch.round(x, decimals=1)),
    use("log1p tiny", lambda x: torch.log1p(x * 1e-6)),
    use("expm1 tiny", lambda x: torch.expm1(x * 1e-6)),
    use("sqrt int", torch.sqrt, I),
    use("neg int", torch.neg, I),
    use("bitwise_not", torch.bitwise_not, M),
    use("nan_to_num", lambda x: torch.nan_to_num(x / x.round())),
    use("logit", torch.logit, inside(0.1, 0.9)),
]  # fmt: skip

BINARY: list[Use] = [
    *named(
        (torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.eq,
         torch.ne, torch.lt, torch.le, torch.gt, torch.ge, torch.atan2, torch.floor_divide,
         torch.remainder, torch.fmod, torch.logical_and, torch.logical_or, torch.logical_xor,
         torch.dist, torch.logaddexp, torch.heaviside),
        X,
        Y,
    ),
    use("add alpha", lambda x, y: torch.add(x, y, alpha=2.5), X, Y),
    use("add.Scalar", lambda x: aten.add.Scalar(x, 2.5)),
    use("sub scalar", lambda x: x - 0.1),
    use("sub.Scalar", lambda x: aten.sub.Scalar(x, 2.5)),
    use("mul.Scalar", lambda x: aten.mul.Scalar(x, 2.5)),
    use("div.Scalar", lambda x: aten.div.Scalar(x, 2.5)),
    use("div.Scalar_mode", lambda x: aten.div.Scalar_mode(x, 0.5, rounding_mode="floor")),
    use("rsub", lambda x: 3 - x),
    use("rsub.Tensor", torch.rsub, X, Y),
    use("rdiv", lambda x: 3 / x),
    use("add int float", lambda i, x: i + x, I, X),
    use("add int scalar", lambda i: i + 1.5, I),
    use("add int int", lambda i: i + 2, I),
    use("mul bool", lambda m, x: m * x, M, X),
    use("add bool", lambda m, n: m + n, M, N),
    use("and", lambda m, n: m & n, M, N),
    use("or int", lambda i, j: i | j, I, J),
    use("xor", lambda m, n: m ^ n, M, N),
    *(
        use(f"{f.__name__}{what}", f, *specs)
        for f in (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor)
        for what, specs in (("", (I, J)), (" bool", (M, N)))
    ),
    use("bitwise_and.Scalar", lambda i: aten.bitwise_and.Scalar(i, 5), I),
    use("bitwise_or.Scalar", lambda i: aten.bitwise_or.Scalar(i, 5), I),
    use("bitwise_xor.Scalar", lambda i: aten.bitwise_xor.Scalar(i, 5), I),
    use("bitwise_and.Scalar_Tensor", lambda i: aten.bitwise_and.Scalar_Tensor(5, i), I),
    use("bitwise_or.Scalar_Tensor", lambda i: aten.bitwise_or.Scalar_Tensor(5, i), I),
    use("bitwise_xor.Scalar_Tensor", lambda i: aten.bitwise_xor.Scalar_Tensor(5, i), I),
    use("div floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), X, Y),
    use("div trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), X, Y),
    use("div int", lambda i: i / 4, I),
    use("floordiv int", lambda i: (i - 3) // 4, I),
    use("floor_divide.Scalar", lambda x: aten.floor_divide.Scalar(x, 0.5)),
    use("fmod.Scalar", lambda x: aten.fmod.Scalar(x, 0.7)),
    use("mod int", lambda i: (i - 3) % 4, I),
    use("mod negative", lambda i: (i - 3) % -4, I),
    use("pow 2", lambda x: x**2),
    use("pow 3", lambda x: x**3),
    use("pow half", lambda x: x**0.5, inside(0.1, 2)),
    use("pow tensor", torch.pow, inside(0.1, 2), Y),
    use("pow scalar base", lambda x: 2.0**x),
    use("pow int", lambda i: i**3, I),
    use("compare mixed", lambda i, x: i > x, I, X),
    use("compare scalar", lambda i: i > 2.5, I),
    use("eq.Scalar", lambda x: x == 0.5),
    use("ge.Scalar", lambda x: x >= 0.5),
    use("le.Scalar", lambda x: x <= 0.5),
    use("lt.Scalar", lambda x: x < 0.5),
    use("ne.Scalar", lambda x: x != 0.5),
    use("eq bool", lambda m, n: m == n, M, N),
    use("max.other", torch.max, X, Y),
    use("min.other", torch.min, X, Y),
    use("xlogy", torch.xlogy, inside(0.1, 2), inside(0.1, 2, "y")),
    use("huber", F.huber_loss, SOME, Y),
    use("smooth l1", F.smooth_l1_loss, SOME, Y),
    use("mse", F.mse_loss, SOME, Y),
]  # fmt: skip

CHOICE: list[Use] = [
    use("where", torch.where, M, X, Y),
    use("where scalar", lambda m, x: torch.where(m, x, 0.5), M, X),
    use("where scalar first", lambda m, x: torch.where(m, 0.5, x), M, X),
    use("where promoted", torch.where, M, I, X),
    use("masked_fill", lambda x, m: x.masked_fill(m, -3.0), X, M),
    use("masked_fill.Tensor", lambda x, m: x.masked_fill(m, torch.tensor(-3.0)), X, M),
    use("clamp", lambda x: torch.clamp(x, -0.5, 0.7)),
    use("clamp min", lambda x: x.clamp(min=0.2)),
    use("clamp tensor", lambda x, y: torch.clamp(x, max=y), X, Y),
    use("clamp int", lambda i: i.clamp(1, 3), I),
    use("clamp_max", lambda x: x.clamp_max(0.2)),
    use("clamp_max.Tensor", lambda x, y: x.clamp_max(y), X, Y),
    use("clamp_min", lambda x: x.clamp_min(0.2)),
    use("clamp_min.Tensor", lambda x, y: x.clamp_min(y), X, Y),
    use("addcmul", lambda x, y: torch.addcmul(x, x, y, value=0.5), X, Y),
    use("addcdiv", lambda x, y: torch.addcdiv(x, x, y, value=0.5), X, inside(0.5, 2, "y")),
    use("lerp", lambda x, y: torch.lerp(x, y, 0.3), X, Y),
    use("lerp.Tensor", torch.lerp, X, Y, Z),
]

TYPES: list[Use] = [
    use("to int", lambda x: (x * 3).to(torch.int32)),
    use("to bool", lambda x: x.bool()),
    use("to half", lambda x: x.half() + 1),
    use("to.device", lambda x: x.to("cpu", torch.float64)),
    use("to.dtype_layout", lambda x: aten.to.dtype_layout(x, dtype=torch.int32)),
    use("to.other", aten.to.other, I, X),
    use("_to_copy", lambda x: aten._to_copy(x, dtype=torch.float64)),  # noqa: SLF001 - torch's own
    use("type_as", lambda i, x: i.type_as(x), I, X),
    use("float", lambda i: i.float(), I),
    use("item", lambda x: x * x.sum().item()),
    use("item int", lambda i: i + i.sum().item(), I),
    use("_local_scalar_dense", lambda x: x * aten._local_scalar_dense(x.sum())),  # noqa: SLF001 - torch's own
    use("size as number", lambda x: x / x.shape[0]),
    use("size root", lambda x: x * x.shape[1] ** -0.5 + x.shape[0] ** 0.5),
]

USES: list[Use] = [*UNARY, *BINARY, *CHOICE, *TYPES]
