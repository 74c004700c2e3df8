"""A metric that is an external program: it reads items as lines of JSON and writes a number for each line."""

import contextlib
import json
import math
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from plainly.core import limits
from plainly.core.errors import BadInput, BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, MeanMetric, Needs, mean_rows


@dataclass(frozen=True, repr=False)
class Command(MeanMetric):
    """The mean of the numbers that your own program gives each output: ``command(run=./my_metric.py)``.

    The program reads one line of JSON per item from standard input, ``{"source": …, "output": …, "references": […]}``,
    and writes one number per line, in the same order; ``null`` or ``nan`` means that an item has no score. Nothing is
    known about what it measures: set ``better`` to higher or lower.
    """

    name: ClassVar[str] = "command"
    needs: ClassVar[Needs] = frozenset()
    outputs: ClassVar[tuple[str, ...]] = ("command",)
    runs_programs: ClassVar[bool] = True

    run: str = ""
    better: Literal["higher", "lower", "neither"] = "higher"  # type: ignore[misc]  # here it is a parameter

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.run.strip():
            raise BadSpec("command needs a program to run: command(run=./my_metric.py)")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        if not outputs:
            return np.zeros((0, 2))
        items = zip(evalset.sources, outputs, evalset.references or ((),) * len(outputs), strict=True)
        requests = "".join(
            json.dumps({"source": source, "output": output, "references": references}, ensure_ascii=False) + "\n"
            for source, output, references in items
        )
        lines = [line for line in self._answer(requests).splitlines() if line.strip()]
        if len(lines) != len(outputs):
            raise BadInput(f"{self.run!r} wrote {len(lines)} numbers for {len(outputs)} outputs, not one for each.")
        return mean_rows(np.array([self._number(line, number) for number, line in enumerate(lines, 1)]))

    def _answer(self, requests: str) -> str:
        seconds = limits.limit("command")
        pipe = subprocess.PIPE
        try:
            # In a new session, so that the processes that it starts can be ended with it.
            with subprocess.Popen(
                shlex.split(self.run), stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", errors="replace",
                start_new_session=True,
            ) as program:  # fmt: skip
                try:
                    output, messages = program.communicate(requests, timeout=seconds)
                except BaseException:
                    _end(program)
                    raise
        except subprocess.TimeoutExpired:
            more = f"To wait longer: {limits.SETTING}=command={10 * seconds}"
            raise BadInput(f"{self.run!r} did not end within {seconds:,} seconds and was stopped. {more}") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise BadInput(f"Cannot run {self.run!r}: {why}. Check that it exists and is executable.") from error
        if program.returncode:
            lines = messages.strip().splitlines()
            raise BadInput(f"{self.run!r} ended with status {program.returncode}{f': {lines[-1]}' if lines else '.'}")
        return output

    def _number(self, line: str, number: int) -> float:
        text = line.strip()
        try:
            value = math.nan if text == "null" else float(text)
        except ValueError:
            value = math.inf
        if math.isinf(value):
            raise BadInput(f"Line {number} of what {self.run!r} wrote is {text!r}, which is not a number.")
        return value


def _end(program: subprocess.Popen[str]) -> None:
    """Kill a program and the processes that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
    program.kill()
