"""The committed record of what was measured, operator by operator and use by use."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.exporters.coverage.entries import Entry, TorchUse
from isomorph.ir.schema import normal_domain

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

PATH = Path(__file__).with_name("ledger.json")
SCHEMA_VERSION = 2


@dataclass
class Ledger:
    """Every operator's entry, every torch use, and the releases they were measured with.

    Attributes:
        releases: package → version.
        kernels: digest of all that kernels are made from, as it was when nothing was stale.
        entries: by operator.
        torch: by the name of the use.
    """

    releases: dict[str, str] = field(default_factory=dict[str, str])
    kernels: str = ""
    entries: dict[Key, Entry] = field(default_factory=dict["Key", Entry])
    torch: dict[str, TorchUse] = field(default_factory=dict[str, TorchUse])

    def dump(self) -> str:
        """The committed text: sorted, one operator a paragraph."""
        data: dict[str, dict[str, Any]] = {}
        for (domain, name), entry in sorted(self.entries.items()):
            data.setdefault(domain or "ai.onnx", {})[name] = entry.to_json()
        document = {
            "schema_version": SCHEMA_VERSION,
            "releases": self.releases,
            "kernels": self.kernels,
            "ops": data,
            "torch": {name: use.to_json() for name, use in sorted(self.torch.items())},
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    @staticmethod
    def load(path: Path = PATH) -> Ledger:
        """The ledger of a file; an empty one when there is none."""
        if not path.is_file():
            return Ledger()
        data = json.loads(path.read_text(encoding="utf-8"))
        entries = {
            (normal_domain(domain), name): Entry.of_json(entry)
            for domain, names in data["ops"].items()
            for name, entry in names.items()
        }
        torch = {name: TorchUse.of_json(use) for name, use in data.get("torch", {}).items()}
        return Ledger(data["releases"], data.get("kernels", ""), entries, torch)
