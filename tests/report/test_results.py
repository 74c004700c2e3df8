"""What the report says is what was measured: sentences, marks, front, exports, evidence, figures."""

from __future__ import annotations

import csv
import io
import math
import re
import xml.etree.ElementTree as tree
from pathlib import Path

import numpy as np
import pytest

import plainly
from plainly import data, registry
from plainly.pages import Report, evidence, make_report, paper
from plainly.pages.material import Material
from plainly.pages.tradeoff import Axis, axes, pareto
from plainly.questions.compare import compare
from plainly.scoring.evaluate import evaluate


def _small(metrics: list[str], *, systems: tuple[str, ...] = ("copy", "editor", "noisy"), **options: object) -> Report:
    evalset, outputs = data.demo()
    chosen = {system: outputs[system] for system in systems}
    found = evaluate(evalset, chosen, metrics, intervals=bool(options.pop("intervals", True)))
    return make_report(found, evalset=evalset, outputs=chosen, labeller=None, audit=False, **options)  # type: ignore[arg-type]


def test_standing_is_what_the_test_says(demo: Report) -> None:
    material = demo.material
    compared = compare(_small(["bleu"], systems=material.systems).material.evaluation, material.evalset)
    best = material.ranking("bleu")[0]
    assert material.standing("bleu", best) == "best"
    for system in material.systems:
        if system != best:
            significant = compared.pair("bleu", best, system).significant
            assert material.standing("bleu", system) == ("" if significant else "tied")
    assert {material.standing("edits", system) for system in material.systems} == {""}


def test_nobody_beats_the_front_on_both_and_somebody_beats_the_others(demo: Report) -> None:
    material = demo.material
    chosen = axes(material)
    assert chosen is not None
    simplicity, meaning = chosen
    assert (simplicity.spec, meaning.spec) == ("sari", "bleu")
    for one, other in ((simplicity, meaning), (Axis("fkgl", -1.0), meaning)):
        front = pareto(material, one, other)

        def point(system: str, pair: tuple[Axis, Axis] = (one, other)) -> tuple[float, float]:
            first, second = (axis.sign * material.value(system, axis.spec) for axis in pair)
            return first, second

        for system in material.systems:
            beaten = any(
                point(rival) != point(system) and all(a >= b for a, b in zip(point(rival), point(system), strict=True))
                for rival in material.systems
            )
            assert (system in front) != beaten


def test_the_summary_names_the_best_with_its_numbers(demo: Report) -> None:
    text = " ".join(sentence.text for sentence in demo.summary)
    for spec in ("sari", "bleu", "fkgl"):
        best = demo.material.ranking(spec)[0]
        assert f"By {spec}, {best} scores best: {demo.material.value(best, spec):.2f}" in text
    assert "People split" in text


def test_habits_are_those_of_the_texts(demo: Report) -> None:
    habits = {habit.key: habit for habit in demo.material.habits}
    assert habits["copied"].systems["copy"] == 100
    assert habits["copied"].systems["split"] < 20
    evalset = demo.material.evalset
    flat = [(source, text) for source, row in zip(evalset.sources, evalset.references, strict=True) for text in row]
    ratio = np.mean([len(text) / len(source) for source, text in flat])
    assert habits["compression"].people == pytest.approx(ratio, rel=1e-9)
    low, high = habits["compression"].people_range or (math.nan, math.nan)
    assert low < habits["compression"].people < high  # type: ignore[operator]


def test_alarms_ring_for_who_deserves_it(demo: Report) -> None:
    rung = {(alarm.metric, system) for alarm in demo.material.alarms for system in alarm.systems}
    assert ("bleu", "copy") in rung
    assert ("fkgl", "split") in rung
    assert ("bleu", "editor") not in rung


def test_tricks_fool_fkgl_and_not_bleu(demo: Report) -> None:
    gains = {(gain.metric, gain.trick): gain for gain in demo.material.gains}
    assert gains["fkgl", "random-period"].fooled
    assert gains["fkgl", "random-period"].spreads > 0.2
    assert not gains["bleu", "random-period"].fooled


def test_every_metric_has_evidence_with_papers_and_a_page() -> None:
    for name in registry.METRICS:
        if name == "command":  # a program of the user's own: nothing is known about it
            continue
        known = evidence._known().get(name)
        assert known is not None, f"{name} has no entry in evidence.toml"
        assert known.measures.endswith(".")
        assert known.blind.endswith(".")
        assert known.papers
        assert len(known.blind) < 400, f"{name}: two lines, not a page"
    for paper_key, found in evidence.papers().items():
        assert f"{{{paper_key}," in found.bibtex
        assert found.bibtex.count("{") == found.bibtex.count("}")


