"""Every function that traces, against numpy's own result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isomorph import array as xp
from isomorph.frontends.array.tables import FUNCTIONS, GENERALISED
from isomorph.frontends.array.ufuncs import UFUNCS
from tests.frontends.array.tracing import agree

RNG = np.random.default_rng(7)
A = RNG.standard_normal((3, 4)).astype(np.float32)
B = RNG.standard_normal((3, 4)).astype(np.float32)
C = RNG.standard_normal((2, 3, 4)).astype(np.float32)
S = RNG.standard_normal((4, 4)).astype(np.float32)
V = RNG.standard_normal(4).astype(np.float32)
W = RNG.standard_normal((4, 5)).astype(np.float32)
N = np.array([[3, -1, 4, 1], [-5, 9, 2, 6], [5, 3, -5, 8]], np.int64)
U = np.abs(N).astype(np.uint8)
M = A > 0
NAN = np.where(A > 0.8, np.float32(np.nan), A)
T3 = RNG.standard_normal((5, 3)).astype(np.float32)

# fmt: off
CASES: dict[str, list[tuple[Any, ...]]] = {
    # reductions
    "sum": [(np.sum, A), (lambda x: x.sum(), N), (lambda x: np.sum(x, axis=1, keepdims=True), A),
            (lambda x: np.sum(x, axis=(0, 2)), C), (lambda x: x.sum(0), M),
            (lambda x: x.sum(-1), U),
            (lambda x: np.sum(x, dtype=np.float64), A), (lambda x: np.sum(x, axis=()), A),
            (lambda x: np.sum(x, axis=0, initial=3), A), (lambda x, m: np.sum(x, where=m), A, M),
            (lambda x: np.sum(x, dtype=np.int8), N), (np.sum, np.float32(3))],
    "prod": [(np.prod, A), (lambda x: np.prod(x, axis=0), N), (lambda x: x.prod(1), U)],
    "max": [(np.max, A), (lambda x: x.max(axis=1), N), (lambda x: x.max(0), U), (np.max, M),
            (lambda x: np.max(x, axis=0, initial=1.0), A), (np.amax, N.astype(np.int16))],
    "min": [(np.min, A), (lambda x: x.min(axis=-1, keepdims=True), N), (np.amin, M),
            (lambda x, m: np.min(x, axis=0, initial=9, where=m), A, M)],
    "all": [(np.all, M), (lambda x: np.all(x, axis=1), A), (lambda x: x.all(0, keepdims=True), M)],
    "any": [(np.any, M), (lambda x: np.any(x, axis=(0, 1)), N), (lambda x: x.any(0), M)],
    "mean": [(np.mean, A), (lambda x: x.mean(axis=(1, 2)), C), (np.mean, N), (np.mean, M),
             (lambda x: x.mean(-1, keepdims=True), A.astype(np.float16)),
             (lambda x, m: np.mean(x, where=m), A, M), (lambda x: np.mean(x, dtype=np.float64), A)],
    "var": [(np.var, A), (lambda x: x.var(axis=1, ddof=1), A), (np.var, N),
            (lambda x: np.var(x, correction=1, keepdims=True), A),
            (lambda x: xp.var(x, axis=0, correction=2), A)],
    "std": [(np.std, A), (lambda x: x.std(axis=0, ddof=1), A), (np.std, A.astype(np.float16)),
            (lambda x: xp.std(x, correction=1), A)],
    "average": [(np.average, A), (lambda x, w: np.average(x, axis=1, weights=w), A, np.abs(V)),
                (lambda x, w: np.average(x, weights=w), A, np.abs(B)),
                (lambda x, w: np.average(x, axis=0, weights=w, returned=True), A, np.abs(B))],
    "count_nonzero": [(np.count_nonzero, M), (lambda x: np.count_nonzero(x, axis=1), N)],
    "ptp": [(np.ptp, A), (lambda x: np.ptp(x, axis=1), N)],
    "argmax": [(np.argmax, A), (lambda x: x.argmax(1), N), (lambda x: np.argmax(x, axis=0), M),
               (lambda x: np.argmax(x, axis=0, keepdims=True), A),
               (lambda x: np.argmax(x, keepdims=True), A)],
    "argmin": [(np.argmin, A), (lambda x: x.argmin(-1), U)],
    "cumsum": [(np.cumsum, A), (lambda x: x.cumsum(1), N), (lambda x: np.cumsum(x, axis=0), U),
               (lambda x: np.cumsum(x, axis=0, dtype=np.int8), M)],
    "cumprod": [(np.cumprod, A), (lambda x: x.cumprod(0), N)],
    "cumulative_sum": [(lambda x: np.cumulative_sum(x, axis=1), A),
                       (lambda x: xp.cumulative_sum(x, axis=0, include_initial=True), N)],
    "cumulative_prod": [(lambda x: xp.cumulative_prod(x, axis=0, include_initial=True), A)],
    "nansum": [(np.nansum, NAN), (lambda x: np.nansum(x, axis=1), NAN), (np.nansum, N)],
    "nanprod": [(lambda x: np.nanprod(x, axis=0), NAN)],
    "nanmean": [(np.nanmean, NAN), (lambda x: np.nanmean(x, axis=0), NAN)],
    "nanmax": [(lambda x: np.nanmax(x, axis=0), NAN), (np.nanmax, N)],
    "nanmin": [(lambda x: np.nanmin(x, axis=1), NAN)],
    # shape
    "reshape": [(lambda x: np.reshape(x, (2, 6)), A), (lambda x: x.reshape(-1), A),
                (lambda x: x.reshape(4, -1), A), (lambda x: x.reshape((2, -1, 3)), A),
                (lambda x: xp.reshape(x, (12,)), A), (lambda x: x.reshape(x.shape[0], 2, 2), A)],
    "ravel": [(np.ravel, C), (lambda x: x.flatten(), C), (lambda x: x.ravel(), A)],
    "squeeze": [(lambda x: np.squeeze(x, axis=1), A[:, None]), (lambda x: x[None].squeeze(0), A)],
    "expand_dims": [(lambda x: np.expand_dims(x, 1), A), (lambda x: np.expand_dims(x, (0, -1)), A)],
    "transpose": [(np.transpose, C), (lambda x: x.T, A), (lambda x: x.transpose(0, 2, 1), C),
                  (lambda x: x.transpose((2, 0, 1)), C),
                  (lambda x: xp.permute_dims(x, (1, 0, 2)), C),
                  (lambda x: x.transpose(), C), (lambda x: np.transpose(x, (-1, 0, 1)), C)],
    "swapaxes": [(lambda x: np.swapaxes(x, 0, -1), C), (lambda x: x.swapaxes(1, 2), C)],
    "matrix_transpose": [(np.matrix_transpose, C), (lambda x: x.mT, C)],
    "linalg.matrix_transpose": [(np.linalg.matrix_transpose, C)],
    "moveaxis": [(lambda x: np.moveaxis(x, 0, -1), C),
                 (lambda x: np.moveaxis(x, (0, 1), (1, 2)), C)],
    "rollaxis": [(lambda x: np.rollaxis(x, 2), C), (lambda x: np.rollaxis(x, 0, 3), C)],
    "broadcast_to": [(lambda x: np.broadcast_to(x, (3, 4)), V)],
    "broadcast_arrays": [(np.broadcast_arrays, A, V)],
    "atleast_1d": [(np.atleast_1d, np.float32(2)), (np.atleast_1d, A)],
    "atleast_2d": [(np.atleast_2d, V), (np.atleast_2d, V, np.float32(1))],
    "atleast_3d": [(np.atleast_3d, V), (np.atleast_3d, A)],
    # joining
    "concatenate": [(lambda x, y: np.concatenate([x, y]), A, B),
                    (lambda x, y: np.concatenate([x, y], axis=1), A, N),
                    (lambda x, y: xp.concat((x, y), axis=None), A, C),
                    (lambda x: np.concatenate([x, np.ones((2, 4), np.float32)]), A)],
    "stack": [(lambda x, y: np.stack([x, y]), A, B),
              (lambda x, y: np.stack([x, y], axis=-1), A, N)],
    "vstack": [(lambda x, y: np.vstack([x, y]), A, V)],
    "hstack": [(lambda x, y: np.hstack([x, y]), A, B), (lambda x, y: np.hstack([x, y]), V, V)],
    "dstack": [(lambda x, y: np.dstack([x, y]), A, B)],
    "column_stack": [(lambda x, y: np.column_stack([x, y]), A, B[:, 0])],
    "split": [(lambda x: np.split(x, 2, axis=1), A), (lambda x: np.split(x, [1, 3], axis=-1), A),
              (lambda x: np.split(x, 1), A)],
    "array_split": [(lambda x: np.array_split(x, 3, axis=1), A)],
    "vsplit": [(lambda x: np.vsplit(x, 3), A)],
    "hsplit": [(lambda x: np.hsplit(x, 2), A)],
    "dsplit": [(lambda x: np.dsplit(x, [1]), C)],
    "unstack": [(lambda x: np.unstack(x, axis=1), A)],
    "tile": [(lambda x: np.tile(x, 2), A), (lambda x: np.tile(x, (2, 1, 3)), A)],
    "repeat": [(lambda x: np.repeat(x, 2, axis=1), A), (lambda x: x.repeat(3), A),
               (lambda x: np.repeat(x, [1, 0, 2], axis=0), A),
               (lambda x, n: np.repeat(x, n, axis=0), A, np.array([2, 0, 1]))],
    "flip": [(np.flip, A), (lambda x: np.flip(x, axis=1), A)],
    "flipud": [(np.flipud, A)],
    "fliplr": [(np.fliplr, A)],
    "roll": [(lambda x: np.roll(x, 2), A), (lambda x: np.roll(x, -1, axis=1), A),
             (lambda x: np.roll(x, (1, 5), axis=(0, 1)), A)],
    "rot90": [(np.rot90, A), (lambda x: np.rot90(x, 2), A), (lambda x: np.rot90(x, -1), A)],
    "pad": [(lambda x: np.pad(x, 1), A), (lambda x: np.pad(x, ((1, 2), (0, 3))), A),
            (lambda x: np.pad(x, (1, 2), mode="edge"), A),
            (lambda x: np.pad(x, ((1, 1), (2, 2)), mode="reflect"), A),
            (lambda x: np.pad(x, 2, mode="wrap"), A), (lambda x: np.pad(x, 2, mode="symmetric"), A),
            (lambda x: np.pad(x, 1, constant_values=5), N),
            (lambda x: np.pad(x, 1, constant_values=((1, 2), (3, 4))), A)],
    "append": [(np.append, A, V), (lambda x, y: np.append(x, y, axis=0), A, B)],
    "delete": [(lambda x: np.delete(x, 1, axis=0), A), (lambda x: np.delete(x, [0, 2], axis=1), A)],
    "diff": [(np.diff, A), (lambda x: np.diff(x, n=2, axis=0), N), (np.diff, M),
             (lambda x: np.diff(x, prepend=0), N)],
    "meshgrid": [(np.meshgrid, V, V[:3]),
                 (lambda x, y: np.meshgrid(x, y, indexing="ij", sparse=True), V, V[:3])],
    # selection
    "where": [(np.where, M, A, B), (lambda x: np.where(x > 0, x, 0.0), A),
              (lambda x: np.where(x > 0, 1, x), N), (lambda x: np.where(x > 0), A),
              (lambda x: xp.where(x > 0, 1.5, -2.5), A)],
    "nonzero": [(np.nonzero, M), (lambda x: x.nonzero(), N)],
    "argwhere": [(np.argwhere, M)],
    "flatnonzero": [(np.flatnonzero, M)],
    "take": [(lambda x: np.take(x, [2, 0], axis=0), A), (lambda x: x.take([1, -1]), A),
             (lambda x, i: np.take(x, i, axis=1), A, np.array([[1, 2], [3, 0]])),
             (lambda x, i: np.take(x, i, mode="clip"), V, np.array([-3, 7, 2])),
             (lambda x, i: np.take(x, i, mode="wrap"), V, np.array([-3, 7, 2]))],
    "take_along_axis": [(lambda x, i: np.take_along_axis(x, i, axis=1), A, np.array([[3, 0]] * 3)),
                        (lambda x, i: np.take_along_axis(x, i, axis=0), A, np.array([[0], [2]])),
                        (lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1), A)],
    "compress": [(lambda c, x: np.compress(c, x, axis=0), np.array([True, False, True]), A),
                 (lambda x: x.compress([True, False, True, True], axis=1), A)],
    "extract": [(np.extract, M, A)],
    "select": [(lambda x: np.select([x > 1, x > 0], [x, x * 2], default=-1), A)],
    "choose": [(lambda i, x, y: np.choose(i, [x, y]), M.astype(np.int64), A, B)],
    "clip": [(lambda x: np.clip(x, -0.5, 0.5), A), (lambda x: x.clip(0), N),
             (lambda x, lo: np.clip(x, lo, None), A, V), (lambda x: xp.clip(x, max=1), A),
             (lambda x: np.clip(x, 2, 5), U), (lambda x: np.clip(x, -5, 300), U),
             (lambda x: np.clip(x, 0, 2.5), N)],
    "nan_to_num": [(np.nan_to_num, NAN), (lambda x: np.nan_to_num(x / 0, nan=1.0, posinf=7), A),
                   (np.nan_to_num, N)],
    "isin": [(lambda x: np.isin(x, [1, 3, 9]), N), (lambda x: np.isin(x, [1, 3], invert=True), N)],
    "searchsorted": [(np.searchsorted, np.sort(V), A),
                     (lambda a, v: np.searchsorted(a, v, side="right"), np.sort(N[0]), N),
                     (lambda a: np.searchsorted(a, 0.3), np.sort(V))],
    "digitize": [(lambda x: np.digitize(x, np.array([-1.0, 0.0, 1.0])), A),
                 (lambda x: np.digitize(x, np.array([2.0, 0.0]), right=True), A)],
    # linear algebra
    "dot": [(np.dot, A, W), (np.dot, V, V), (lambda x: x.dot(2.0), A), (np.dot, C, W),
            (np.dot, C, V)],
    "vdot": [(np.vdot, A, B)],
    "inner": [(np.inner, A, B), (np.inner, V, V)],
    "outer": [(np.outer, V, A), (np.outer, N[0], V)],
    "tensordot": [(lambda x, y: np.tensordot(x, y, axes=1), C, W), (np.tensordot, C, A),
                  (lambda x, y: np.tensordot(x, y, axes=([1], [0])), C, A),
                  (lambda x, y: np.tensordot(x, y, axes=0), V, V)],
    "einsum": [(lambda x, y: np.einsum("ij,jk->ik", x, y), A, W), (lambda x: np.einsum("ii", x), S),
               (lambda x, y: np.einsum("bij,kj", x, y), C, A),
               (lambda x, y: np.einsum("...ij,jk->...ik", x, y), C, W),
               (lambda x: np.einsum(x, [0, 1], [1, 0]), A), (lambda x: np.einsum("ij->", x), N)],
    "kron": [(np.kron, A, S), (np.kron, V, A)],
    "cross": [(np.cross, T3, T3[::-1].copy())],
    "linalg.cross": [(np.linalg.cross, T3, T3[::-1].copy())],
    "diagonal": [(np.diagonal, S), (lambda x: x.diagonal(1, 1, 2), C),
                 (lambda x: np.diagonal(x, -1), A)],
    "linalg.diagonal": [(lambda x: np.linalg.diagonal(x, offset=1), C)],
    "trace": [(np.trace, S), (lambda x: x.trace(offset=1), A), (np.trace, N)],
    "linalg.trace": [(np.linalg.trace, C)],
    "diag": [(np.diag, V), (lambda x: np.diag(x, -1), V), (np.diag, S)],
    "tril": [(np.tril, A), (lambda x: np.tril(x, -1), C)],
    "triu": [(np.triu, A), (lambda x: xp.triu(x, k=1), N)],
    "trapezoid": [(np.trapezoid, A), (lambda y, x: np.trapezoid(y, x, axis=1), A, np.sort(V))],
    "polyval": [(lambda x: np.polyval([1.0, -2.0, 3.0], x), A)],
    "interp": [(lambda x: np.interp(x, [-1.0, 0.0, 2.0], [5.0, 1.0, 3.0]), A),
               (lambda x: np.interp(x, [-1.0, 0.0], [5.0, 1.0], left=-7.0, right=9.0), A)],
    "linalg.matmul": [(np.linalg.matmul, A, W)],
    "linalg.outer": [(np.linalg.outer, V, V)],
    "linalg.tensordot": [(np.linalg.tensordot, C, A)],
    "linalg.vecdot": [(np.linalg.vecdot, A, B)],
    "linalg.multi_dot": [(lambda x, y, z: np.linalg.multi_dot([x, y, z]), A, S, W)],
    "linalg.matrix_power": [(lambda x: np.linalg.matrix_power(x, 3), S)],
    "linalg.norm": [(np.linalg.norm, A), (lambda x: np.linalg.norm(x, axis=1), A),
                    (lambda x: np.linalg.norm(x, 1, axis=-1, keepdims=True), A),
                    (lambda x: np.linalg.norm(x, np.inf, axis=0), A),
                    (lambda x: np.linalg.norm(x, 3, axis=0), A), (np.linalg.norm, N),
                    (lambda x: np.linalg.norm(x, "fro", axis=(0, 1)), A),
                    (lambda x: np.linalg.norm(x, 1), A),
                    (lambda x: np.linalg.norm(x, 0, axis=1), A),
                    (lambda x: np.linalg.norm(x, -np.inf, axis=(1, 2)), C)],
    "linalg.vector_norm": [(np.linalg.vector_norm, C),
                           (lambda x: xp.linalg.vector_norm(x, axis=1, ord=1), A)],
    "linalg.matrix_norm": [(np.linalg.matrix_norm, C)],
    "linalg.det": [(np.linalg.det, S)],
    # order
    "sort": [(np.sort, A), (lambda x: np.sort(x, axis=0), N), (lambda x: np.sort(x, axis=None), A),
             (np.sort, M)],
    "argsort": [(lambda x: np.argsort(x, stable=True), N), (lambda x: x.argsort(axis=0), A)],
    "median": [(np.median, A), (lambda x: np.median(x, axis=1), N),
               (lambda x: np.median(x, axis=0, keepdims=True), A)],
    "percentile": [(lambda x: np.percentile(x, 30, axis=1), A.astype(np.float64))],
    "quantile": [(lambda x: np.quantile(x, 0.25, axis=0), A.astype(np.float64))],
    "unique": [(np.unique, N), (lambda x: np.unique(x, return_counts=True), N),
               (lambda x: np.unique(x, return_index=True, return_inverse=True), N)],
    "unique_values": [(lambda x: np.sort(np.unique_values(x)), N)],
    "unique_counts": [(np.unique_counts, N)],
    "unique_inverse": [(np.unique_inverse, N)],
    "unique_all": [(np.unique_all, N)],
    # creation
    "zeros": [(lambda x: x + xp.zeros((3, 1), dtype=xp.float32), A),
              (lambda x: xp.zeros(x.shape), A)],
    "ones": [(lambda x: xp.ones(x.shape[0], dtype=x.dtype), A)],
    "empty": [(lambda x: xp.empty(x.shape) * 0, A)],
    "full": [(lambda x: xp.full(x.shape, 7), A), (lambda x: xp.full((2, 2), x[0, 0]), A)],
    "zeros_like": [(np.zeros_like, A), (lambda x: np.zeros_like(x, dtype=np.int8), A)],
    "ones_like": [(np.ones_like, N)],
    "empty_like": [(lambda x: np.empty_like(x) * 0, A)],
    "full_like": [(lambda x: np.full_like(x, 2.5), A), (lambda x: np.full_like(x, 2.5), N)],
    "arange": [(lambda x: xp.arange(x.shape[1]) + x, A),
               (lambda x: xp.arange(1, x.shape[1], 2), A)],
    "linspace": [(lambda x: np.linspace(x, 2, 5), V), (lambda x: np.linspace(0, x, 4, False), V),
                 (lambda x: xp.linspace(0, 1, x.shape[1]), A)],
    "eye": [(lambda x: xp.eye(x.shape[1], k=1, dtype=xp.float32), A)],
    "identity": [(lambda x: xp.identity(x.shape[1]), A)],
    "tri": [(lambda x: xp.tri(x.shape[0], x.shape[1], -1), A)],
    "asarray": [(lambda x: xp.asarray([x[0], x[1]]), A),
                (lambda x: xp.asarray(x, dtype="int32"), A)],
    "asanyarray": [(xp.asanyarray, A)],
    "array": [(lambda x: xp.array([x[0, 0], 2.0]), A)],
    "ascontiguousarray": [(xp.ascontiguousarray, A)],
    "copy": [(np.copy, A), (lambda x: x.copy(), A)],
    "astype": [(lambda x: np.astype(x, np.int32), A), (lambda x: x.astype("float16"), A),
               (lambda x: x.astype(bool), N)],
    "real": [(np.real, A), (lambda x: x.real, A)],
    "imag": [(np.imag, A), (lambda x: x.imag, A)],
    "shape": [(lambda x: x.reshape(np.shape(x)[::-1]), A)],
    "size": [(lambda x: x + np.size(x) + x.size, A)],
    "ndim": [(lambda x: x + np.ndim(x) + x.ndim, A)],
    "__getitem__": [(lambda x: x[1], A)],
    # tests
    "round": [(np.round, A), (lambda x: x.round(2), A), (lambda x: np.round(x, -1), N * 7),
              (lambda x: np.round(x, -1), A * 100)],
    "isclose": [(lambda x, y: np.isclose(x, y, rtol=1.0), A, B),
                (lambda x: np.isclose(x, x, equal_nan=True), NAN)],
    "allclose": [(lambda x, y: np.allclose(x, y, atol=9.0) & True, A, B)],
    "array_equal": [(lambda x, y: np.array_equal(x, y) & True, A, A)],
    "fix": [(np.fix, A * 3)],
    "sinc": [(np.sinc, A), (np.sinc, N)],
    "isposinf": [(lambda x: np.isposinf(x / 0), A)],
    "isneginf": [(lambda x: np.isneginf(x / 0), A)],
    "angle": [(np.angle, A)],
    "iscomplexobj": [(lambda x: x + np.iscomplexobj(x), A)],
    "isrealobj": [(lambda x: x + np.isrealobj(x), A)],
    "amax": [(np.amax, A)],
    "amin": [(np.amin, A)],
    "around": [(lambda x: np.around(x, 1), A)],
    # generalised ufuncs
    "matmul": [(np.matmul, A, W), (lambda x, y: x @ y, C, W), (np.matmul, V, W), (np.matmul, C, V),
               (np.matmul, N, N.T.copy()), (np.matmul, U, U.T.copy()), (np.matmul, M, M.T.copy()),
               (lambda x: x @ W, N)],
    "vecdot": [(np.vecdot, A, B), (xp.vecdot, C, C)],
    "matvec": [(np.matvec, C, V)],
    "vecmat": [(np.vecmat, V, W)],
}
"""By numpy's name: (function, its arrays)."""
# fmt: on


