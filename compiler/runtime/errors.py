"""What can go wrong between a graph and the device that runs it."""

from isomorph.ir.errors import IsomorphError


class DeviceError(IsomorphError):
    """A device that does not exist; the text lists those that do."""


class NoGpuError(DeviceError):
    """A GPU that this machine does not have; the text says what to install."""


class RuntimeLoadError(IsomorphError):
    """A model that the run time refuses to load, or that kills it while it loads."""


class RunError(IsomorphError):
    """A model that the run time loaded and then failed to run."""


class InputError(IsomorphError):
    """Arrays that do not fit the inputs of a graph; the text lists every problem."""
