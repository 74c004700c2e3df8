"""The metric ``judge-pairs``: which of two outputs a language model prefers, always asked in both orders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, PairwiseMetric
from plainly.learned.jury.answers import Answer, Request
from plainly.learned.jury.base import JudgeMetric
from plainly.learned.jury.client import ask, find_settings
from plainly.learned.jury.prompts import build_body, frame, normalise_layout
from plainly.learned.jury.rubrics import fill_values

_TITLES = {"source": "The original text", "references": "Simplifications by people"}
_CHOICES = {"first": 1.0, "second": 0.0, "tie": 0.5}


@dataclass(frozen=True, repr=False)
class JudgePairs(PairwiseMetric, JudgeMetric):
    """The share of comparisons, 0 to 100, that a system wins in the eyes of a judge: ``judge-pairs(model=NAME)``.

    The judge is shown the source and the outputs of two systems, once in each order, and says which is better by the
    rubric, or that neither is. If the two orders do not agree, the comparison is a tie; if they name different outputs,
    it is counted in ``contradictory`` too. Equal outputs are a tie without a call. ``rubric``, ``layout`` and ``level``
    are those of ``judge``; source and references are shown if the rubric shows them.
    """

    name: ClassVar[str] = "judge-pairs"

    model: str = ""

    def prefer(self, evalset: EvalSet, first: Sequence[str], second: Sequence[str]) -> Floats:
        rubric, judge = self.questions, find_settings(self.model)
        criteria = "\n".join(f"- {criterion.question}" for criterion in rubric.criteria)
        question = '"better": "first", "second" or "tie". Which text is better by these criteria?\n' + criteria
        schema = {"type": "string", "enum": list(_CHOICES)}
        requests: dict[str, Request] = {}
        keys: dict[tuple[int, bool], str] = {}
        values = self.values(evalset, first)
        for at, pair in enumerate(zip(first, second, strict=True)):
            texts = [self._show(text) for text in pair]
            parts = [fill_values(rubric.task, values[at])]
            parts += [f"{title}:\n{values[at][name]}" for name, title in _TITLES.items() if name in rubric.fields]
            for is_reversed in (False, True) if texts[0] != texts[1] else ():
                a, b = reversed(texts) if is_reversed else texts
                framed = (
                    f"The first simplified text:\n{frame('first', a)}",
                    f"The second simplified text:\n{frame('second', b)}",
                )
                questions = {"better": fill_values(question, values[at])}
                body = build_body(judge, (*parts, *framed), questions, {"better": schema}, 0)
                request = Request(judge.url, body, rubric.hash, 0)
                keys[at, is_reversed] = key = request.key
                requests[key] = request
        answers = ask(judge, requests, 1)
        self.trace(evalset, judge, answers.values())
        wins = np.full((len(first), 2), 0.5)
        for (at, is_reversed), key in keys.items():
            value = _choice(answers.get(key))
            if np.isnan(value) and key in answers:
                self.note_unparsed(judge, answers[key])
            wins[at, int(is_reversed)] = 1.0 - value if is_reversed else value
        agrees = wins[:, 0] == wins[:, 1]
        outcome = np.where(agrees, wins[:, 0], np.where(np.isnan(wins).any(axis=1), np.nan, 0.5))
        return np.stack([outcome, wins[:, 0] - wins[:, 1]], axis=1)

    def _show(self, text: str) -> str:
        return text if self.layout == "kept" else normalise_layout(text)


def _choice(answer: Answer | None) -> float:
    """Return 1 for the first text, 0 for the second, NaN for what is not an answer."""
    parsed = answer.parse() if answer is not None else None
    if parsed is None or parsed.keys() != {"better"} or not isinstance(parsed["better"], str):
        return np.nan
    return _CHOICES.get(parsed["better"], np.nan)
