"""Is every text in the language that the set is in, and does every metric work in that language?"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from plainly.core import registry
from plainly.core.formatting import listed
from plainly.core.metric import Metric
from plainly.core.result import Note
from plainly.io.faults.subject import Collection, Subject, check, warning
from plainly.metrics.languages import made_for, shown, works_in
from plainly.text.languages.detection import named

_ATTACHED = re.compile("[„“”«»‹›‚‘](?=\\w)|(?<=\\w)[“”«»‹›]")
_OFTEN = 0.05


@check("language")
def language(subject: Subject) -> Iterator[Note]:
    expected = subject.expected_language
    if expected is None:
        return
    for texts in subject.collections():
        if texts is subject.of_set and subject.language is None:
            continue  # what is expected was read off them; see mixed-languages
        others = {code: places for code, places in _by_language(texts).items() if code != expected}
        if others:
            places = sorted(place for places in others.values() for place in places)
            spoken = "; ".join(f"{named(code)} in {texts.items(places)}" for code, places in others.items())
            message = f"{spoken}, where {named(expected)} is expected: “{texts.lines[places[0]][:40]}…”."
            yield texts.warning(message, places)


@check("mixed-languages")
def mixed_languages(subject: Subject) -> Iterator[Note]:
    texts = subject.of_set
    if subject.language is not None or texts is None:
        return
    by_language = _by_language(texts)
    if len(by_language) > 1:
        (most, there), *rest = sorted(by_language.items(), key=lambda entry: -len(entry[1]))
        others = "; ".join(f"{named(code)} in {texts.items(places)}" for code, places in rest)
        places = sorted(place for _, places in rest for place in places)
        yield texts.warning(f"several languages: {named(most)} in {len(there)} texts; {others}.", places)


@check("metric-language")
def metric_language(subject: Subject) -> Iterator[Note]:
    spoken = subject.expected_language
    if spoken is None:
        return
    unsuited = {spec: metric for spec, metric in _metrics(subject).items() if not works_in(metric, spoken)}
    if not unsuited:
        return
    fixed = [spec for spec, metric in unsuited.items() if not metric.language]
    made = "; ".join(f"{spec} works in {shown(unsuited[spec])}" for spec in fixed)
    unset = [spec for spec in unsuited if spec not in fixed]
    counts = f"{listed(unset)} {'count' if len(unset) > 1 else 'counts'} as in English" if unset else ""
    said = f"The texts are {named(spoken)}, but {'; '.join(filter(None, (made, counts)))}. Numbers from it mean little."
    advice = _advice(spoken, fixed, subject)
    yield replace(warning(f"{said} {advice}".strip(), where="metrics"), severity="error")


@check("tokeniser-language")
def tokeniser_language(subject: Subject) -> Iterator[Note]:
    spoken = subject.expected_language
    ours = [spec for spec, metric in _metrics(subject).items() if metric.tokenize in ("13a", "auto")]
    if spoken in (None, "en") or not ours:
        return
    texts = [line for collection in subject.collections() for line in collection.lines]
    attached = sum(_ATTACHED.search(line) is not None for line in texts)
    if attached > _OFTEN * len(texts):
        mark = next(match[0] for line in texts if (match := _ATTACHED.search(line)))
        marks = f"In {attached} of {len(texts)} texts a mark such as {mark} stays on its word"
        instead = f"{ours[0].partition('(')[0]}(tokenize=intl)"
        said = f"{marks}, since 13a parts English marks only ({listed(ours)}). {instead} parts them; say what you used."
        yield replace(warning(said), severity="note")


def _metrics(subject: Subject) -> dict[str, Metric]:
    """The metrics that are to be used; of somebody's own, which a name does not lead to, nothing is known."""
    if isinstance(subject.specs, Mapping):
        return dict(subject.specs)
    return registry.metrics([spec for spec in subject.specs if spec.partition("(")[0] in registry.METRICS])


def _advice(language: str, fixed: Sequence[str], subject: Subject) -> str:
    instead = made_for(language)
    if not instead:
        return "No metric of plainly is made for it; those that work in any language are listed by: plainly metrics"
    advice = [] if subject.language == language else [f"pass language={language!r}"]
    if fixed:
        advice.append(f"use metrics made for {named(language)}: {listed(list(instead), most=len(instead))}")
    return f"What to do: {' and '.join(advice)}." if advice else ""


def _by_language(texts: Collection) -> dict[str, list[int]]:
    """The places of the texts in each language; those of which nobody can tell are left out."""
    by_language: dict[str, list[int]] = defaultdict(list)
    for place, code in enumerate(texts.languages[0]):
        if code is not None:
            by_language[code].append(place)
    return by_language
