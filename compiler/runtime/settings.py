"""How a user's own sessions of onnxruntime are made: options, providers, custom operators."""

from __future__ import annotations

import mmap
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from isomorph.ir.errors import IsomorphError

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONFIG = re.compile(rb"\x00((?:session|optimization|ep|mlas|memory)\.[a-z0-9_.]+)(?=\x00)")
_OWN = ("session.", "optimization.", "memory.", "mlas.")
"""Entries that onnxruntime itself reads; others may be those of a provider or a library."""
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_ENUMS = {
    "graph_optimization_level": (
        "GraphOptimizationLevel",
        (
            "ORT_DISABLE_ALL",
            "ORT_ENABLE_BASIC",
            "ORT_ENABLE_EXTENDED",
            "ORT_ENABLE_LAYOUT",
            "ORT_ENABLE_ALL",
        ),
    ),
    "execution_mode": ("ExecutionMode", ("ORT_SEQUENTIAL", "ORT_PARALLEL")),
}
_NUMBERS = ("intra_op_num_threads", "inter_op_num_threads")
_SWITCHES = (
    "enable_cpu_mem_arena",
    "enable_mem_pattern",
    "enable_mem_reuse",
    "use_deterministic_compute",
)
ATTRIBUTES = (*_ENUMS, *_NUMBERS, *_SWITCHES)
"""Attributes of SessionOptions that are carried over; any other option is a config entry."""


class SettingsError(IsomorphError):
    """An option, provider or library that the installed onnxruntime does not take."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session is made with; can be sent to another process.

    Attributes:
        attributes: of SessionOptions, enumerations by the names of their members.
        config: session config entries.
        providers: names and options, in order of preference; none is the CPU provider.
        custom_ops: paths of libraries that register operators.
    """

    attributes: tuple[tuple[str, int | bool | str], ...] = ()
    config: tuple[tuple[str, str], ...] = ()
    providers: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    custom_ops: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        options: Any = None,
        providers: Sequence[Any] = (),
        custom_ops: Sequence[str | Path] = (),
    ) -> Settings:
        """What a user says of sessions.

        Args:
            options: a mapping of attributes of SessionOptions and of config entries to values, or
                a SessionOptions, whose attributes and known config entries are read. What was
                registered with one (libraries, initializers, overrides) cannot be read back.
            providers: names, or (name, options), as InferenceSession takes them.
            custom_ops: paths of libraries.

        Raises:
            SettingsError: for what onnxruntime would refuse, or ignore.
        """
        if options is None:
            options = {}
        if isinstance(options, Mapping):
            attributes, config = _of_mapping(cast("Mapping[Any, Any]", options))
        elif type(options).__name__ == "SessionOptions":
            attributes, config = _of_session_options(options)
        else:
            raise SettingsError(
                f"session options are {type(options).__name__} {options!r}: a mapping or an "
                "onnxruntime.SessionOptions is expected"
            )
        if isinstance(providers, str):
            raise SettingsError(f"providers is {providers!r}: a list of names is expected")
        chosen = tuple(_provider(p) for p in providers)
        return cls(attributes, config, chosen, tuple(_library(p) for p in custom_ops))

    def __bool__(self) -> bool:
        return bool(self.attributes or self.config or self.providers or self.custom_ops)

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "attributes": dict(self.attributes),
            "config": dict(self.config),
            "providers": [[name, dict(given)] for name, given in self.providers],
            "custom_ops": list(self.custom_ops),
        }

    def apply(self, ort: Any, options: Any, *, optimize: bool) -> list[Any]:
        """Set options; the providers to make the session with.

        Raises:
            SettingsError: when a library cannot be registered.
        """
        for name, value in self.attributes:
            if name == "graph_optimization_level" and not optimize:
                continue
            if name in _ENUMS:
                value = getattr(getattr(ort, _ENUMS[name][0]), str(value))  # noqa: PLW2901 - itself
            setattr(options, name, value)
        for key, value in self.config:
            options.add_session_config_entry(key, value)
        for path in self.custom_ops:
            try:
                options.register_custom_ops_library(path)
            except Exception as error:
                words = " ".join(str(error).split())
                raise SettingsError(
                    f"custom operators of {path} cannot be registered: {words}"
                ) from error
        return [(name, dict(given)) if given else name for name, given in self.providers]


