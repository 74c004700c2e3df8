"""Calls of metrics to servers: the options of a run, what it has cost, and what a dry run would cost.

A metric that calls servers (``Metric.is_remote``) reads its options here, so that nothing between the command line and
the metric has to know them. Without ``call_options``, all calls of a process, or of a command, are one run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plainly.core.errors import BadInput, PlainlyError, check_number
from plainly.core.files import writes_nothing
from plainly.core.formatting import listed
from plainly.core.progress import show_detail
from plainly.core.result import Note


@dataclass(frozen=True)
class Usage:
    """Calls, tokens read and written, and their cost in the currency of the prices."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        tokens = (self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)
        return Usage(self.calls + other.calls, *tokens, self.cost + other.cost)


class CostLimit(PlainlyError):
    """The next call could exceed ``max_cost``. All answers so far are cached."""


@dataclass
class CallRun:
    """The options of a run, and its state."""

    judges: Path | None = None
    record: Path | None = None
    replay: Path | None = None
    dry_run: bool = False
    max_cost: float | None = None
    used: Usage = Usage()
    estimates: dict[str, Usage] = field(default_factory=dict)
    without_prices: set[str] = field(default_factory=set)  # judges, whose calls are counted with a cost of 0
    cached: int = 0
    warnings: list[Note] = field(default_factory=list)
    # By metric and fingerprint of the data: where answers came from. A metric is a value and has no state of its own.
    traces: dict[tuple[object, str], Any] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def is_first(self, event: str) -> bool:
        """Return whether this is the first time that an event happens in the run."""
        if event in self._seen:
            return False
        self._seen.add(event)
        return True

    def announce(self, message: str) -> None:
        """Print a message on stderr, once in the run."""
        if self.is_first(message):
            sys.stderr.write(f"plainly: {message}\n")

    def warn(self, message: str, code: str) -> None:
        """Add a warning to the results of the run and print it on stderr, once."""
        if self.is_first(message):
            self.warnings.append(Note(message, "warning", code))
            sys.stderr.write(f"plainly: warning: {message}\n")

    def spend(self, usage: Usage) -> None:
        """Add what a call has used."""
        self.used += usage
        show_detail(f"cost {self.describe_cost(self.used.cost)}")

    def estimate(self, judge: str, usage: Usage) -> None:
        """Add what a call would use."""
        self.estimates[judge] = self.estimates.get(judge, Usage()) + usage

    def describe_cost(self, cost: float, digits: int = 4) -> str:
        """Return a cost, and whose is not in it because there are no prices."""
        if not self.without_prices:
            return f"{cost:,.{digits}f}"
        if not cost:
            return "unknown (no prices)"
        return f"{cost:,.{digits}f} and that of {listed(sorted(self.without_prices))} (no prices)"

    def describe_estimate(self) -> str:
        """Return what a dry run would call and cost, by judge, and how many answers it has already."""
        lines = [
            f"{name}: {usage.calls:,} calls, about {usage.tokens_in:,} tokens in and {usage.tokens_out:,} out, "
            + ("cost unknown" if name in self.without_prices else f"cost about {usage.cost:,.2f}")
            for name, usage in self.estimates.items()
        ]
        total = sum(usage.cost for usage in self.estimates.values())
        cost = f"{'about ' if total else ''}{self.describe_cost(total, 2)}"
        lines.append(f"Answers in the cache: {self.cached:,}. Cost of this run: {cost}. Nothing was sent.")
        return "\n".join(lines)


_RUN: ContextVar[CallRun] = ContextVar("run")


def current_run() -> CallRun:
    """Return the run that this code is part of; the first call in a context begins one with the defaults."""
    run = _RUN.get(None)
    if run is None:
        _RUN.set(run := CallRun())
    return run


@contextmanager
def call_options(
    *,
    judges: str | Path | None = None,
    record: str | Path | None = None,
    replay: str | Path | None = None,
    dry_run: bool = False,
    max_cost: float | None = None,
) -> Iterator[CallRun]:
    """Set the options of the metrics that are measured in the block and call servers, and count what they use.

    ``judges`` is the file that describes them, instead of the one in the user's configuration folder. ``record`` is a
    file to which every request and answer is written, ``replay`` such a file, from which alone answers are taken.
    ``max_cost`` raises ``CostLimit`` before it is exceeded. With ``dry_run`` nothing is sent, no file is written, and
    the run says what would be called (``describe_estimate``); the block ends silently where an analysis cannot go on
    without scores.
    """
    if max_cost is not None:
        check_number("max_cost", max_cost, 0, 1e9)
    if replay is not None and (record is not None or dry_run):
        raise BadInput("replay= takes every answer from a file, so it does not go with record= or dry_run=True.")
    files = (None if path is None else Path(path) for path in (judges, record, replay))
    run = CallRun(next(files), next(files), next(files), dry_run, max_cost)
    tokens = _RUN.set(run), writes_nothing.set(dry_run)
    try:
        yield run
    except Exception:
        if not run.estimates:
            raise
    finally:
        _RUN.reset(tokens[0])
        writes_nothing.reset(tokens[1])
