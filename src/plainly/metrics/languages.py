"""In which languages a metric works, and the same metric in the language of the texts.

A metric says so in evidence.toml, or, where it is somebody's own, by an attribute ``languages``: codes with spaces
between, ``any``, or ``model`` where that depends on the model it is given.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from plainly.core import registry
from plainly.core.errors import PlainlyError
from plainly.core.metric import Metric
from plainly.metrics.evidence import evidence
from plainly.text.languages.detection import named

ANY, OF_MODEL = "any", "model"


def stated(metric: Metric | type[Any]) -> str:
    """What a metric says of its languages; "" where it says nothing."""
    return str(getattr(metric, "languages", "")) or evidence(metric).languages


def works_in(metric: Metric, language: str) -> bool:
    """Whether a metric, as it is set, says that it works in a language; one that says nothing is believed to."""
    chosen = getattr(metric, "language", "") or stated(metric)
    return chosen in ("", ANY, OF_MODEL) or language in chosen.split()


def in_language(spec: str | Metric, language: str) -> str | Metric:
    """The metric in this language, where it has a choice of languages and none was made."""
    metric = registry.metric(spec)
    chosen = getattr(metric, "language", None)
    if chosen is None or chosen == language or language not in stated(metric).split():
        return spec
    if isinstance(spec, str) and "language" in spec.partition("(")[2]:
        return spec
    default = next(field.default for field in dataclasses.fields(metric) if field.name == "language")  # type: ignore[arg-type]
    if chosen != default:
        return spec
    change = getattr(metric, "in_language", None)
    changed: Metric = change(language) if change else dataclasses.replace(metric, language=language)  # type: ignore[type-var]
    return repr(changed) if isinstance(spec, str) else changed


def asked_as(spec: str, metrics: Mapping[str, Metric]) -> str:
    """The key of the metric that was asked for by this spec before a language was put in; the spec if there is none."""
    try:
        wanted = {key: in_language(spec, getattr(metric, "language", "")) for key, metric in metrics.items()}
    except PlainlyError:
        return spec
    return next((key for key, metric in metrics.items() if registry.metric(wanted[key]) == metric), spec)


def shown(metric: Metric | type[Any]) -> str:
    """The languages of a metric in words."""
    codes = stated(metric)
    if codes in ("", ANY, OF_MODEL):
        return {"": "not stated", ANY: "any", OF_MODEL: "those of the model"}[codes]
    return ", ".join(map(named, codes.split()))


def made_for(language: str) -> tuple[str, ...]:
    """The metrics that are made for this language, which those that work in any are not."""
    names = [name for name in registry.METRICS if language in stated(registry.metric_class(name)).split()]
    return tuple(names)