def known_config() -> tuple[str, ...]:
    """Config entries whose names are in the installed onnxruntime."""
    from isomorph.runtime.found import module

    folder = Path(module().__file__).parent / "capi"
    found: set[bytes] = set()
    for path in folder.glob("onnxruntime_pybind11_state*"):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found.update(_CONFIG.findall(data))
    return tuple(sorted(key.decode() for key in found))


def _of_mapping(
    options: Mapping[Any, Any],
) -> tuple[tuple[tuple[str, int | bool | str], ...], tuple[tuple[str, str], ...]]:
    attributes: dict[str, int | bool | str] = {}
    config: dict[str, str] = {}
    for key, value in options.items():
        name = str(key).strip()
        if name in ATTRIBUTES:
            attributes[name] = _value(name, value)
        elif "." not in name:
            close = get_close_matches(name, ATTRIBUTES, n=1)
            raise SettingsError(
                f"session option {name!r}: "
                + (f"did you mean {close[0]}? There are " if close else "expected one of ")
                + f"{', '.join(ATTRIBUTES)}, or a config entry such as session.disable_prepacking"
            )
        else:
            config[name] = "1" if value is True else "0" if value is False else str(value)
    _check_config(config)
    return tuple(attributes.items()), tuple(config.items())


def _check_config(config: Mapping[str, str]) -> None:
    """Onnxruntime takes any name without a word: those that it cannot know are refused here."""
    own = [key for key in config if key.startswith(_OWN)]
    known = known_config() if own else ()
    for key in own if known else ():
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise SettingsError(
                f"session option {key!r}: the installed onnxruntime has no such config entry{hint}"
            )


def _of_session_options(
    options: Any,
) -> tuple[tuple[tuple[str, int | bool | str], ...], tuple[tuple[str, str], ...]]:
    from isomorph.runtime.found import module

    if options.has_providers():
        raise SettingsError(
            "session options with providers of their own cannot be read back: name the providers "
            "beside them"
        )
    usual = module().SessionOptions()
    attributes: dict[str, int | bool | str] = {}
    for name in ATTRIBUTES:
        value = getattr(options, name)
        if value != getattr(usual, name):
            attributes[name] = value.name if name in _ENUMS else value
    config: dict[str, str] = {}
    for key in known_config():
        try:
            config[key] = options.get_session_config_entry(key)
        except RuntimeError:  # there is no such entry in these options
            continue
    return tuple(attributes.items()), tuple(config.items())


def _value(name: str, value: Any) -> int | bool | str:
    text = str(getattr(value, "name", value)).strip()
    if name in _ENUMS:
        members = _ENUMS[name][1]
        short = text.upper().removeprefix("ORT_").removeprefix("ENABLE_")
        full = next((m for m in members if m in (f"ORT_{short}", f"ORT_ENABLE_{short}")), "")
        if not full:
            raise SettingsError(f"session option {name} {text!r}: one of {', '.join(members)}")
        return full
    if name in _NUMBERS:
        if not text.isdecimal():
            raise SettingsError(f"session option {name} {text!r}: a whole number is expected")
        return int(text)
    if text.lower() not in _TRUE + _FALSE:
        raise SettingsError(f"session option {name} {text!r}: true or false is expected")
    return text.lower() in _TRUE


def _provider(given: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    from isomorph.runtime.found import module

    name: Any = given
    options: Any = {}
    if isinstance(given, tuple | list) and len(cast("Sequence[Any]", given)) == 2:
        name, options = cast("Sequence[Any]", given)
    if not isinstance(name, str) or not isinstance(options, Mapping):
        raise SettingsError(f"provider {given!r}: a name, or (name, options), is expected")
    have = module().get_available_providers()
    if name not in have:
        raise SettingsError(f"provider {name!r}: the installed onnxruntime has {', '.join(have)}")
    items = cast("Mapping[Any, Any]", options).items()
    return name, tuple((str(k), str(v)) for k, v in items)


def _library(path: str | Path) -> str:
    found = Path(path)
    if not found.is_file():
        raise SettingsError(f"custom operators {str(path)!r}: there is no such file")
    return str(found.resolve())
