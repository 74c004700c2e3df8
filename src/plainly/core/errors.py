"""Every exception that plainly raises on purpose: what is wrong, where, and what to do next.

Messages name arguments as Python does (``sources=``); the command line replaces them with its own options.
"""

import contextlib
import difflib
import numbers
from collections.abc import Iterable, Iterator, Mapping, Set


class PlainlyError(Exception):
    """Something the user can correct. The command line prints it and exits with status 2."""


class BadInput(PlainlyError):
    """The files or values given cannot be evaluated as they are."""


class BadSpec(PlainlyError):
    """A spec has parameters that the metric does not have, or does not parse."""


class BrokenPlugin(PlainlyError):
    """A plug-in cannot be loaded."""


class UnknownName(PlainlyError):
    """A metric, data set, system, attack or command that does not exist."""

    def __init__(self, kind: str, name: str, choices: Iterable[str], *, see: str) -> None:
        self.kind, self.name, self.choices = kind, name, tuple(choices)
        super().__init__(f"Unknown {kind} {name!r}.{did_you_mean(name, self.choices)} See: {see}")


class MissingExtra(PlainlyError):
    """A feature needs a package that is not part of the core install."""

    def __init__(self, feature: str, *, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed. "
            f"Install it: pip install 'plainly[{extra}]'"
        )


@contextlib.contextmanager
def require_package(feature: str, *, extra: str, package: str = "") -> Iterator[None]:
    """Turn a failed import in the block into an error that says what to install."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(feature, package=package or str(error.name), extra=extra) from None


class DataUnavailable(PlainlyError):
    """A data file is not in the cache and could not be fetched, or what was fetched is not what the card says."""


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return a sentence that suggests the nearest known name, or nothing when none is near."""
    by_casefold = {candidate.casefold(): candidate for candidate in choices}
    near = difflib.get_close_matches(str(name)[:100].casefold(), by_casefold, n=1, cutoff=0.6)
    return f" Did you mean {by_casefold[near[0]]!r}?" if near else ""


def check_choice(argument: str, value: object, allowed: Iterable[str]) -> None:
    """Raise unless the value of an argument is one of the allowed names."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        near = did_you_mean(value, names) if isinstance(value, str) else ""
        raise BadInput(f"{argument}= must be {' or '.join(map(repr, names))}, not {value!r:.60}.{near}")


def check_text(argument: str, value: object) -> None:
    """Raise unless the value of an argument is a text."""
    if not isinstance(value, str):
        raise BadInput(f"{argument}= must be a text, not {value!r:.60}.")


def check_texts(argument: str, values: object) -> None:
    """Raise unless the value of an argument is a list of texts."""
    is_unordered = isinstance(values, (str, bytes, Mapping, Set))
    if is_unordered or not hasattr(values, "__len__") or not hasattr(values, "__iter__"):
        raise BadInput(f"{argument}= must be a list of texts, not {values!r:.60}.")
    for value in values:
        check_text(argument, value)


def as_texts(argument: str, value: object) -> list[str]:
    """Return the texts of an argument that is one text or a list of them, each once, or raise."""
    if isinstance(value, str):
        return [value]
    check_texts(argument, value)
    return list(dict.fromkeys(value))  # type: ignore[call-overload]


def check_count(argument: str, value: object, *, least: int = 1) -> None:
    """Raise unless the value of an argument is a whole number of at least ``least``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise BadInput(f"{argument}= must be a whole number of at least {least}, not {value!r:.60}.")


def check_number(argument: str, value: object, low: float, high: float) -> None:
    """Raise unless the value of an argument is a number from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not low <= float(value) <= high:
        raise BadInput(f"{argument}= must be a number from {low:g} to {high:g}, not {value!r:.60}.")
