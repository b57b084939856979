"""Names that are given once."""

from __future__ import annotations


class Names:
    """The names in use, and for each how far its numbered variants have been tried."""

    __slots__ = ("_tried",)

    def __init__(self) -> None:
        self._tried: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._tried

    def reserve(self, name: str) -> None:
        """Let nobody else have this very name."""
        self._tried.setdefault(name, 0)

    def unique(self, wanted: str) -> str:
        """`wanted`, or `wanted_1`, `wanted_2`, … when it is taken; the result is reserved."""
        if wanted and wanted not in self._tried:
            self._tried[wanted] = 0
            return wanted
        base = wanted or "value"
        count = self._tried.get(base, 0)
        while True:
            count += 1
            candidate = f"{base}_{count}"
            if candidate not in self._tried:
                self._tried[base] = count
                self._tried[candidate] = 0
                return candidate
