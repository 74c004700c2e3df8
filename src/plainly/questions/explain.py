"""Which metrics there are, what one of them means, and why one name gives many numbers.

SARI's variants on the same outputs show which difference in counting moves the score.
"""

import dataclasses
import inspect
import re
import textwrap
import typing
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from plainly import registry
from plainly.errors import BadInput
from plainly.inputs.texts import TextArguments, take
from plainly.metrics.evidence import evidence
from plainly.metrics.sari import VARIANTS
from plainly.render.numbers import listed, number
from plainly.result import Listing, Note, Record, Result, Table
from plainly.scoring.evaluate import Evaluation, evaluate

# The default first, then what changes one thing of it at a time, then the other families.
WHY = {
    "sari": "the default: counts summed over the corpus, F1 for add, keep and delete; 0/0 is 0",
    "sari(delete=precision)": "deletions scored by precision only, as the paper's formula has it",
    "sari(average=paper)": "precision and recall averaged over n before F1, as the paper's formula has it",
    "sari(tokenize=none)": "words split at spaces only, so that 'end.' and 'end' differ",
    "sari(lowercase=false)": "capitals matter",
    **{f"sari(variant={name})": variant.why for name, variant in VARIANTS.items() if name != "easse"},
}
_COPY = "a copy of the source"
_WHY_A_COPY_WINS = {
    ("sari(variant=hf)", "sari(variant=t2t)"): "where nothing was added or deleted they count 0/0 as 1, full marks for "
    "doing nothing.",
    ("sari(variant=star)",): "the source is not tokenised but the output is, so that on text with punctuation at the "
    "words ('end.') a copy counts as a change. Use it on tokenised files only.",
}
_WIDTH = 100


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """Every variant on every system, and on a copy of the source for comparison."""

    test_set: str
    evaluation: Evaluation
    systems: tuple[str, ...]

    def records(self) -> list[Record]:
        return [
            {"variant": spec, "system": system, "value": self._value(system, spec), "why": why}
            for spec, why in WHY.items()
            for system in self.evaluation
        ]

    def json(self) -> Record:
        return {
            "schema": "plainly.explain/1",
            "test_set": self.test_set or None,
            "variants": [
                {"spec": spec, "why": why, "scores": {system: self._value(system, spec) for system in self.evaluation}}
                for spec, why in WHY.items()
            ],
            "explanation": [note.message for note in self.notes()],
        }

    def tables(self) -> list[Table]:
        columns = (*self.systems, _COPY)
        rows = tuple((spec, *(number(self._value(name, spec)) for name in columns), why) for spec, why in WHY.items())
        header = ("variant", *columns, "what is different")
        return [Table(header, rows, text_columns=frozenset({0, len(header) - 1}))]

    def notes(self) -> list[Note]:
        """What follows from these numbers, in words."""
        sentences = [self._spread(system) for system in self.systems]
        for specs, reason in _WHY_A_COPY_WINS.items():
            if rewarded := [spec for spec in specs if self._copy_wins(spec)]:
                scores = "A copy of the source scores at least as high as every system here under"
                sentences.append(f"{scores} {listed(rewarded)}: {reason}")
        if len(self.systems) > 1:
            turned = [spec for spec in WHY if self._ranking(spec) != self._ranking("sari")]
            differs = f"The ranking differs from that of the default under {listed(turned, most=len(WHY))}."
            sentences.append(differs if turned else "All variants rank the systems alike.")
        return [Note(sentence, kind="claim") for sentence in sentences]

    def _spread(self, system: str) -> str:
        values = {spec: self._value(system, spec) for spec in WHY}
        low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
        return (
            f"{system}: from {number(values[low], 1)} ({low}) to {number(values[high], 1)} ({high}), a spread of "
            f"{number(values[high] - values[low], 1)} points for the same text. Numbers from different variants must "
            "not be compared."
        )

    def _value(self, system: str, spec: str) -> float:
        return self.evaluation[system][spec].corpus["sari"]

    def _copy_wins(self, spec: str) -> bool:
        copy = self._value(_COPY, spec)
        others = [self._value(system, spec) for system in self.systems]
        real = [value for value in others if not np.isclose(value, copy)]
        return bool(real) and copy >= max(real)

    def _ranking(self, spec: str) -> list[str]:
        return sorted(self.systems, key=lambda system: -self._value(system, spec))


