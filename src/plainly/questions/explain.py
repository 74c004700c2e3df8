"""Why one name gives many numbers: SARI's variants on the same outputs, and which difference in counting moves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plainly.evalset import EvalSet
from plainly.metrics.sari import VARIANTS
from plainly.result import Table
from plainly.scoring.evaluate import Evaluation, evaluate

# The default first, then what changes one thing of it at a time, then the other families.
SPECS = (
    "sari",
    "sari(delete=precision)",
    "sari(average=paper)",
    "sari(tokenize=none)",
    "sari(lowercase=false)",
    *(f"sari(variant={variant})" for variant in VARIANTS if variant != "easse"),
)
_COPY = "a copy of the source"
_WHY_A_COPY_WINS = {
    ("sari(variant=hf)", "sari(variant=t2t)"): "where nothing was added or deleted they count 0/0 as 1, full marks for "
    "doing nothing.",
    ("sari(variant=star)",): "the source is not tokenised but the output is, so that on text with punctuation at the "
    "words ('end.') a copy counts as a change. Use it on tokenised files only.",
}


@dataclass(frozen=True)
class Explained:
    """Every variant on every system, and on a copy of the source for comparison."""

    found: Evaluation
    systems: tuple[str, ...]

    def table(self) -> Table:
        rows = []
        for spec in SPECS:
            cells = [self.found[system][spec].corpus for system in (*self.systems, _COPY)]
            rows.append((spec, *(f"{values['sari']:.2f}" for values in cells), _why(spec)))
        header = ("variant", *self.systems, _COPY, "what is different")
        return Table(header, tuple(rows), text_columns=frozenset({0, len(header) - 1}))

    def paragraphs(self) -> list[str]:
        """What follows from these numbers, in words."""
        told = []
        for system in self.systems:
            values = self._values(system)
            low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
            told.append(
                f"{system}: from {values[low]:.1f} ({low}) to {values[high]:.1f} ({high}), a spread of "
                f"{values[high] - values[low]:.1f} points for the same text. Numbers from different variants must not "
                "be compared."
            )
        for specs, reason in _WHY_A_COPY_WINS.items():
            rewarded = [spec for spec in specs if self._copy_wins(spec)]
            if rewarded:
                told.append(
                    f"A copy of the source scores at least as high as every system here under {_listed(rewarded)}: "
                    f"{reason}"
                )
        orders = {spec: self._ranking(spec) for spec in SPECS}
        default = orders["sari"]
        turned = [spec for spec, order in orders.items() if order != default]
        if len(self.systems) > 1:
            told.append(
                f"The ranking differs from that of the default under {_listed(turned)}."
                if turned
                else "All variants rank the systems alike."
            )
        return told

    def as_dict(self) -> dict[str, Any]:
        return {
            "variants": [
                {"spec": spec, "why": _why(spec), "scores": {s: self.found[s][spec].corpus["sari"] for s in self.found}}
                for spec in SPECS
            ],
            "explanation": self.paragraphs(),
        }

    def _values(self, system: str) -> dict[str, float]:
        return {spec: self.found[system][spec].corpus["sari"] for spec in SPECS}

    def _copy_wins(self, spec: str) -> bool:
        copy = self.found[_COPY][spec].corpus["sari"]
        others = [self.found[system][spec].corpus["sari"] for system in self.systems]
        real = [value for value in others if not np.isclose(value, copy)]
        return bool(real) and copy >= max(real)

    def _ranking(self, spec: str) -> list[str]:
        return sorted(self.systems, key=lambda system: -self.found[system][spec].corpus["sari"])


def explain_sari(evalset: EvalSet, outputs: Mapping[str, Sequence[str]]) -> Explained:
    """All variants of SARI on the same outputs."""
    with_copy = {**outputs, _COPY: evalset.sources}
    return Explained(evaluate(evalset, with_copy, SPECS, sampling=None), tuple(outputs))


def _why(spec: str) -> str:
    known = {
        "sari": "the default: counts summed over the corpus, F1 for add, keep and delete; 0/0 is 0",
        "sari(delete=precision)": "deletions scored by precision only, as the paper's formula has it",
        "sari(average=paper)": "precision and recall averaged over n before F1, as the paper's formula has it",
        "sari(tokenize=none)": "words split at spaces only, so that 'end.' and 'end' differ",
        "sari(lowercase=false)": "capitals matter",
    }
    return known.get(spec) or VARIANTS[spec[len("sari(variant=") : -1]].why


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
