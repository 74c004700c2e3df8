"""Every exception that plainly raises on purpose: what is wrong, where, and what to do next."""

import contextlib
import difflib
import re
from collections.abc import Iterable, Iterator

# Marks around the two ways to say something; no text that people write has them.
_OPEN, _OR, _CLOSE = "\ue000", "\ue001", "\ue002"
_WAYS = re.compile(f"{_OPEN}([^{_OR}]*){_OR}([^{_CLOSE}]*){_CLOSE}")


def way(python: str, flag: str) -> str:
    """A piece of a message that names an option: ``sources=`` in Python, ``--source FILE`` at a shell."""
    return f"{_OPEN}{python}{_OR}{flag}{_CLOSE}"


def for_python(message: str) -> str:
    """A message as it is shown to who called from Python."""
    return _WAYS.sub(r"\1", message)


def for_shell(message: str) -> str:
    """A message as it is shown at the command line."""
    return _WAYS.sub(r"\2", message)


class PlainlyError(Exception):
    """Something the user can put right. The command line prints it and exits with status 2."""

    def __str__(self) -> str:
        return for_python(super().__str__())

    def for_shell(self) -> str:
        """The message with the flags of the command line."""
        return for_shell(super().__str__())


class BadInput(PlainlyError):
    """The files or values given cannot be evaluated as they are."""


class BadSpec(PlainlyError):
    """A metric was asked for with parameters that it does not have, or that do not parse."""


class BrokenPlugin(PlainlyError):
    """A metric that somebody else's package brings cannot be loaded."""


class UnknownName(PlainlyError):
    """A metric, data set, system, attack or command that does not exist."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, see: str) -> None:
        self.kind, self.name, self.known = kind, name, tuple(known)
        super().__init__(f"Unknown {kind} {name!r}.{did_you_mean(name, self.known)} See: {see}")


class MissingExtra(PlainlyError):
    """A feature needs a package that is not part of the core install."""

    def __init__(self, feature: str, *, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed. "
            f"Install it: pip install 'plainly[{extra}]'"
        )


@contextlib.contextmanager
def needing(feature: str, *, extra: str, package: str = "") -> Iterator[None]:
    """Around imports: an error that says what to install where a package is not there."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(feature, package=package or str(error.name), extra=extra) from None


class DataUnavailable(PlainlyError):
    """A data file is not in the cache and could not be fetched, or what was fetched is not what the card says."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that suggests the nearest known name, or nothing when none is near."""
    folded = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(str(name)[:100].casefold(), folded, n=1, cutoff=0.6)
    return f" Did you mean {folded[near[0]]!r}?" if near else ""
