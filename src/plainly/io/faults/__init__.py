"""Faults of inputs: small checks of an evaluation set and its outputs, each with a code."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from plainly.core.evalset import EvalSet
from plainly.core.files import read_shipped
from plainly.core.metric import Metric
from plainly.core.result import Note
from plainly.io.faults import checks
from plainly.io.faults.subject import CHECKS, Subject

__all__ = ["CHECKS", "EXPLANATIONS", "Subject", "checks", "diagnose"]  # importing checks registers them

EXPLANATIONS: dict[str, str] = read_shipped(__file__, "codes.toml")


def diagnose(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    specs: Sequence[str] | Mapping[str, Metric] = (),
    *,
    quick: bool = False,
    only: Collection[str] = (),
    published_references: Callable[[EvalSet], Mapping[str, int]] = lambda _: {},
) -> list[Note]:
    """The warnings of all checks, or ``only`` of some, on every item, or ``quick`` on some two hundred.

    ``published_references`` is what the cards of public sets know; see ``plainly.data.diagnose``.
    """
    subject = Subject(evalset, outputs, specs, evalset.language or None, quick, published_references)
    wanted = {code: check for code, check in CHECKS.items() if not only or code in only}
    return [replace(warning, code=code) for code, check in wanted.items() for warning in check(subject)]
