"""What this machine lets the process use."""

import os


def cores() -> int:
    """How many cores this process may use, which on shared machines is fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
