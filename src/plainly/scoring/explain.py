"""Which metrics there are, what one of them means, and why one name gives many numbers.

Variants on the same outputs show which difference in counting moves the score.
"""

import dataclasses
import inspect
import re
import textwrap
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from plainly.core import registry
from plainly.core.errors import BadInput, BrokenPlugin, DataUnavailable, MissingExtra
from plainly.core.files import read_shipped
from plainly.core.formatting import listed, number
from plainly.core.result import Listing, Note, Record, Result, Table
from plainly.core.tables import plain
from plainly.io.texts import Texts
from plainly.metrics.evidence import (
    Agreement,
    check_kind,
    describe_languages,
    evidence,
    find_agreement,
    tabulate_agreement,
)
from plainly.metrics.sari import VARIANTS
from plainly.scoring.evaluate import Evaluation, evaluate

_COPY = "a copy of the source"
_WHY_A_COPY_WINS = {
    (
        "sari(variant=hf)",
        "sari(variant=t2t)",
    ): "where nothing was added or deleted they count 0/0 as 1, a perfect score for doing nothing.",
    ("sari(variant=star)",): "the source is not tokenised but the output is, so that on text with punctuation at the "
    "words ('end.') a copy counts as a change. Use it on tokenised files only.",
}
_WIDTH = 100


@cache
def load_variants() -> dict[str, dict[str, str]]:
    """Return the variants of each metric, the default first, and what is different in each."""
    of_metrics = read_shipped(__file__, "variants.toml")
    del of_metrics["like"]
    families = {f"sari(variant={name})": variant.why for name, variant in VARIANTS.items() if name != "easse"}
    return {**of_metrics, "sari": {**of_metrics["sari"], **families}}


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """Every variant on every system, and on a copy of the source for comparison."""

    name: str
    test_set: str
    evaluation: Evaluation
    systems: tuple[str, ...]
    why: Mapping[str, str]
    absent: tuple[str, ...] = ()  # variants that could not be computed, each with the reason

    def records(self) -> list[Record]:
        return [
            {"variant": spec, "system": system, "value": self._value(system, spec), "why": why}
            for spec, why in self.why.items()
            for system in self.evaluation
        ]

    def json(self) -> Record:
        return {
            "schema": "plainly.explain/1",
            "test_set": self.test_set or None,
            "variants": [
                {"spec": spec, "why": why, "scores": {system: self._value(system, spec) for system in self.evaluation}}
                for spec, why in self.why.items()
            ],
            "explanation": [note.message for note in self.notes()],
        }

    def tables(self) -> list[Table]:
        columns = tuple(self.evaluation)
        rows = tuple(
            (spec, *(number(self._value(name, spec)) for name in columns), why) for spec, why in self.why.items()
        )
        header = ("variant", *columns, "what is different")
        return [Table(header, rows, text_columns=frozenset({0, len(header) - 1}))]

    def notes(self) -> list[Note]:
        """Return conclusions from these numbers."""
        sentences = [self._spread(system) for system in self.systems]
        sentences.append("Numbers from different variants must not be compared.")
        for specs, reason in _WHY_A_COPY_WINS.items() if self.name == "sari" else ():
            if copy_wins := [spec for spec in specs if self._copy_wins(spec)]:
                scores = "A copy of the source scores at least as high as every system here under"
                sentences.append(f"{scores} {listed(copy_wins)}: {reason}")
        if len(self.systems) > 1:
            reranked = [spec for spec in self.why if self._ranking(spec) != self._ranking(self.name)]
            differs = f"The ranking differs from that of the default under {listed(reranked, most=len(self.why))}."
            sentences.append(differs if reranked else "All variants rank the systems alike.")
        absent = [Note(f"Left out: {reason}") for reason in self.absent]
        return [*(Note(sentence, kind="claim") for sentence in sentences), *absent]

    def _spread(self, system: str) -> str:
        values = {spec: self._value(system, spec) for spec in self.why}
        low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
        return (
            f"{system}: from {number(values[low], 1)} ({low}) to {number(values[high], 1)} ({high}), a spread of "
            f"{number(values[high] - values[low], 1)} points for the same text."
        )

    def _value(self, system: str, spec: str) -> float:
        return self.evaluation[system][spec].corpus[self.name]

    def _copy_wins(self, spec: str) -> bool:
        copy = self._value(_COPY, spec)
        others = [self._value(system, spec) for system in self.systems]
        real = [value for value in others if not np.isclose(value, copy)]
        return bool(real) and copy >= max(real)

    def _ranking(self, spec: str) -> list[str]:
        return [system for system in self.evaluation.ranking(spec) if system in self.systems]


