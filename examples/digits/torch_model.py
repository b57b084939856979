"""The digits CNN as a torch module, with the weights of the array function.

Needs torch. `isomorph export examples/digits/torch_model.py:digits -o digits.onnx
--input "images: float32[batch, 1, 8, 8] in 0..1"` writes the operators that `model.py` gives.
"""

import torch
from model import W
from torch import nn

NAMES = {"scale": "weight", "bias": "bias", "mean": "running_mean", "var": "running_var"}
"""What torch calls the parameters of a batch norm."""


class Digits(nn.Module):
    """Logits [batch, 10] of images float32[batch, 1, 8, 8] with values in 0..1."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.fc1, self.fc2 = nn.Linear(512, 48), nn.Linear(48, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(images))), 2)
        x = torch.relu(self.bn2(self.conv2(x)))
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def digits() -> Digits:
    """The trained module, ready to evaluate."""
    module = Digits()
    state: dict[str, torch.Tensor] = {}
    for name, array in W.items():
        tensor = torch.tensor(array)
        layer, kind = name.split(".")
        own = NAMES[kind] if layer.startswith("bn") else kind
        # The file holds matrices as they are multiplied, [in, out]; nn.Linear keeps [out, in].
        turned = layer.startswith("fc") and kind == "weight"
        state[f"{layer}.{own}"] = tensor.T if turned else tensor
    for layer in ("bn1", "bn2"):
        state[f"{layer}.num_batches_tracked"] = torch.tensor(0)
    module.load_state_dict(state, assign=True)
    return module.eval()