def test_methods_have_every_signature_and_bibtex_every_paper(demo: Report) -> None:
    text = paper.methods(demo.material)
    for scores in next(iter(demo.material.evaluation.values())).values():
        assert scores.signature in text
    assert "approximate randomisation" in text
    assert "5,000 trials over groups" in text
    entries = re.findall(r"^@\w+\{([\w-]+),", paper.bibtex(demo.material), re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert {"plainly", "xu-2016", "papineni-2002", "kincaid-1975", "holm-1979", "riezler-2005"} <= set(entries)


def test_tables_hold_the_numbers_in_every_form(demo: Report) -> None:
    latex, markdown = (paper.table(demo.material, form) for form in ("latex", "markdown"))
    assert latex.startswith("\\begin{tabular}{lrrrr}")
    assert "\\toprule" in latex
    assert "\\textbf{61.08} [59.40, 62.63]" in latex
    assert "**61.08** [59.40, 62.63]" in markdown
    records = list(csv.DictReader(io.StringIO(paper.table(demo.material, "csv"))))
    found = {(r["system"], r["metric"], r["output"]): float(r["value"]) for r in records if r["value"]}
    assert found["editor", "sari", "sari"] == demo.material.value("editor", "sari")
    assert not re.search("[\ue000-\ue002]", latex + markdown)


def test_figures_in_every_format(tmp_path: Path) -> None:
    made = _small(["sari", "fkgl"])
    written = {path.name: path.read_bytes() for path in made.write_figures(tmp_path / "new" / "figures")}
    names = {path.rsplit(".", 1)[0] for path in written if path.endswith(".svg")}
    assert {"scores-sari", "scores-fkgl", "habit-split", "length-sari"} <= names
    for name in names:
        assert tree.fromstring(written[f"{name}.svg"]).tag.endswith("svg")
        assert written[f"{name}.pdf"].startswith(b"%PDF")
        assert written[f"{name}.png"].startswith(b"\x89PNG")
    assert {"scores.tex", "scores.md", "scores.csv", "methods.txt", "references.bib"} <= set(written)


def test_charts_follow_the_grammar_of_vega_lite(demo: Report) -> None:
    for plot in demo.plots:
        plot.chart.to_dict()  # validates against the schema; the page itself does not, to save time
        assert plot.caption.endswith(".")


def test_one_system_without_references_or_intervals() -> None:
    evalset, outputs = data.demo()
    bare = plainly.EvalSet.of(evalset.sources)
    scores = plainly.score(evalset=bare, outputs=outputs["editor"], metrics=["fkgl"], intervals=False)
    made = make_report(scores, evalset=bare, outputs=outputs["editor"])
    assert "single system" in made.summary[0].text
    assert "Trade-off" not in made.html
    assert made.material.agreements == ()


def test_undefined_scores_are_dashes_never_zero() -> None:
    evalset = plainly.EvalSet.of(["A source sentence."] * 3)
    found = evaluate(evalset, {"empty": ["", "", ""], "full": ["A text."] * 3}, ["fkgl"])
    made = make_report(found, evalset=evalset, outputs={"empty": ["", "", ""], "full": ["A text."] * 3}, audit=False)
    assert math.isnan(made.material.value("empty", "fkgl"))
    row = re.search(r'data-value="empty".*?</tr>', made.html, re.DOTALL)
    assert row is not None
    assert ">–<" in row[0]
    assert made.material.ranking("fkgl") == ["full", "empty"]


def test_saved_scores_have_no_browser_but_all_the_rest() -> None:
    made = _small(["sari"])
    without = make_report(made.material.evaluation, evalset=made.material.evalset)
    assert isinstance(without.material, Material)
    assert "texts are not part of saved scores" in without.html
    assert 'id="browser"' not in without.html


def test_notebooks_show_tables_and_plots(demo: Report) -> None:
    assert "<table>" in demo._repr_html_()
    assert "<li>" in demo._repr_html_()
    chart = plainly.plot(demo.material.evaluation, "bleu")
    bundle = chart._repr_mimebundle_(None, None)
    assert any("vega" in kind or "html" in kind for kind in (bundle[0] if isinstance(bundle, tuple) else bundle))
