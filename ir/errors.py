"""Every typed error that isomorph raises derives from `IsomorphError`."""


class IsomorphError(Exception):
    """A problem that a user can act on; its text says what, where, and what to do."""


class InvalidModelError(IsomorphError):
    """A model that breaks the format's rules, is truncated, or is hostile."""


class InvalidGraphError(IsomorphError):
    """A graph that breaks an invariant of the IR (an error of ours or of a pass)."""


class UnsupportedError(IsomorphError):
    """A valid model that asks for something isomorph does not do yet."""


class TypeInferenceError(IsomorphError):
    """Operand types that an operator's definition does not allow."""


class SpecError(IsomorphError):
    """An input specification such as `x: float32[batch, 3]` that cannot be read."""


OPERAND_ERRORS = (ArithmeticError, LookupError, TypeError, ValueError)
"""What arithmetic raises on operands or attributes that make no sense.

An operator's rules check what a user is likely to get wrong; where an op is typed, rewritten or
evaluated the rest becomes one typed error that names the op.
"""
