from typing import Any

from torch import fx as fx
from torch import nn as nn
from torch import utils as utils

def __getattr__(name: str) -> Any: ...