def describe(name: str | None = None) -> Listing:
    """All metrics, or what one of them is: its meaning, parameters, outputs, and what it needs."""
    facts = [_facts(known) for known in (registry.names() if name is None else [name])]
    payload, rows = {"schema": "plainly.metrics/1", "metrics": facts}, tuple(map(_flat, facts))
    if name is not None:
        return Listing(payload, rows, prose=_prose(facts[0]))
    columns = {"name": "metric", "better": "better", "needs": "compares with", "summary": "what it is"}
    remark = "plainly metrics NAME describes one; parameters go in parentheses: -m 'sari(variant=hf)'"
    return Listing(payload, rows, columns, remark)


def explain(name: str = "sari", data: Any = None, **texts: Unpack[TextArguments]) -> Explanation:
    """All variants of a metric on the same outputs, side by side, and what makes them differ."""
    registry.metric_class(name)
    if name != "sari":
        raise BadInput(f"Only sari has variants that need explaining; see: plainly metrics {name}")
    inputs = take(data, **texts)
    evaluation = evaluate(inputs.evalset, {**inputs.outputs, _COPY: inputs.evalset.sources}, tuple(WHY), sampling=None)
    return Explanation(inputs.evalset.name, evaluation, tuple(inputs.outputs))


def _facts(name: str) -> Record:
    metric = registry.metric_class(name)
    hints = typing.get_type_hints(metric)
    description = inspect.cleandoc(metric.__doc__ or "")
    return {
        "name": name,
        "summary": re.split(r"(?<!\bal)\. ", description.partition("\n\n")[0].replace("\n", " "))[0].rstrip("."),
        "description": description,
        "evidence": evidence(metric).advice,
        "needs": sorted(metric.needs),
        "better": metric.better,
        "outputs": list(metric.outputs),
        "parameters": [
            {"name": parameter.name, "default": parameter.default, "values": _values(hints[parameter.name])}
            for parameter in dataclasses.fields(metric)
            if parameter.init
        ],
    }


def _flat(facts: Record) -> Record:
    needs = " and ".join(facts["needs"]) or "the output alone"
    return {"name": facts["name"], "better": facts["better"], "needs": needs, "summary": facts["summary"]}


def _values(hint: Any) -> str:
    return " | ".join(map(str, typing.get_args(hint))) if typing.get_origin(hint) is typing.Literal else ""


def _prose(facts: Record) -> str:
    needs = ", ".join(facts["needs"]) or "outputs only"
    paragraphs = [f"{facts['name']} — better: {facts['better']}; needs: {needs}", facts["description"]]
    if facts["evidence"]:
        paragraphs.append(textwrap.fill(facts["evidence"], width=_WIDTH))
    parameters = []
    for parameter in facts["parameters"]:
        name, default, values = parameter.values()
        shown = str(default).lower() if isinstance(default, bool) else default
        parameters.append(f"  {name}={shown}" + (f"  ({values})" if values else ""))
    if parameters:
        paragraphs.append("\n".join(["Parameters", *parameters]))
    paragraphs.append("Outputs, the first is the headline\n" + _indented(", ".join(facts["outputs"])))
    if facts["name"] == "sari":
        variants = [_indented(f"{name}: {variant.why}", hanging="  ") for name, variant in VARIANTS.items()]
        paragraphs.append("\n".join(["Variants", *variants]))
    return "\n\n".join(paragraphs)


def _indented(text: str, *, hanging: str = "") -> str:
    return textwrap.fill(text, width=_WIDTH, initial_indent="  ", subsequent_indent=f"  {hanging}")