def parameters(cases: dict[str, list[tuple[Any, ...]]]) -> list[Any]:
    return [
        pytest.param(*case[:1], case[1:], id=f"{name}-{index}")
        for name, many in cases.items()
        for index, case in enumerate(many)
    ]


@pytest.mark.parametrize(("fn", "arrays"), parameters(CASES))
def test_static_shapes(fn: Any, arrays: tuple[Any, ...]):
    agree(fn, *arrays)


CLOSED = {
    "array_split", "unstack", "delete", "median", "percentile", "quantile", "diagonal", "trace",
    "linalg.diagonal", "linalg.trace", "diag", "vsplit", "cross", "linalg.cross", "__getitem__",
}  # fmt: skip
"""Functions that need the size of the first axis to be a number."""
CLOSED_CASES = {
    "linalg.matrix_power-0", "einsum-1", "zeros-0", "reshape-0", "reshape-2", "reshape-3",
    "reshape-4", "repeat-2", "pad-3", "pad-4", "pad-5", "broadcast_to-0", "hsplit-0", "interp-0",
}  # fmt: skip


def is_open(case: Any) -> bool:
    return case.id.rpartition("-")[0] not in CLOSED and case.id not in CLOSED_CASES


@pytest.mark.parametrize(("fn", "arrays"), [p for p in parameters(CASES) if is_open(p)])
def test_open_first_axis(fn: Any, arrays: tuple[Any, ...]):
    agree(fn, *arrays, open_axes=(0,))


