"""What the report says is what was measured: sentences, marks, front, exports, evidence, figures."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
import xml.etree.ElementTree as tree
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plainly
import toy_judge
from plainly import data
from plainly.auditing.attacks import ATTACKS
from plainly.auditing.verdicts import Effect
from plainly.cli import main
from plainly.core.errors import BadInput, UnknownName
from plainly.metrics.evidence import KINDS
from plainly.reporting import paper
from plainly.reporting.figures import Strips
from plainly.reporting.overview import Axis, axes, front
from plainly.reporting.plots import draw_gains
from plainly.reporting.report import Report, plot
from plainly.scoring.evaluate import Evaluation, evaluate
from plainly.scoring.score_file import open_saved, save
from plainly.scoring.scores import BinnedEvaluation
from plainly.streaming.corpus import open_corpus

SVG = "{http://www.w3.org/2000/svg}"


def _demo(*systems: str) -> dict[str, tuple[str, ...]]:
    outputs = data.demo()[1]
    return {system: outputs[system] for system in systems or ("copy", "editor", "noisy")}


def _small(metrics: list[str], *systems: str) -> Report:
    evalset, _ = data.demo()
    return plainly.report(evalset=evalset, outputs=_demo(*systems), metrics=metrics, labeller=None, audit=False)


def test_standing_is_what_the_test_says(demo: Report) -> None:
    overview = demo.overview
    # The report claims what compare claims of these systems: the same test, the same draws, the same family.
    comparisons = plainly.compare(evalset=overview.evalset, outputs=overview.outputs, metrics=["bleu"])
    assert overview.comparisons is not None
    assert overview.comparisons.ties("bleu") == comparisons.ties("bleu")
    assert overview.comparisons.clusters("bleu") == comparisons.clusters("bleu")
    assert overview.comparisons.matrix("bleu") == comparisons.matrix("bleu")
    best = comparisons.ranking("bleu")[0]
    assert overview.standing("bleu", best) == "best"
    for system in overview.systems:
        if system != best:
            significant = comparisons.pair("bleu", best, system).significant
            assert overview.standing("bleu", system) == ("" if significant else "tied")
    assert {overview.standing("edits", system) for system in overview.systems} == {""}


def test_no_system_beats_the_front_on_both_and_some_system_beats_each_of_the_others(demo: Report) -> None:
    overview = demo.overview
    pair = axes(overview)
    assert pair is not None
    assert (pair.simplicity.spec, pair.meaning.spec) == ("sari", "bleu")
    inverted = replace(pair, simplicity=Axis("fkgl", "fkgl", "FKGL", is_inverted=True))
    for both, sign in ((pair, 1), (inverted, -1)):
        unbeaten = front(overview, both)

        def point(system: str, spec: str = both.simplicity.spec, sign: int = sign) -> tuple[float, float]:
            return sign * overview.value(system, spec), overview.value(system, "bleu")

        for system in overview.systems:
            beaten = any(
                point(rival) != point(system) and all(a >= b for a, b in zip(point(rival), point(system), strict=True))
                for rival in overview.systems
            )
            assert (system in unbeaten) != beaten


def test_the_trade_off_prefers_metrics_that_measure_meaning_and_says_why_it_does_not() -> None:
    without = axes(_small(["fkgl", "bleu"]).overview)
    assert without is not None
    assert "BLEU" in without.reason
    assert "no better metric" in without.reason
    names = {
        tuple(metrics): axes(_small(metrics).overview)
        for metrics in (["sari", "bleu", "quality"], ["sari", "meaning"], ["sari", "sle", "meaning", "bleu"])
    }
    outputs = {key: (pair.simplicity.output, pair.meaning.output) for key, pair in names.items() if pair is not None}
    assert outputs[("sari", "bleu", "quality")] == ("simplicity", "meaning")
    assert outputs[("sari", "meaning")] == ("sari", "meaning")
    assert outputs[("sari", "sle", "meaning", "bleu")] == ("delta", "meaning")
    report = _small(["sari", "bleu", "quality"])
    (panel,) = [panel for panel in report.plots if panel.section == "tradeoff"]
    assert {"meaning →", "simplicity →"} <= set(_texts(panel.figure.svg, "unit"))
    parts = {s: report.overview.evaluation[s]["quality"].corpus["meaning"] for s in report.overview.systems}
    ((point,),) = [[each.points[0][0]] for each in panel.form.series if each.name == "editor"]  # type: ignore[union-attr]
    assert point == parts["editor"]


def test_metrics_have_the_names_of_the_literature_on_the_page_and_specs_in_json(demo: Report) -> None:
    page = re.sub(
        r'<script type="application/json".*?</script>|<pre.*?</pre>|<code>.*?</code>', "", demo.html, flags=re.S
    )
    prose = re.sub("<style>.*?</style>|<script>.*?</script>|<[^>]*>", " ", page, flags=re.S)
    assert not re.search(r"\b(sari|bleu|fkgl)\b", prose)
    assert {"SARI", "BLEU", "FKGL"} <= set(re.findall(r"\w+", prose))
    assert {record["metric"] for record in demo.records()} == {"sari", "bleu", "fkgl", "edits"}


def test_the_summary_says_few_things_once(demo: Report) -> None:
    texts = [sentence.text for sentence in demo.summary]
    assert len(texts) == len(set(texts)) <= 6
    best = demo.overview.evaluation.ranking("sari")[0]
    assert texts[0].startswith(f"By SARI, {best} scores best: {demo.overview.value(best, 'sari'):.2f}")
    assert "By BLEU" not in " ".join(texts[1:]), "the picture has a title for each metric"
    for sentence in demo.summary:
        assert not sentence.section or f'id="{sentence.section}"' in demo.html


def test_copied_references_are_no_win_and_faults_are_counted_by_system() -> None:
    evalset, outputs = data.demo()
    refused = "I'm sorry, but I can't help with that."
    texts = {
        "editor": list(outputs["editor"]),
        "copied": [row[0] if k % 2 == 0 else outputs["noisy"][k] for k, row in enumerate(evalset.references)],
        "chat": [
            refused if k < 5 else "" if k < 8 else f"Sure! Here is a simpler version: {text}" if k < 12 else text
            for k, text in enumerate(outputs["noisy"])
        ],
    }
    report = plainly.report(evalset=evalset, outputs=texts, metrics=["bleu", "fkgl"], labeller=None, audit=False)
    overview = report.overview
    counts = {doubt.key: {name: len(items) for name, items in doubt.items.items()} for doubt in overview.doubts}
    rows = zip(texts["copied"], evalset.references, evalset.sources, strict=True)
    same = sum(text in row and text != source for text, row, source in rows)
    in_chat = {"wrapped": 4, "refused": 5, "empty": 3}
    assert counts == {"reference": {"copied": same}} | {key: {"chat": count} for key, count in in_chat.items()}
    assert overview.evaluation.ranking("bleu").index("copied") < 2
    assert overview.standing("bleu", "copied") == "copied"
    assert overview.standing("fkgl", "copied") != "copied", "FKGL does not look at references"
    assert overview.ranking("bleu") == [s for s in overview.evaluation.ranking("bleu") if s != "copied"]
    assert "without copied, which copies references" in report.summary[0].text
    assert all("copied beats" not in sentence.text for sentence in report.summary)
    pair = axes(overview)
    assert pair is not None
    assert "copied" not in front(overview, pair)


def test_copied_references_neither_end_a_cluster_nor_stretch_what_tricks_gain() -> None:
    evalset, outputs = data.demo()
    sound = {name: outputs[name] for name in ("editor", "noisy", "truncate")}
    copied = {"copied": [row[0] for row in evalset.references]}
    reports = [
        plainly.report(evalset=evalset, outputs=texts, metrics=["sari"], labeller=None)
        for texts in (sound, sound | copied)
    ]
    alone, beside = (report.overview.tricks for report in reports)
    assert beside.systems == alone.systems
    gains = [[effect.spreads for effect in tricks.gains] for tricks in (alone, beside)]
    assert gains[1] == pytest.approx(gains[0])
    (panel,) = [panel for panel in reports[1].plots if panel.section == "scores"]
    assert isinstance(panel.form, Strips)
    assert [row.name for row in panel.form.rows][-1] == "copied"
    assert 3 not in panel.form.ends, "no line says that the systems above beat the one that copies"
    assert 1 in panel.form.ends


def test_a_remark_about_outputs_has_its_numbers_beside_it() -> None:
    evalset, outputs = data.demo()
    texts = {"editor": outputs["editor"], "cut": outputs["truncate"], "same": ["The same text for all."] * 72}
    report = plainly.report(evalset=evalset, outputs=texts, metrics=["fkgl"], labeller=None, audit=False)
    remarks = {remark.key: remark for remark in report.overview.remarks}
    assert {"truncated", "same-output"} <= set(remarks)
    for remark in remarks.values():
        assert re.search(r"\d", remark.title) is None
        assert not any(identifier in remark.title for identifier in evalset.ids)


def test_habits_are_those_of_the_texts(demo: Report) -> None:
    habits = {habit.key: habit for habit in demo.overview.habits}
    assert habits["copied"].systems["copy"] == 100
    assert habits["copied"].systems["split"] < 20
    evalset = demo.overview.evalset
    flat = [(source, text) for source, row in zip(evalset.sources, evalset.references, strict=True) for text in row]
    ratio = np.mean([len(text) / len(source) for source, text in flat])
    assert habits["compression"].people == pytest.approx(ratio, rel=1e-9)
    low, high = habits["compression"].people_range or (math.nan, math.nan)
    assert low < habits["compression"].people < high  # type: ignore[operator]


def test_alarms_ring_for_who_deserves_it(demo: Report) -> None:
    rung = {(alarm.metric, system) for alarm in demo.overview.alarms for system in alarm.systems}
    assert ("bleu", "copy") in rung
    assert ("fkgl", "split") in rung
    assert ("bleu", "editor") not in rung


def test_tricks_fool_fkgl_and_not_bleu(demo: Report) -> None:
    gains = {(gain.metric, gain.attack): gain for gain in demo.overview.tricks.gains}
    assert gains["fkgl", "random-period"].fooled
    assert gains["fkgl", "random-period"].spreads > 0.2
    assert not gains["bleu", "random-period"].fooled


def test_methods_have_every_signature_and_bibtex_every_paper(demo: Report) -> None:
    text = paper.methods(demo.overview)
    for scores in next(iter(demo.overview.evaluation.values())).values():
        assert str(scores.signature) in text
    assert "approximate randomisation" in text
    assert "10,000 trials over groups" in text
    assert "sari (variant easse; Xu et al. 2016)" in text
    assert "fkgl (variant plainly; Kincaid et al. 1975)" in text
    entries = re.findall(r"^@\w+\{([\w-]+),", paper.bibtex(demo.overview), re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert {"plainly", "xu-2016", "papineni-2002", "kincaid-1975", "holm-1979", "riezler-2005"} <= set(entries)


def test_tables_hold_the_numbers_in_every_form(demo: Report) -> None:
    latex, markdown = (paper.table(demo.overview, form) for form in ("latex", "markdown"))
    assert latex.startswith("\\begin{tabular}{lrrrr}")
    assert "\\toprule" in latex
    assert "\\textbf{61.08} [59.06, 62.94]" in latex
    assert "**61.08** [59.06, 62.94]" in markdown
    records = list(csv.DictReader(io.StringIO(paper.table(demo.overview, "csv"))))
    values = {record["system"]: float(record["sari"]) for record in records}
    assert values == {system: demo.overview.value(system, "sari") for system in demo.overview.systems}
    assert not re.search("[\ue000-\ue002]", latex + markdown)


def test_figures_in_every_format(tmp_path: Path) -> None:
    report = _small(["sari", "fkgl"])
    files = {path.name: path.read_bytes() for path in report.write_figures(tmp_path / "new" / "figures")}
    names = {path.rsplit(".", 1)[0] for path in files if path.endswith(".svg")}
    assert {"scores-sari", "scores-fkgl", "habit-split", "length-sari"} <= names
    for name in names:
        assert tree.fromstring(files[f"{name}.svg"]).tag.endswith("svg")
        assert files[f"{name}.pdf"].startswith(b"%PDF")
        assert files[f"{name}.png"].startswith(b"\x89PNG")
    assert {"scores.tex", "scores.md", "scores.csv", "methods.txt", "references.bib"} <= set(files)


def _texts(svg: str, kind: str) -> list[str]:
    return [element.text or "" for element in tree.fromstring(svg).iter(f"{SVG}text") if element.get("class") == kind]


def test_a_figure_draws_the_right_systems_values_and_order(demo: Report) -> None:
    overview = demo.overview
    panels = {panel.name: panel for panel in demo.plots}
    assert all(panel.caption.endswith(".") for panel in demo.plots)
    ranking = overview.evaluation.ranking("fkgl")
    svg = panels["scores-fkgl"].figure.svg
    assert _texts(svg, "who") == ranking
    assert _texts(svg, "num") == [f"{overview.value(system, 'fkgl'):.2f}" for system in ranking]
    # Where a mark stands between the ticks is its value.
    root = tree.fromstring(svg)
    ticks = [
        (float(t.get("x", "")[:-1]), float(t.text or "")) for t in root.iter(f"{SVG}text") if t.get("class") == "tick"
    ]
    (x0, low), (x1, high) = ticks[0], ticks[-1]
    for row, system in zip(_rows(root), ranking, strict=True):
        (mark,) = row.findall(f"{SVG}svg")
        at = float(mark.get("x", "")[:-1])
        assert low + (high - low) * (at - x0) / (x1 - x0) == pytest.approx(overview.value(system, "fkgl"), abs=0.01)
    assert set(_texts(panels["tradeoff"].figure.svg, "name")) == set(overview.systems)
    operations = overview.operations
    assert operations is not None
    shares = _texts(panels["operations"].figure.svg, "num")
    assert len(shares) == (len(overview.systems) + 1) * min(14, len(operations.labels))


def _rows(root: tree.Element) -> list[tree.Element]:
    kinds = ("strip ", "point ", "entry ")
    return [group for group in root.iter(f"{SVG}g") if (group.get("class") or "").startswith(kinds)]


def test_a_system_has_one_colour_in_the_whole_report(demo: Report) -> None:
    colours: dict[str, set[str]] = {}
    for panel in demo.plots:
        if panel.section in ("scores", "tradeoff", "spread", "length", "habits"):
            for row in _rows(tree.fromstring(panel.figure.svg)):
                name = (row.findtext(f"{SVG}title") or "").partition("\n")[0]
                colours.setdefault(name, set()).add((row.get("class") or "").split()[1])
    assert colours == {system: {f"c{place}"} for place, system in enumerate(demo.overview.systems)}


def test_the_page_and_a_file_hold_the_same_drawing(demo: Report) -> None:
    for panel in demo.plots:
        # The width of a file decides which numbers of an axis are shown, where names stand, and columns of a legend.
        assert panel.form.draw().body in demo.html
        assert panel.form.draw(panel.form.file_width).body in panel.figure.svg


def test_one_system_without_references_or_intervals() -> None:
    evalset, outputs = data.demo()
    scores = plainly.score(sources=evalset.sources, outputs=outputs["editor"], metrics=["fkgl"], intervals=False)
    report = plainly.report(scores)
    text = " ".join(sentence.text for sentence in report.summary)
    assert "single system" in text
    assert 'id="tradeoff"' not in report.html
    assert report.overview.correlations == ()


def test_the_page_of_one_system_states_its_score_once_and_has_a_title_in_words(tmp_path: Path) -> None:
    evalset, outputs = data.demo()
    (tmp_path / "src.txt").write_text("".join(f"{text}\n" for text in evalset.sources), encoding="utf-8")
    (tmp_path / "mine.txt").write_text("".join(f"{text}\n" for text in outputs["editor"]), encoding="utf-8")
    page = tmp_path / "page.html"
    files = ["--source", str(tmp_path / "src.txt"), str(tmp_path / "mine.txt")]
    assert main(["report", *files, "-m", "fkgl", "-o", str(page), "--no-audit"]) == 0
    text = page.read_text(encoding="utf-8")
    heading = re.search("<h1>(.+?)</h1>", text)
    assert heading is not None
    assert heading[1] != "src.txt"
    assert "src.txt" in heading[1]
    caption = re.search('<strong class="verdict">(.+?)</strong>', text)
    sentences = re.search('<ul class="sentences">(.+?)</ul>', text)
    assert caption is not None
    assert sentences is not None
    assert re.search(r"\d+\.\d+ \[", caption[1])
    assert re.search(r"\d+\.\d+ \[", sentences[1]) is None
    assert "Median" in text
    assert "Medians" not in text
    assert re.search(r"From (\S+) to \1\.", text) is None
    assert "with people?" not in text, "there are no references to compare with"
    assert "means the references" not in text


def test_warnings_about_metrics_use_their_names_on_the_page() -> None:
    evalset, outputs = data.demo()
    texts = ["", *outputs["editor"][1:]]
    report = plainly.report(evalset=evalset, outputs={"A": texts, "B": outputs["noisy"]}, metrics=["fkgl"],
                            labeller=None, audit=False)  # fmt: skip
    assert any("fkgl" in note.message for note in report.overview.notices)
    alarms = re.search('<ul class="alarms">(.+?)</ul>', report.html, re.S)
    assert alarms is not None
    assert "FKGL" in alarms[1]
    assert "fkgl" not in alarms[1]


def test_the_whole_name_of_every_attack_stands_beside_its_mark() -> None:
    for name, attack in ATTACKS.items():
        effect = Effect("sari", name, "worse", 1.0, 0.5, 0.5, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0)
        drawing = draw_gains([effect]).draw(460)
        words = re.findall('<text[^>]*class="who"[^>]*>(.*?)</text>', drawing.body, re.S)
        text = " ".join(html.unescape(re.sub("<.*?>", "", " ".join(words))).split())
        assert text.casefold() == f"{attack.what} {name}".casefold()


def test_undefined_scores_are_dashes_never_zero() -> None:
    evalset = plainly.EvalSet.of(["A source sentence."] * 3)
    outputs = {"empty": ["", "", ""], "full": ["A text."] * 3}
    report = plainly.report(evalset=evalset, outputs=outputs, metrics=["fkgl"], audit=False)
    assert math.isnan(report.overview.value("empty", "fkgl"))
    row = re.search(r'data-value="empty".*?</tr>', report.html, re.DOTALL)
    assert row is not None
    assert ">–<" in row[0]
    assert report.overview.evaluation.ranking("fkgl") == ["full", "empty"]
    assert report.summary[0].text.endswith("It is undefined for empty.")  # and no system is said to be beaten


def test_equals_are_not_said_to_be_beaten() -> None:
    evalset, outputs = data.demo()
    twins = {"one": outputs["editor"], "two": outputs["editor"], "copy": outputs["copy"]}
    report = plainly.report(evalset=evalset, outputs=twins, metrics=["sari"], labeller=None, audit=False)
    assert report.summary[0].text.endswith("two cannot be told from it.")


def test_saved_scores_have_no_browser_but_all_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")  # the pages show when they were written
    evalset, _ = data.demo()
    outputs = _demo()
    save(str(tmp_path / "scores.npz"), evaluate(evalset, outputs, ["sari"]))
    saved_scores = open_saved(str(tmp_path / "scores.npz"))
    report = plainly.report(saved_scores)
    assert 'id="browser"' not in report.html
    # With the texts it is what it was.
    whole = plainly.report(saved_scores, evalset=evalset, outputs=outputs, labeller=None, audit=False)
    assert whole.html.replace(whole.title, "") == _small(["sari"]).html.replace(whole.title, "")
    with pytest.raises(BadInput):
        plainly.report(saved_scores, sources=["Another."] * 72, outputs=outputs)
    with pytest.raises(BadInput, match="'copy'"):
        plainly.report(saved_scores, evalset=evalset, outputs=_demo("editor"))


def test_a_report_is_a_result(demo: Report, tmp_path: Path) -> None:
    assert demo.records() == demo.overview.evaluation.records()
    assert demo.json()["schema"] == "plainly.report/1"
    assert demo.json()["summary"] == [sentence.text for sentence in demo.summary]
    assert demo.json()["left_out"] == []
    assert {warning["code"] for warning in demo.json()["warnings"]} == {"broken", "truncated", "copies"}
    assert [note.message for note in demo.notes() if note.kind == "claim"] == demo.json()["summary"]
    assert repr(demo).startswith("system ")
    assert demo.summary[-1].text in repr(demo)
    report = plainly.report(demo.overview.evaluation, labeller=None, audit=False, out=tmp_path / "page.html")
    assert report.json()["page"] == str(tmp_path / "page.html")
    assert any(note.message.startswith(f"Wrote {tmp_path / 'page.html'}") for note in report.notes())


def test_what_cannot_be_made_is_left_out_with_its_reason() -> None:
    evalset, _ = data.demo()
    report = plainly.report(evalset=evalset, outputs=_demo(), metrics=["sari"], labeller="nobody", audit=False)
    assert report.overview.operations is None
    assert report.json()["left_out"] == [str(report.overview.left_out[0])]
    assert "'nobody'" in report.overview.left_out[0]
    assert html.escape(report.overview.left_out[0], quote=True).replace("&#x27;", "&#39;") in report.html
    assert any(report.overview.left_out[0] in note.message for note in report.notes())


def test_the_agreement_of_learned_scores_with_people_is_shown_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    sources, outputs = ["The committee deferred its determination."], {"A": ["They decided to wait."]}
    texts: dict[str, Any] = {"sources": sources, "outputs": outputs, "labeller": None, "audit": False}
    every = plainly.report(**texts, metrics=["quality", "fluency", "fkgl"])
    assert main(["metrics", "quality"]) == 0
    described = capsys.readouterr().out
    for row in every.agreement:
        cells = [row.part, row.set, f"{row.n:,}", f"{row.low:.2f} to {row.high:.2f}".replace("-", "−")]
        assert all(cell in described and f">{cell}</td>" in every.html for cell in cells), row
    assert {row.kind for row in every.agreement} == set(KINDS)
    weakest = min(every.agreement, key=lambda row: row.pearson)
    (remark,) = [note.message for note in every.notes() if "weakest" in note.message]
    assert f"{weakest.part} on outputs of {weakest.writers} ({weakest.set})" in remark
    assert remark in described
    assert remark in every.html
    models = plainly.report(**texts, metrics=["quality"], kind="language-models")
    assert {row["kind"] for row in models.json()["agreement"]} == {"language-models"}
    assert "statistical systems" not in models.html
    parts = plainly.report(**texts, metrics=["meaning"])
    assert {row.part for row in parts.agreement} == {"meaning"}
    assert plainly.report(**texts, metrics=["fkgl", "meaning(variant=tokens)"]).agreement == ()
    with pytest.raises(UnknownName, match="robots"):
        plainly.report(**texts, metrics=["quality"], kind="robots")


def test_a_model_of_ones_own_has_no_agreement_of_the_shipped_one(tmp_path: Path) -> None:
    spec = f"quality(model={toy_judge.write(tmp_path / 'toy')})"
    report = plainly.report(sources=["A b."], outputs={"A": ["B."]}, metrics=[spec], labeller=None, audit=False)
    assert report.agreement == ()
    assert 'id="agreement"' not in report.html


def test_items_show_the_reasons_for_their_quality() -> None:
    source, output = "In March 2021 Mary Brown opened the new library.", "In March 2021 John Smith opened the library."
    report = plainly.report(sources=[source], outputs={"A": [output]}, metrics=["quality"], labeller=None, audit=False)
    reasons = plainly.check(output, source=source).reasons
    assert "one name changed" in reasons[2].facts
    assert json.dumps("; ".join(reason.text for reason in reasons), ensure_ascii=False) in report.html


def test_a_corpus_too_large_to_hold_has_a_report_without_its_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evalset, outputs = data.demo()
    rows = [
        {"source": source, "output_A": a, "output_B": b}
        for source, a, b in zip(evalset.sources, outputs["editor"], outputs["copy"], strict=True)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    monkeypatch.setattr("plainly.scoring.corpus_evaluation.HELD", 1)
    corpus = open_corpus([str(tmp_path / "pairs.jsonl")])
    report = plainly.report(corpus, metrics=["fkgl"], processes=1, sampling=plainly.Sampling(resamples=100))
    assert isinstance(report.overview.evaluation, BinnedEvaluation)
    assert report.summary[0].text.endswith("It beats B.")
    assert "72 items" in report.json()["left_out"][0]
    assert 'id="browser"' not in report.html


def test_notebooks_show_tables_and_plots(demo: Report, tmp_path: Path) -> None:
    assert "<table>" in demo._repr_html_()
    assert f"<p>{demo.summary[0].text}</p>" in demo._repr_html_()
    evaluation: Evaluation = demo.overview.evaluation
    figure = plot(evaluation, "bleu")
    assert _texts(figure._repr_svg_(), "who") == evaluation.ranking("bleu")
    for form, start in (("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("html", b"<!doctype html>")):
        assert figure.save(tmp_path / f"bleu.{form}").read_bytes().startswith(start)
    with pytest.raises(BadInput, match=r"\.svg, \.pdf, \.png, \.html"):
        figure.save(tmp_path / "bleu.json")
