"""The pages of the field, from standings made by hand: who is best, what is missing, names, and a short navigation."""

from __future__ import annotations

import re
from collections.abc import Mapping

from plainly import data
from plainly.auditing.verdicts import Effect
from plainly.core import registry
from plainly.core.metric import Better
from plainly.core.progress import no_progress
from plainly.core.result import Note
from plainly.metrics.evidence import evidence
from plainly_lab.field_site.findings import Doubts, Field, FieldMetric, FieldSet, MetricAudit, Standing, Standings
from plainly_lab.field_site.pages import render_pages

SETS = ("asset/test", *(name for name in data.names() if data.card(name).kind == "evalset" and name != "asset/test"))
FILE, TITLE = "HULAT-UC3M/run2_llama3-8b_slightly-reinforced-prompt", "HULAT-UC3M, run 2"


def _standings(better: Better, counts: Mapping[str, int]) -> Standings:
    rows = tuple(
        Standing(system=system, rank=rank, cluster=None, best=better != "neither" and rank == 1, tied=False,
                 value=50.0 - rank, n=n, undefined=0, signature="s", seeds=())
        for rank, (system, n) in enumerate(counts.items(), 1)
    )  # fmt: skip
    return Standings(better, "", rows, 1, None, None, 0, None)


def _pages(*, sets: int = 1, counts: Mapping[str, int] | None = None) -> dict[str, str]:
    about = dict.fromkeys(("title", "description", "licence", "homepage", "notes"), "")
    warning = Note(f"{FILE}: two texts are empty.", kind="warning", code="empty-outputs", where=FILE)
    doubts = Doubts(10, (1,), None, (warning,), (), {}, ())
    counts = counts or {"A": 10, FILE: 10}
    standings = {"sari": _standings("higher", counts), "length": _standings("neither", counts)}
    fields = tuple(FieldSet(name, about, doubts, standings) for name in SETS[:sets])
    effect = Effect("sari", "random-period", "worse", 1.0, 0.5, 0.5, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0)
    audit = MetricAudit(SETS[0], ("A",), 10, 1, 0, "s", "sari can be gamed.", (effect,))
    metrics = tuple(
        FieldMetric(name, evidence(registry.metric(name)), of.better, audit if name == "sari" else None, ())
        for name, of in standings.items()
    )
    return dict(render_pages(Field(fields, metrics, (), "2026-01-01 00:00 UTC"), no_progress))


def test_only_a_metric_with_a_better_side_has_a_best_system() -> None:
    pages = _pages()
    rows = re.findall(r"<tr>.*?</tr>", pages["index.html"], re.S)
    by_metric = {re.sub("<.*?>", " ", row).split()[0]: row for row in rows}
    assert "system-A.html" in by_metric["SARI"]
    assert "system-" not in by_metric["length"]
    assert 'id="leads"' in pages["metric-sari.html"]
    assert 'id="leads"' not in pages["metric-length.html"]


def test_systems_that_lack_outputs_are_stated_before_the_scores() -> None:
    page = _pages(counts={"A": 10, FILE: 7, "B": 9})["set-asset-test.html"]
    banner = page[page.index('class="banner"') : page.index('class="headline"')]
    counts = re.findall(r'<a href="system-[^"]+">([^<]+)</a> (\d+) of (\d+)', banner)
    assert counts == [(TITLE, "3", "10"), ("B", "1", "10")]
    assert 'class="banner"' not in _pages()["set-asset-test.html"]


def test_names_are_readable_and_codes_stand_in_small_print() -> None:
    pages = _pages()
    assert "<h1>SARI</h1>" in pages["metric-sari.html"]
    assert "SARI can be gamed." in pages["metric-sari.html"]
    words = re.search(r'<span class="phrase">(.+?) <code>random-period</code>', pages["metric-sari.html"])
    assert words is not None
    assert words[1].count(" ") >= 3
    warning = re.search(r"<li><strong>empty-outputs</strong> (.+?)</li>", pages["set-asset-test.html"])
    assert warning is not None
    assert TITLE in warning[1]
    assert FILE not in warning[1]


def test_the_navigation_has_at_most_eight_entries() -> None:
    for sets in (1, 6, 7, 20):
        navigation = re.search(r"<nav.*?</nav>", _pages(sets=sets)["index.html"], re.S)
        assert navigation is not None
        links = re.findall(r'href="([^"]+)"', navigation[0])
        assert 3 <= len(links) <= 8
        assert ("set-asset-test.html" in links) == (sets <= 6)
