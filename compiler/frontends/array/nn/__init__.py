"""`isomorph.array.nn`: layers as functions. Each is one ONNX operator, or a few.

They trace, and on numpy arrays they compute, in the precision of the arrays they are given.
"""

from isomorph.frontends.array.nn.activation import (
    dropout,
    elu,
    erf,
    gelu,
    hard_sigmoid,
    hard_swish,
    leaky_relu,
    log_softmax,
    mish,
    prelu,
    relu,
    selu,
    shrink,
    sigmoid,
    silu,
    softmax,
    softplus,
    softsign,
)
from isomorph.frontends.array.nn.convolution import conv, conv_transpose
from isomorph.frontends.array.nn.linear import (
    attention,
    embedding,
    linear,
    scaled_dot_product_attention,
)
from isomorph.frontends.array.nn.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    rms_norm,
)
from isomorph.frontends.array.nn.pooling import (
    avg_pool,
    global_avg_pool,
    global_max_pool,
    max_pool,
)
from isomorph.frontends.array.nn.recurrent import gru, lstm, rnn
from isomorph.frontends.array.nn.selection import (
    depth_to_space,
    one_hot,
    pad,
    resize,
    scatter,
    space_to_depth,
    topk,
)

__all__ = [
    "attention",
    "avg_pool",
    "batch_norm",
    "conv",
    "conv_transpose",
    "depth_to_space",
    "dropout",
    "elu",
    "embedding",
    "erf",
    "gelu",
    "global_avg_pool",
    "global_max_pool",
    "group_norm",
    "gru",
    "hard_sigmoid",
    "hard_swish",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "lstm",
    "max_pool",
    "mish",
    "one_hot",
    "pad",
    "prelu",
    "relu",
    "resize",
    "rms_norm",
    "rnn",
    "scaled_dot_product_attention",
    "scatter",
    "selu",
    "shrink",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softsign",
    "space_to_depth",
    "topk",
]