def describe(name: str | None = None, *, kind: str | None = None) -> Listing:
    """List all metrics, or describe one: its meaning, parameters, outputs, what it needs, and what it agrees with.

    ``kind`` limits the agreement with people to outputs of one kind: statistical, neural, language-models or people.
    """
    check_kind(kind)
    facts, problems = [], []
    for metric_name in registry.names() if name is None else [name]:
        try:
            facts.append(_facts(metric_name, kind))
        except BrokenPlugin as error:
            if name is not None:
                raise
            problems.append(Note(str(error), "warning", code="plugin"))
    payload = {"schema": "plainly.metrics/1", "metrics": facts}
    columns = {"name": "metric", "better": "better", "needs": "compares with", "summary": "what it is"}
    rows = tuple(
        {**{key: entry[key] for key in columns}, "needs": " and ".join(entry["needs"]) or "the output alone"}
        for entry in facts
    )
    if name is not None:
        return Listing(payload, rows, prose=_prose(facts[0]))
    remark = "plainly metrics NAME describes one; parameters go in parentheses: -m 'sari(variant=hf)'"
    return Listing(payload, rows, columns, remark, problems=tuple(problems))


def explain(name: str, texts: Texts) -> Explanation:
    """Compute all variants of a metric on the same outputs, and explain their differences."""
    registry.metric_class(name)
    if name not in load_variants():
        raise BadInput(
            f"Only {listed(list(load_variants()))} have variants that need explaining; see: plainly metrics {name}"
        )
    outputs = {**texts.outputs, **({_COPY: texts.evalset.sources} if texts.evalset.has_sources else {})}
    why, absent = dict(load_variants()[name]), []
    for spec in tuple(why):
        try:
            evaluate(texts.evalset[:1], {system: rows[:1] for system, rows in outputs.items()}, (spec,), sampling=None)
        except (MissingExtra, DataUnavailable) as error:
            del why[spec]
            absent.append(f"{spec}: {error}")
    evaluation = evaluate(texts.evalset, outputs, tuple(why), sampling=None)
    return Explanation(name, texts.evalset.name, evaluation, tuple(texts.outputs), why, tuple(absent))


def _facts(name: str, kind: str | None) -> Record:
    metric = registry.metric_class(name)
    hints = typing.get_type_hints(metric)
    description = inspect.cleandoc(metric.__doc__ or "")
    return {
        "name": name,
        "summary": re.split(r"(?<!\bal)\. ", description.partition("\n\n")[0].replace("\n", " "))[0].rstrip("."),
        "description": description,
        "evidence": evidence(metric).advice,
        "languages": describe_languages(metric),
        "unit": evidence(metric).unit,
        "agreement": [asdict(row) for row in find_agreement(metric, kind)],
        "needs": sorted(metric.needs),
        "better": metric.better,
        "outputs": list(metric.outputs),
        "parameters": [
            {"name": parameter.name, "default": parameter.default, "values": _values(hints[parameter.name])}
            for parameter in dataclasses.fields(metric)  # type: ignore[arg-type]  # every registered class is a dataclass
            if parameter.init
        ],
    }


def _values(hint: Any) -> str:
    return " | ".join(map(str, typing.get_args(hint))) if typing.get_origin(hint) is typing.Literal else ""


def _prose(facts: Record) -> str:
    needs = ", ".join(facts["needs"]) or "outputs only"
    paragraphs = [
        f"{facts['name']} — better: {facts['better']}; needs: {needs}; languages: {facts['languages']}",
        f"An item is {facts['unit']}.",
        facts["description"],
    ]
    if facts["evidence"]:
        paragraphs.append(textwrap.fill(facts["evidence"], width=_WIDTH))
    parameters = []
    for parameter in facts["parameters"]:
        name, default, values = parameter.values()
        default_text = str(default).lower() if isinstance(default, bool) else default
        parameters.append(f"  {name}={default_text}" + (f"  ({values})" if values else ""))
    if parameters:
        paragraphs.append("\n".join(["Parameters", *parameters]))
    paragraphs.append("Outputs, the first is the headline\n" + _indent(", ".join(facts["outputs"])))
    if facts["agreement"]:
        paragraphs.append(plain(tabulate_agreement([Agreement(**row) for row in facts["agreement"]])))
    if facts["name"] == "sari":
        variants = [_indent(f"{name}: {variant.why}", hanging="  ") for name, variant in VARIANTS.items()]
        paragraphs.append("\n".join(["Variants", *variants]))
    return "\n\n".join(paragraphs)


def _indent(text: str, *, hanging: str = "") -> str:
    return textwrap.fill(text, width=_WIDTH, initial_indent="  ", subsequent_indent=f"  {hanging}")
