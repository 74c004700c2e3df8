"""What this machine lets the process use, and what it asks of it."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def cores() -> int:
    """How many cores this process may use, which on shared machines is fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def handling(handler: Callable[[int, Any], None], *signals: signal.Signals) -> Iterator[None]:
    """Have signals handled otherwise for a while; outside the main thread, where they do not come, nothing changes."""
    before: dict[signal.Signals, Any] = {}
    try:
        for number in signals:
            before[number] = signal.signal(number, handler)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
