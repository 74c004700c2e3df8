"""samsa with a real parser, where spaCy and a pipeline are installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plainly import data
from plainly.core.errors import BadInput, DataUnavailable
from plainly.core.evalset import EvalSet
from plainly.learned import events
from plainly.learned.events import Samsa

SOURCE = "He came home because she had cooked a good soup."


def _segments(english: str, sources: list[str], outputs: list[str]) -> np.ndarray:
    metric = Samsa(parser=english)
    return metric.score(metric.measure(EvalSet.of(sources), outputs))


def test_events_of_a_parsed_sentence(english: str) -> None:
    (sentences,) = events.load_parser(english)([SOURCE])
    assert events.events(sentences) == [events.Event("come", ("he",)), events.Event("cook", ("she", "soup"))]
    # Heads are counted within their own sentence, also in the second.
    (two,) = events.load_parser(english)(["It rained. " + SOURCE])
    assert [event.participants for event in events.events(two)] == [("it",), ("he",), ("she", "soup")]


def test_a_sentence_an_event_is_best(english: str) -> None:
    outputs = ["He came home. She had cooked a soup.", SOURCE, "He came home.", "", "He. Came. Home. She cooked soup."]
    values = _segments(english, [SOURCE] * len(outputs), outputs)
    np.testing.assert_allclose(values[:, 0], [100, 50, 25, 0, 0])
    np.testing.assert_allclose(values[:, 2], 2)


def test_what_a_pipeline_lacks_is_said(english: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import spacy

    monkeypatch.setattr(spacy, "load", lambda name, exclude: spacy.blank("en"))
    with pytest.raises(BadInput, match=r"'blank'.*DEP, POS, LEMMA.*samsa"):
        events.load_parser("blank")
    monkeypatch.undo()
    with pytest.raises(DataUnavailable, match=r"en_nothing.*samsa"):
        events.load_parser("en_nothing")


@pytest.mark.mirror
def test_on_asset(english: str, mirror: Path) -> None:
    asset = data.load("asset/test")[list(range(120))]
    sources = list(asset.sources)
    copies = _segments(english, sources, sources)
    has_event = ~np.isnan(copies[:, 0])
    assert has_event.mean() > 0.95
    np.testing.assert_allclose(copies[has_event, 1], 100)  # a copy keeps every event
    shuffled = _segments(english, sources, [*sources[1:], sources[0]])
    assert np.nanmean(shuffled[:, 1]) < 25  # another sentence keeps few
    people = _segments(english, sources, [row[0] for row in asset.references])
    assert np.nanmean(shuffled[:, 1]) < np.nanmean(people[:, 1]) < 100
    assert np.nanmean(people[:, 3]) > np.nanmean(copies[:, 3])  # people split
