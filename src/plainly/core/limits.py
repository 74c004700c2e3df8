"""Limits of sizes, times and cores, and signals that stop the process.

``PLAINLY_LIMITS="wait=600,text=1000000000"`` changes sizes and times; docs/scale.md lists them.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from plainly.core.errors import BadInput, did_you_mean

T = TypeVar("T")
SETTING = "PLAINLY_LIMITS"


@dataclass(frozen=True)
class SizeLimit:
    """A limit: its default value, its unit, what it applies to, and what to do if something is larger."""

    value: int
    unit: str
    scope: str
    instead: str = ""


LIMITS = {
    "file": SizeLimit(
        2_000_000_000,
        "bytes",
        "a file, table or archive that is read whole, after unpacking",
        "Pass less at once, or --engine local, which reads Parquet, JSONL and lines in parts.",
    ),
    "text": SizeLimit(200_000_000, "characters", "one text: a line, or a cell of a table", "Is a line end missing?"),
    "words": SizeLimit(
        1_000_000,
        "words",
        "one text whose operations are labelled",
        "Give its sentences or paragraphs as lines of their own.",
    ),
    "values": SizeLimit(
        4_000_000,
        "pairs of values",
        "a source and an output whose numbers, dates and other values are compared",
        "Give sentences or paragraphs as lines of their own.",
    ),
    "comparisons": SizeLimit(
        100_000_000_000,
        "pairs of characters",
        "a source and an output between which edits are counted (levenshtein, easse-quality, ter)",
        "Give sentences or paragraphs as lines of their own, or leave the metric out.",
    ),
    "wait": SizeLimit(30, "seconds", "waiting for a pipe without a writer, or for an address that does not answer"),
    "command": SizeLimit(3600, "seconds", "a program of yours that scores texts: command(run=…)"),
}


def limit(name: str) -> int:
    """Return the value of a limit: that of the setting, or the default."""
    setting = os.environ.get(SETTING)
    return _parse_setting(setting).get(name, LIMITS[name].value) if setting else LIMITS[name].value


def check(name: str, size: int, subject: str) -> None:
    """Raise if something is larger than its limit; ``subject`` begins the sentence."""
    if size > limit(name):
        message = f"{subject} has {size:,} {LIMITS[name].unit}; the limit is {limit(name):,}. {LIMITS[name].instead}"
        raise BadInput(f"{message} To allow it: {SETTING}={name}={size}")


def run_within_limit(work: Callable[[], T], subject: str) -> T:
    """Return what ``work`` returns, or raise if it takes too long: some libraries wait for a network forever.

    ``subject`` begins the sentence. The work goes on in a thread that ends with the process.
    """
    from concurrent.futures import Future, wait

    seconds = limit("wait")
    answer: Future[T] = Future()

    def ask() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    if not wait([answer], seconds).done:
        more = f"To wait longer: {SETTING}=wait={10 * seconds}"
        raise BadInput(f"{subject} did not answer within {seconds:,} seconds. {more}")
    return answer.result()


@cache
def _parse_setting(setting: str) -> dict[str, int]:
    values = {}
    for pair in filter(None, (part.strip() for part in setting.split(","))):
        name, _, value = (part.strip() for part in pair.partition("="))
        if name not in LIMITS:
            raise BadInput(f"{SETTING} names {name!r}.{did_you_mean(name, LIMITS)} It may be: {', '.join(LIMITS)}")
        try:
            values[name] = int(float(value))
        except (ValueError, OverflowError):
            values[name] = 0
        if values[name] < 1:
            raise BadInput(f"{SETTING}: {name} is a whole number of {LIMITS[name].unit}, not {value!r}.")
    return values


def cores() -> int:
    """Return how many cores this process may use, which on shared machines is fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def handle_signals(handler: Callable[[int, Any], None], *signals: signal.Signals) -> Iterator[None]:
    """Replace the handlers of signals for a while; outside the main thread, which gets no signals, do nothing."""
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
