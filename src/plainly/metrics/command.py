"""A metric that is somebody else's program: it reads pairs as JSON, a line each, and writes a number for each line."""

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
    """The mean of what a program of your own gives each output: ``command(run=./my_metric.py)``.

    The program gets one line of JSON an item on its standard input, ``{"source": …, "output": …, "references": […]}``,
    and writes one number a line, in the same order; ``null`` or ``nan`` says that an item has no score. Nothing is
    known of what it measures: ``better`` says whether higher or lower is better.
    """

    name: ClassVar[str] = "command"
    needs: ClassVar[Needs] = frozenset()
    outputs: ClassVar[tuple[str, ...]] = ("command",)
    runs_programs: ClassVar[bool] = True  # never for a spec that stands in a data file

    run: str = ""
    better: Literal["higher", "lower", "neither"] = "higher"  # type: ignore[misc]  # here it is a parameter

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.run.strip():
            raise BadSpec("command needs a program to run: command(run=./my_metric.py)")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        if not outputs:
            return np.zeros((0, 2))
        known = evalset.references or ((),) * len(outputs)
        asked = "".join(
            json.dumps({"source": source, "output": output, "references": references}, ensure_ascii=False) + "\n"
            for source, output, references in zip(evalset.sources, outputs, known, strict=True)
        )
        answered = [line for line in self._answer(asked).splitlines() if line.strip()]
        if len(answered) != len(outputs):
            raise BadInput(
                f"{self.run!r} wrote {len(answered)} numbers for {len(outputs)} outputs; it must write one a line."
            )
        return mean_rows(np.array([self._number(line, place) for place, line in enumerate(answered)]))

    def _answer(self, asked: str) -> str:
        seconds = limits.limit("command")
        pipe = subprocess.PIPE
        try:
            # In a session of its own, so that whatever it starts can be ended with it.
            with subprocess.Popen(
                shlex.split(self.run), stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", errors="replace",
                start_new_session=True,
            ) as program:  # fmt: skip
                try:
                    answered, said = program.communicate(asked, timeout=seconds)
                except BaseException:
                    _end(program)
                    raise
        except subprocess.TimeoutExpired:
            more = f"To wait longer: {limits.SETTING}=command={10 * seconds}"
            raise BadInput(f"{self.run!r} did not end within {seconds:,} seconds and was stopped. {more}") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise BadInput(f"Cannot run {self.run!r}: {why}. Is it there and executable?") from error
        if program.returncode:
            lines = said.strip().splitlines()
            raise BadInput(f"{self.run!r} ended with status {program.returncode}{f': {lines[-1]}' if lines else '.'}")
        return answered

    def _number(self, line: str, place: int) -> float:
        text = line.strip()
        try:
            value = math.nan if text == "null" else float(text)
        except ValueError:
            value = math.inf
        if math.isinf(value):
            raise BadInput(f"Line {place + 1} of what {self.run!r} wrote is {text!r}, which is not a number.")
        return value


def _end(program: subprocess.Popen[str]) -> None:
    """Kill a program and what it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
    program.kill()
