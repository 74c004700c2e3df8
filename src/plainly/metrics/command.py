"""A metric that is somebody else's program: it reads pairs as JSON, a line each, and writes a number for each line."""

import json
import math
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from plainly import protocol
from plainly.errors import BadInput, BadSpec
from plainly.evalset import EvalSet
from plainly.metrics.means import mean_rows, means
from plainly.protocol import Better, Floats, Needs
from plainly.registry import choice


@dataclass(frozen=True, repr=False)
class Command:
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
    better: Literal["higher", "lower", "neither"] = "higher"

    def __post_init__(self) -> None:
        if not self.run.strip():
            raise BadSpec("command needs a program to run: command(run=./my_metric.py)")
        choice(self.better, get_args(Better), parameter="better")

    def __repr__(self) -> str:
        return protocol.spec(self)  # type: ignore[arg-type]

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

    def score(self, totals: Floats) -> Floats:
        return means(totals)

    def _answer(self, asked: str) -> str:
        try:
            done = subprocess.run(
                shlex.split(self.run), input=asked, capture_output=True, encoding="utf-8", errors="replace", check=False
            )
        except OSError as error:
            why = error.strerror or error
            raise BadInput(f"Cannot run {self.run!r}: {why}. Is it there and executable?") from error
        if done.returncode:
            said = done.stderr.strip().splitlines()
            raise BadInput(f"{self.run!r} ended with status {done.returncode}{f': {said[-1]}' if said else '.'}")
        return done.stdout

    def _number(self, line: str, place: int) -> float:
        text = line.strip()
        try:
            value = math.nan if text == "null" else float(text)
        except ValueError:
            value = math.inf
        if math.isinf(value):
            raise BadInput(f"Line {place + 1} of what {self.run!r} wrote is {text!r}, which is not a number.")
        return value
