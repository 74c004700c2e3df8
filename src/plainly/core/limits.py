"""Every size that is refused and every time after which waiting ends, in one place and changed by one setting.

``PLAINLY_LIMITS="wait=600,text=1000000000"`` changes them; ``limits.toml`` says what each is for.
"""

import os
import queue
import threading
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from plainly.core.errors import BadInput, did_you_mean

T = TypeVar("T")
SETTING = "PLAINLY_LIMITS"


@cache
def known() -> dict[str, dict[str, Any]]:
    """The limits by name: value, unit, what it is for, what to do instead."""
    return tomllib.loads(Path(__file__).with_name("limits.toml").read_text(encoding="utf-8"))


def limit(name: str) -> int:
    """A limit: the user's, or ours."""
    return _chosen(os.environ.get(SETTING, "")).get(name, int(known()[name]["value"]))


def check(name: str, size: int, what: str) -> None:
    """Raise where something is larger than its limit; ``what`` begins the sentence."""
    most = limit(name)
    if size > most:
        of = known()[name]
        raise BadInput(
            f"{what} has {size:,} {of['unit']}; the limit is {most:,}. {of['instead']} To allow it: "
            f"{SETTING}={name}={size}"
        )


def within(work: Callable[[], T], what: str) -> T:
    """What ``work`` returns, unless it takes longer than waiting may: libraries that ask over a network may never end.

    ``what`` begins the sentence. The work goes on in a thread that ends with the process.
    """
    seconds = limit("wait")
    answers: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put((work(), None))
        except BaseException as error:
            answers.put((None, error))

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer, error = answers.get(timeout=seconds)
    except queue.Empty:
        more = f"To wait longer: {SETTING}=wait={10 * seconds}"
        raise BadInput(f"{what} did not answer within {seconds:,} seconds. {more}") from None
    if error is not None:
        raise error
    return cast("T", answer)


@cache
def _chosen(setting: str) -> dict[str, int]:
    chosen = {}
    for pair in filter(None, (part.strip() for part in setting.split(","))):
        name, _, value = (part.strip() for part in pair.partition("="))
        if name not in known():
            raise BadInput(f"{SETTING} names {name!r}.{did_you_mean(name, known())} It may be: {', '.join(known())}")
        try:
            chosen[name] = int(float(value))
        except (ValueError, OverflowError):
            chosen[name] = 0
        if chosen[name] < 1:
            raise BadInput(f"{SETTING}: {name} is a whole number of {known()[name]['unit']}, not {value!r}.")
    return chosen
