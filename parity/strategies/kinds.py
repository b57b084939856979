"""Names of the kinds of values: ordinary ones, and those that no ordinary data has."""

ORDINARY = (
    "normal",
    "uniform",
    "large",
    "small",
    "integers",
    "ties",
    "repeated",
    "sorted",
    "sparse",
    "constant",
    "zeros",
    "positive",
    "one-hot",
    "offset",
    "thousands",
    "constants",
)
HOSTILE = (
    "negative-zero",
    "subnormal",
    "infinite",
    "nan",
    "huge",
    "tiny",
    "mixed",
    "extreme",
    "decades",
)
FOR_FLOATS_ONLY = frozenset(
    {"negative-zero", "subnormal", "infinite", "nan", "tiny", "small", "decades"}
)
