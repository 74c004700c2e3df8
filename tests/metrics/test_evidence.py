"""What is known about metrics is written once, and scores, reports and the list of metrics say the same of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

import plainly
from conftest import ROOT
from plainly import data
from plainly.cli import main
from plainly.core import registry
from plainly.core.errors import UnknownName
from plainly.metrics import evidence
from plainly.metrics.readability import Fkgl
from plainly.scoring.explain import describe

# As it has been printed since the first version.
BLEU = (
    "BLEU is not suitable for ranking simplifications: it penalises splitting and often falls as simplicity rises "
    "(Sulem et al. 2018); a copy of the source scores near the top."
)


def test_every_metric_has_evidence_with_papers_and_a_page() -> None:
    for name in registry.METRICS:
        if name == "command":  # a program of the user's own: nothing is known about it
            continue
        entry = evidence.all_evidence().get(name)
        assert entry is not None, f"{name} has no entry in evidence.toml"
        assert entry.measures.endswith(".")
        assert entry.blind.endswith(".")
        assert entry.papers
        assert len(entry.blind) < 400, f"{name}: two lines, not a page"
        assert (ROOT / "docs" / f"{entry.page}.md").is_file()
    for key, paper in evidence.papers().items():
        assert f"{{{key}," in paper.bibtex
        assert paper.bibtex.count("{") == paper.bibtex.count("}")


@pytest.mark.parametrize("name", sorted(registry.METRICS))
def test_a_methods_section_names_the_models_and_variants_that_were_used(name: str) -> None:
    """For every metric: what it used by name, and no published model for one of ours or of somebody else."""
    cls = registry.metric_class(name)
    fields = {field.name: field.default for field in dataclasses.fields(cls)}
    metric = cls(**({"run": "x"} if name == "command" else {}))
    text, entry = evidence.describe_for_methods(metric, name), evidence.evidence(cls)
    assert text.startswith(name)
    assert {paper.key for paper in (*entry.cite, *entry.after)} <= {paper.key for paper in entry.papers}
    for about in set(entry.papers) - set(entry.cite) - set(entry.after):
        names = [paper.short for paper in (*entry.cite, *entry.after)]
        assert about.short in names or about.short not in text, "a paper about a metric is not the metric's"
    if "variant" in fields:
        assert f"variant {fields['variant']}" in text
    models = [field for field in evidence._MODELS if isinstance(fields.get(field), str)]
    for field in models:
        assert str(fields[field]) in text
        other = evidence.describe_for_methods(cls(**{field: "my-own-weights"}), name)
        assert f"{field} my-own-weights" in other
        assert not fields[field] or str(fields[field]) not in other
        for paper in entry.cite[:1] if fields[field] else ():
            assert f"as in {paper.short}" in other
            assert f"but with another {field}" in other
    ours = [value for value in map(str, fields.values()) if value.startswith("plainly-")]
    assert ("made for plainly" in text) == bool(ours)
    if ours:
        assert not entry.cite, "a model of our own has no publication"
        assert ("not as published there" in text) == bool(entry.after)


def test_metrics_that_cut_texts_off_say_so() -> None:
    """A metric with a longest text states it in the unit; the others take texts of any length, whole or in pieces."""
    for name in registry.METRICS:
        cls = registry.metric_class(name)
        has_limit = any(field.name == "longest" for field in dataclasses.fields(cls))
        unit = evidence.evidence(cls).unit
        assert unit.startswith("a ")
        assert not has_limit or name == "cefr-published" or "cut off" in unit, name


def test_advice_is_the_same_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert evidence.evidence(registry.metric("bleu(lowercase=true)")).advice == BLEU
    assert main(["score", "--demo", "-m", "sari,bleu", "editor"]) == 0
    assert f"bleu: {BLEU}" in capsys.readouterr().err.splitlines()
    assert main(["metrics", "bleu"]) == 0
    assert BLEU in " ".join(capsys.readouterr().out.split())


@dataclass(frozen=True, repr=False)
class Own(Fkgl):
    """Ours, and not published.

    More about it.
    """

    evidence = "It sees nothing."


def test_a_metric_of_ones_own_may_say_what_is_known_of_it() -> None:
    evalset, outputs = data.demo()
    entry = evidence.evidence(Own())
    assert entry == evidence.evidence(Own)
    assert entry.measures == "Ours, and not published."
    assert entry.blind == entry.advice == "It sees nothing."
    result = plainly.score(evalset=evalset, outputs={"editor": outputs["editor"]}, metrics=[Own()])
    assert any(note.message.endswith(": It sees nothing.") for note in result.notes())


def test_agreement_with_people_is_shown_by_kind_of_output() -> None:
    rows = evidence.all_evidence()["quality"].agreement
    assert {row.kind for row in rows} == set(evidence.KINDS)
    assert all(row.low <= row.pearson <= row.high and row.n > 50 for row in rows)
    (facts,) = describe("quality", kind="people").json()["metrics"]
    assert {row["kind"] for row in facts["agreement"]} == {"people"}
    assert describe("sari").json()["metrics"][0]["agreement"] == []
    with pytest.raises(UnknownName, match="robots"):
        describe("quality", kind="robots")