def test_every_function_has_a_case():
    assert set(FUNCTIONS) | set(GENERALISED) == set(CASES)


INF, NOT = np.inf, np.nan
X = np.array([-2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 1e-8, -1e-8, 30.0, INF, -INF, NOT])
Y = np.array([2.0, -1.0, 0.25, 3.0, -0.0, 1.5, INF, -2.5, 1.0, NOT, -0.5, INF, 1.0, 1.0])
I1 = np.array([-7, -6, -1, 0, 1, 2, 5, 7, 63, 100], np.int64)
I2 = np.array([2, -4, 3, 1, 5, -2, 7, 3, 8, 9], np.int64)
"""Signs, zeros, infinities, NaN; integers of both signs."""


@pytest.mark.parametrize("name", sorted(UFUNCS))
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint8", "bool"])
def test_ufuncs(name: str, dtype: str):
    ufunc: np.ufunc = getattr(np, name)
    x, y = (X, Y) if dtype.startswith("float") else (I1, I2)
    if name in ("left_shift", "right_shift", "power") and not dtype.startswith("float"):
        y = np.abs(y)
    if name == "reciprocal" and not dtype.startswith("float"):
        x = x[x != 0]
    if dtype == "uint8":
        x, y = np.abs(x), np.abs(y)
    first = x.astype(dtype)
    second = np.arange(len(x), dtype=np.int32) if name == "ldexp" else y.astype(dtype)
    operands = (first, second)[: ufunc.nin]
    try:
        with np.errstate(all="ignore"):
            ufunc(*operands)
    except (TypeError, ValueError):
        with pytest.raises(TypeError):
            agree(ufunc, *operands)
        return
    agree(ufunc, *operands)
    agree(ufunc, *operands, open_axes=(0,))
