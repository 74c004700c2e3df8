"""The gate: rules that hold, fail or cannot be told; outputs that may not be shown; files that other programs read."""

from __future__ import annotations

import datetime
import io
import json
import threading
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plainly
from plainly import data
from plainly.checks import formats
from plainly.checks.decisions import decide_margin, wilson_interval
from plainly.checks.gate import PRESETS, gate
from plainly.checks.rules import Limit, Margin, Rules, convert_rules, load_preset, resolve_rules
from plainly.cli import main
from plainly.core.errors import PlainlyError
from plainly.core.evalset import EvalSet
from plainly.core.sampling import Sampling
from plainly.scoring.scores import Evaluation, Scores, Signature

DAY = datetime.date(2026, 1, 1)
SOURCE = "The municipal authority resolved to discontinue the nocturnal bus service."
GOOD = "The town will stop the night bus."


def _demo(*systems: str) -> dict[str, Any]:
    evalset, outputs = data.demo()
    return {"evalset": evalset, "outputs": {name: outputs[name] for name in systems}}


@pytest.mark.parametrize(
    ("text", "spec", "output", "value", "percent"),
    [
        ("sari >= 38", "sari", "sari", 38, False),
        ("sari(variant=hf).keep>=38.5", "sari(variant=hf)", "keep", 38.5, False),
        ("compression.words <= 120%", "compression", "words", 120, True),
        ("fkgl < 8", "fkgl", "fkgl", 8, False),
    ],
)
def test_a_rule_is_a_line_of_text(text: str, spec: str, output: str, value: float, percent: bool) -> None:
    limit = Limit.parse(text)
    assert (limit.spec, limit.output, limit.value, limit.percent) == (spec, output, value, percent)


@pytest.mark.parametrize(
    "text", ["sari", "sari = 3", "sarri >= 3", "sari.kep >= 3", "sari >= x", "sari >= nan", ">= 3", "", "sari >= 3 4"]
)
def test_a_bad_rule_is_a_sentence(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PlainlyError):
        Limit.parse(text)
    assert main(["gate", "--demo", "editor", "--require", text]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("text", ["b.txt:sari", "b.txt:sari:x", "b.txt:sari:-1", "b.txt:edits:1", "b.txt:sari.keep:1"])
def test_a_bad_margin_is_a_sentence(text: str) -> None:
    with pytest.raises(PlainlyError):
        Margin.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "[corpus]\nrequire = 3",
        "[corpus]\nrequier = ['sari >= 3']",
        "items = 3",
        "[items]\nforbid = ['refusla']",
        "[items]\nallow = '120%'",
        "[items]\nallow = 'few'",
        "preset = 'plian'",
        "[[waive]]\nrule = 'refusal'\nuntil = 2030-01-01",
        "[[waive]]\nrule = 'refusal'\nreason = 'x'\nuntil = '2030-01-01'",
        "not toml",
    ],
)
def test_a_bad_rules_file_is_a_sentence_that_names_the_place(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlainlyError, match=r"rules|preset"):
        resolve_rules(path, None)
    assert main(["gate", "--demo", "editor", "--rules", str(path)]) == 2


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_read_and_a_person_passes_it(name: str) -> None:
    assert not load_preset(name).is_empty
    baseline = {} if name != "never-worse" else {"not_worse_than": ["copy:sari:1"]}
    assert gate(**_demo("editor", *(["copy"] if baseline else [])), preset=name, **baseline).passed


@pytest.mark.long
def test_init_writes_a_file_that_the_gate_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in PRESETS:
        assert main(["gate", "init", "--preset", name]) == 0
        text = capsys.readouterr().out
        assert "#" in text
        (tmp_path / "rules.toml").write_text(text, encoding="utf-8")
        status = main(["gate", "--demo", "truncate", "--rules", str(tmp_path / "rules.toml")])
        assert status == (2 if name == "never-worse" else 1), "without a baseline no output can be worse"
        capsys.readouterr()


def test_rules_for_the_corpus_are_decided_by_the_interval() -> None:
    outcome = gate(**_demo("editor"), require=["sari >= 40", "sari >= 61", "sari >= 90"])
    assert [verdict.outcome for verdict in outcome.verdicts] == ["holds", "cannot tell", "fails"]
    undecided = outcome.verdicts[1]
    assert undecided.low < 61 < undecided.high
    assert undecided.needs is not None
    assert undecided.needs > undecided.n
    assert not gate(**_demo("editor"), require=["sari >= 61"]).passed
    assert gate(**_demo("editor"), require=["sari >= 61"], undecided="pass").passed


@pytest.mark.long
def test_as_many_items_as_are_needed_decide_four_times_in_five() -> None:
    rule = "edits.kept >= 0.72"
    evalset, outputs = data.demo()
    texts = {"sources": evalset.sources, "outputs": {"A": outputs["noisy"]}}
    undecided = gate(**texts, require=[rule]).verdicts[0]
    assert undecided.outcome == "cannot tell"
    assert undecided.needs is not None
    rng = np.random.default_rng(0)
    settled = 0
    for _ in range(40):
        items = rng.integers(len(evalset), size=undecided.needs)
        again = {"sources": [evalset.sources[i] for i in items], "outputs": [outputs["noisy"][i] for i in items]}
        settled += gate(**again, require=[rule], sampling=Sampling(resamples=200)).verdicts[0].outcome != "cannot tell"
    assert 24 <= settled <= 39


def test_a_share_of_nothing_has_an_interval_too() -> None:
    """0 of 20 does not prove that there are fewer than 1 %: the bootstrap alone would say so."""
    sources = [f"{SOURCE} {number}" for number in range(20)]
    outputs = [f"{GOOD} {number}" for number in range(20)]
    (verdict,) = gate(sources=sources, outputs={"A": outputs}, require=["edits.copies <= 1%"]).verdicts
    assert verdict.outcome == "cannot tell"
    assert verdict.high == pytest.approx(wilson_interval(0, 20, level=0.95)[1])
    assert wilson_interval(0, 20, level=0.95) == (0.0, pytest.approx(0.1611, abs=1e-4))
    assert wilson_interval(8, 20, level=0.95) == pytest.approx((0.2188, 0.6134), abs=1e-4)  # statsmodels


def test_not_worse_than_a_baseline_needs_proof() -> None:
    systems = _demo("editor", "noisy")
    outcome = gate(**systems, not_worse_than=["noisy:sari:1"])
    assert [(verdict.system, verdict.outcome) for verdict in outcome.verdicts] == [("editor", "holds")]
    assert gate(**systems, not_worse_than=["editor:sari:1"]).verdicts[0].outcome == "fails"
    lower = gate(**systems, not_worse_than=["noisy:fkgl:0.1"]).verdicts[0]
    assert lower.outcome != "holds" or lower.value <= 0.1, "of FKGL, less is better"
    with pytest.raises(PlainlyError, match="baseline"):
        gate(**systems, not_worse_than=["nobody:sari:1"])
    with pytest.raises(PlainlyError, match="baseline"):
        gate(**_demo("editor"), not_worse_than=["editor:sari:1"])


def test_non_inferiority_errs_as_often_as_it_says() -> None:
    """A system that is worse by exactly the margin passes in 5 % of all experiments; bench/gate.py has more of it."""
    rng = np.random.default_rng(1)
    passed, runs, n = 0, 1000, 60
    registered = plainly.metric("levenshtein")
    for _ in range(runs):
        base, worse = rng.exponential(size=n), rng.exponential(size=n) - 0.5
        evaluation = _evaluation(registered, {"base": base, "worse": worse})
        verdict = decide_margin(Margin("", "base", "levenshtein", 0.5), "worse", "base", evaluation, Sampling())
        passed += verdict.outcome == "holds"
    assert 0.03 <= passed / runs <= 0.07


class _Mean:
    """A metric whose rows are given: their mean."""

    name, needs, better, outputs = "mean", frozenset[str](), "higher", ("mean",)

    def score(self, totals: Any) -> Any:
        return totals[..., :1] / totals[..., 1:]


def _evaluation(metric: Any, values: dict[str, Any]) -> Evaluation:
    n = len(next(iter(values.values())))
    rows = {name: np.column_stack([numbers, np.ones(n)]) for name, numbers in values.items()}
    empty = EvalSet.of(items=n)
    systems = {
        name: {"levenshtein": Scores.of_items(_Mean(), name, table, Signature.of(metric, data="", references=None))}  # type: ignore[arg-type]
        for name, table in rows.items()
    }
    return Evaluation(empty, systems)


def test_items_are_flagged_with_the_words() -> None:
    outputs = [GOOD, f"Sure! Here is a simpler version: {GOOD}", "", "I'm sorry, but I can't help with that.", GOOD]
    sources = [SOURCE.replace("bus", word) for word in ("bus", "tram", "train", "ferry", "metro")]
    outcome = gate(sources=sources, outputs=outputs, preset="quick", today=DAY)
    assert [(finding.item, finding.rule) for finding in outcome.findings] == [
        ("2", "preamble"),
        ("3", "empty"),
        ("4", "refusal"),
    ]
    assert outcome.findings[0].words == "Sure! Here is a simpler version:"
    assert not outcome.passed
    assert [place for _, place, _ in outcome.worst] == [2, 3, 1], "what may never be comes first"


def test_allowed_slips_do_not_stop_a_run_and_never_means_never() -> None:
    sources = [f"{SOURCE} {number}" for number in range(100)]
    outputs = [f"{GOOD[:-1]} {number}." for number in range(100)]
    rules = Rules(forbid=("markdown", "refusal"), never=("refusal",), allow=0.02)
    for marked, passes in ((2, True), (3, False)):
        texts = [f"**{text}**" if place < marked else text for place, text in enumerate(outputs)]
        assert gate(sources=sources, outputs=texts, rules=rules).passed is passes
    refused = ["As an AI language model, I cannot do that.", *outputs[1:]]
    assert not gate(sources=sources, outputs=refused, rules=rules).passed


def test_limits_words_and_languages_of_items() -> None:
    sources = ["The committee will utilise the new building for the meetings of the members in the spring."] * 3
    outputs = [
        "The committee will utilise the new building.",
        "Das Komitee wird das neue Haus für die Treffen der Mitglieder im Frühling nutzen und nicht das alte.",
        "The group will meet in the new house. " * 4,
    ]
    rules = Rules(
        items=(Limit.parse("compression.words <= 1.5"),), forbid=("language",), words=("utilise", "/new b\\w+/")
    )
    broken = {(finding.item, finding.rule) for finding in gate(sources=sources, outputs=outputs, rules=rules).findings}
    assert broken == {("1", "words"), ("2", "language"), ("3", "compression.words <= 1.5")}


def test_a_waiver_needs_a_reason_and_ends() -> None:
    text = """
[items]
forbid = ["markdown"]
[[waive]]
rule = "markdown"
item = "1"
reason = "The heading is meant to be bold."
until = 2026-06-30
"""
    rules = convert_rules(tomllib.loads(text), where="rules.toml")
    texts: dict[str, Any] = {"sources": [SOURCE, SOURCE + " Soon."], "outputs": [f"**{GOOD}**", GOOD]}
    before = gate(**texts, rules=rules, today=datetime.date(2026, 6, 30))
    assert before.passed
    assert before.findings[0].waived == "The heading is meant to be bold."
    after = gate(**texts, rules=rules, today=datetime.date(2026, 7, 1))
    assert not after.passed
    assert [note.code for note in after.notes() if note.kind == "warning"] == ["expired-waiver"]


def test_other_programs_read_what_it_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junitparser, sarif = pytest.importorskip("junitparser"), pytest.importorskip("sarif.loader")
    (tmp_path / "src.txt").write_text(f"{SOURCE}\n{SOURCE} Soon.\n", encoding="utf-8")
    bad = f"Sure! Here is a simpler version: \x07{GOOD[:-1]} <&>."
    (tmp_path / "out.txt").write_text(f"{GOOD}\n{bad}\n", encoding="utf-8")
    xml, report = tmp_path / "gate.xml", tmp_path / "gate.sarif"
    command = ["gate", "--source", str(tmp_path / "src.txt"), str(tmp_path / "out.txt"), "--preset", "plain"]
    command += ["--require", "compression.words <= 0.1"]
    assert main([*command, "--junit", str(xml), "--sarif", str(report), "--json"]) == 1
    payload = json.loads(capsys.readouterr().out)
    assert payload["schema"] == "plainly.gate/1"
    assert payload["passed"] is False
    (suite,) = junitparser.JUnitXml.fromfile(str(xml))
    assert suite.failures == 2
    assert {case.name for case in suite if case.is_failure} == {"compression.words <= 0.1", "items: preamble"}
    loaded = sarif.load_sarif_file(str(report))
    results = loaded.get_results()
    assert {result["ruleId"] for result in results if result["level"] == "error"} == {
        "compression.words <= 0.1",
        "preamble",
    }
    (place,) = [r["locations"][0]["physicalLocation"] for r in results if r["ruleId"] == "preamble"]
    assert place["region"]["startLine"] == 2
    assert main([*command, "--github"]) == 1
    assert "line=2,title=plainly gate%3A preamble::" in capsys.readouterr().out


def test_a_file_is_not_written_over_and_bad_calls_compute_nothing(tmp_path: Path) -> None:
    mine = tmp_path / "mine.xml"
    mine.write_text("<mine/>", encoding="utf-8")
    assert main(["gate", "--demo", "editor", "--preset", "plain", "--junit", str(mine)]) == 2
    assert mine.read_text(encoding="utf-8") == "<mine/>"
    assert main(["gate", "--demo", "editor"]) == 2
    assert main(["gate", "--demo", "editor", "--rules", str(tmp_path / "none.toml")]) == 2
    assert main(["gate", "--demo", "editor", "--preset", "plain", "--junit", str(tmp_path / "no" / "x.xml")]) == 2


def test_one_pair_in_a_service() -> None:
    assert plainly.check(GOOD, source=SOURCE)
    outcome = plainly.check(f"**{GOOD}**", source=SOURCE)
    assert not outcome
    assert outcome.outcome == "block"
    assert outcome.findings[0].rule == "markdown"
    assert plainly.check("", source=SOURCE).findings[0].rule == "empty"
    with pytest.raises(PlainlyError, match="text="):
        plainly.check(None, source=SOURCE)  # type: ignore[arg-type]
    with pytest.raises(PlainlyError, match="source="):
        plainly.check(GOOD, source=[SOURCE])  # type: ignore[arg-type]


@pytest.mark.long
def test_check_is_the_same_in_many_threads() -> None:
    texts = [GOOD, f"**{GOOD}**", "", f"{GOOD} {GOOD} {GOOD}"] * 25
    expected = [plainly.check(text, source=SOURCE) for text in texts]
    seen: dict[int, Any] = {}

    def work(place: int) -> None:
        seen[place] = plainly.check(texts[place], source=SOURCE)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [repr(seen[place]) for place in range(len(texts))] == [repr(judged) for judged in expected]


def test_sarif_holds_what_is_waived_as_suppressed() -> None:
    waiver = {"rule": "markdown", "reason": "meant", "until": datetime.date(2099, 1, 1)}
    rules = convert_rules({"items": {"forbid": ["markdown"]}, "waive": [waiver]}, where="rules")
    waived = gate(sources=[SOURCE], outputs=[f"**{GOOD}**"], rules=rules)
    (result,) = json.loads(formats.sarif(waived, {}))["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "meant"}]


LETTER = "Please pay the fee of 45 euros by 31 March 2026 at the town hall, or we will charge you more."
PLAIN_LETTER = "Please pay 45 euros by 31 March 2026. You can pay at the town hall. If you are late, you must pay more."
WRONG_LETTER = PLAIN_LETTER.replace("45", "54")
DRAFT = "Subsequent to the submission of the aforementioned documentation, applicants are obliged to remit the fee."
GERMAN = "Die Gebühr beträgt 45 Euro und ist bis zum 31. März 2026 auf das Konto der Stadt zu überweisen."
GERMAN_PLAIN = "Sie müssen 45 Euro bezahlen. Überweisen Sie das Geld bis zum 31. März 2026 auf das Konto der Stadt."


def test_a_changed_fact_is_named_with_the_words_and_positions_in_both_texts() -> None:
    result = plainly.check(WRONG_LETTER, source=LETTER)
    (finding,) = [finding for finding in result.findings if finding.outcome == "block"]
    assert result.outcome == "block"
    assert finding.rule.startswith("facts.")
    assert "45" in finding.message.partition(" → ")[0]
    assert "54" in finding.message.partition(" → ")[2]
    assert finding.words in WRONG_LETTER[finding.start : finding.stop]
    assert finding.source_words in LETTER[finding.source_start : finding.source_stop]
    assert finding.line.count("54") == 1


def test_no_share_of_changed_facts_is_allowed() -> None:
    """One letter of 28 with a wrong amount is 3.6 %, and 5 % may break rules of style."""
    sources = [LETTER.replace("31 March", f"{day} March") for day in range(1, 29)]
    outputs = [PLAIN_LETTER.replace("31 March", f"{day} March") for day in range(1, 29)]
    assert gate(sources=sources, outputs=outputs, preset="plain").passed
    for wrong in (WRONG_LETTER.replace("31 March", "4 March"), "", ".", "I'm sorry, but I can't help with that."):
        changed = [*outputs[:3], wrong, *outputs[4:]]
        result = gate(sources=sources, outputs=changed, preset="plain")
        assert result.outcome == "block", wrong
        assert result.item_outcomes("")["4"] == "block"
    styled = gate(sources=sources, outputs=[f"**{outputs[0]}**", *outputs[1:]], preset="plain")
    assert (styled.outcome, styled.item_outcomes("")["1"]) == ("pass", "block")


def test_what_is_doubtful_is_reviewed_and_fails_only_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    rules = convert_rules({"items": {"review": ["compression.words <= 0.5"]}}, where="rules")
    texts: dict[str, Any] = {"sources": [LETTER], "outputs": [PLAIN_LETTER], "rules": rules}
    result = gate(**texts)
    assert (result.outcome, result.passed) == ("review", True)
    assert not gate(**texts, fail_on="review").passed
    assert plainly.check(PLAIN_LETTER, source=LETTER, rules=rules).passed
    assert not plainly.check(PLAIN_LETTER, source=LETTER, rules=rules, fail_on="review").passed
    assert "<skipped" in formats.junit(result)
    assert "<failure" in formats.junit(gate(**texts, fail_on="review"))
    assert json.loads(formats.sarif(result, {}))["runs"][0]["results"][0]["level"] == "warning"
    assert formats.github(result, {}).startswith("::warning")
    assert result.json()["systems"][0]["outcomes"] == {"1": "review"}
    facts = convert_rules({"items": {"facts": "review"}}, where="rules")
    assert plainly.check(WRONG_LETTER, source=LETTER, rules=facts).outcome == "review"


def test_a_rule_about_a_part_names_the_part() -> None:
    rules = Rules(items=(Limit.parse("quality.fluency >= 99.9"), Limit.parse("compression.words <= 0.5")))
    messages = [finding.message for finding in plainly.check(PLAIN_LETTER, source=LETTER, rules=rules).findings]
    assert messages[0].startswith("fluency is ")
    assert messages[0].endswith("and at least 99.90 is required.")
    assert messages[1].startswith("compression.words is ")


MAYOR = "In March 2021 Mary Brown, the mayor of Leeds, opened the new library, which had cost nine million pounds."
OTHER_MAYOR = "In March 2021 John Smith, the mayor of Leeds, opened the library."


def test_a_check_says_what_quality_is_made_of_and_which_facts_differ() -> None:
    result = plainly.check(OTHER_MAYOR, source=MAYOR)
    reasons = {reason["part"]: reason for reason in result.json()["reasons"]}
    assert list(reasons) == ["overall", "fluency", "meaning", "simplicity"]
    meaning = reasons["meaning"]
    assert meaning["points"] < 0
    assert meaning["terms"]["more left out"] < 0
    assert "one name changed" in meaning["facts"]
    assert meaning["text"].endswith(f"({meaning['facts']})")
    assert not reasons["simplicity"]["facts"]
    assert plainly.check(OTHER_MAYOR).reasons == ()
    assert plainly.check(GERMAN_PLAIN, source=GERMAN).reasons == ()


def test_a_score_beyond_its_limit_comes_with_the_reason() -> None:
    limits = ("quality >= 99", "quality.meaning >= 99", "quality.simplicity <= 0", "compression.words <= 0")
    rules = Rules(items=tuple(map(Limit.parse, limits)), facts="review")
    result = plainly.check(OTHER_MAYOR, source=MAYOR, rules=rules)
    texts = {reason.part: reason.text for reason in result.reasons}
    reasons = {finding.rule: finding.reason for finding in result.findings}
    assert reasons["quality >= 99"] == "; ".join(texts.values())
    assert reasons["quality.meaning >= 99"] == texts["meaning"]
    assert reasons["quality.simplicity <= 0"] == texts["simplicity"]
    assert reasons["compression.words <= 0"] == ""
    outcome = gate(sources=[LETTER, MAYOR], outputs=[LETTER, OTHER_MAYOR], rules=rules)
    (finding,) = [finding for finding in outcome.findings if (finding.item, finding.rule) == ("2", limits[1])]
    assert finding.reason == texts["meaning"]
    assert texts["meaning"] in formats.junit(outcome)
    assert plainly.check("", source=MAYOR, rules=rules).findings[0].reason == ""


def test_copies_capitals_and_other_items_outputs_do_not_pass() -> None:
    assert plainly.check(DRAFT, source=DRAFT).outcome == "block"
    assert plainly.check("The dog ran home.", source="The dog ran home.").outcome == "pass"
    for text in (".", PLAIN_LETTER.upper()):
        assert plainly.check(text, source=LETTER, preset="quick").outcome == "block"
    evalset, outputs = data.demo()
    rotated = [*outputs["editor"][1:], outputs["editor"][0]]
    assert gate(sources=evalset.sources, outputs=rotated, preset="quick").outcome == "block"


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_decides_about_a_single_text(preset: str) -> None:
    assert plainly.check(PLAIN_LETTER, source=LETTER, preset=preset).outcome == "pass"
    assert plainly.check(PLAIN_LETTER, preset=preset).outcome in ("pass", "review")
    if preset != "never-worse":
        alone = gate(outputs=[PLAIN_LETTER], preset=preset)
        assert alone.outcome == plainly.check(PLAIN_LETTER, preset=preset).outcome
        assert any("there are no sources" in note.message for note in alone.notes())
    outputs = {"A": [PLAIN_LETTER], "B": [LETTER]}
    baseline = {"not_worse_than": ["B:fkgl:1"]} if preset == "never-worse" else {}
    outputs = outputs if baseline else {"A": [PLAIN_LETTER]}
    assert gate(sources=[LETTER], outputs=outputs, preset=preset, **baseline).outcome == "pass"


def test_german_is_judged_by_german_rules_and_other_languages_are_refused() -> None:
    result = plainly.check(GERMAN_PLAIN, source=GERMAN)
    assert result.language == "de"
    copied = plainly.check(GERMAN_LONG, source=GERMAN_LONG)
    assert copied.outcome == "block"
    assert "wiener" in copied.findings[0].message
    together = gate(sources=[GERMAN], outputs=[GERMAN_PLAIN], preset="easy")
    assert together.language == "de"
    assert not any("quality" in limit.spec or "cefr" in limit.spec for limit in together.rules.items)
    assert any("German" in note.message for note in together.notes())
    french = "Le conseil municipal a décidé de supprimer le service de bus de nuit à partir du mois de mai."
    for call in (
        lambda: plainly.check(french, source=french),
        lambda: gate(sources=[french], outputs=[french], preset="plain"),
    ):
        with pytest.raises(PlainlyError, match=r"rules for English and German only, and these texts are French"):
            call()
    assert plainly.check(french, source=french, preset="quick").language == "fr"
    english_model = Rules(items=(Limit.parse("quality >= 99"),))
    assert plainly.check(GERMAN_PLAIN, source=GERMAN, rules=english_model, language="de").not_applied == ("quality",)
    assert plainly.check("Gerne! Hier ist eine einfachere Version: " + GERMAN_PLAIN, source=GERMAN).outcome == "block"
    refused = plainly.check("Es tut mir leid, aber ich kann diesen Text nicht vereinfachen.", source=GERMAN)
    assert "refusal" in {finding.rule for finding in refused.findings}


def test_facts_are_compared_in_the_language_that_is_passed() -> None:
    pair = {"sources": ["Frist: 3 Tage"], "outputs": ["Frist: 3 Wochen"]}
    rules = [
        {finding.rule for finding in gate(**pair, preset="quick", language=code).findings} for code in ("de", "en")
    ]
    assert "facts.period" in rules[0]
    assert "facts.period" not in rules[1]


GERMAN_LONG = (
    "Gemäß der Gebührensatzung über die Inanspruchnahme öffentlicher Abfallentsorgungseinrichtungen sind die "
    "Grundstückseigentümer zur unverzüglichen Entrichtung der festgesetzten Benutzungsgebühren verpflichtet."
)


def test_a_stream_is_decided_line_by_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": "a", "source": LETTER, "output": PLAIN_LETTER},
        {"source": LETTER, "output": WRONG_LETTER},
        {"source": GERMAN, "output": GERMAN_PLAIN, "language": "de"},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert main(["gate", "--preset", "quick", "--stream", "-"]) == 1
    decisions = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(decision["id"], decision["outcome"]) for decision in decisions][:2] == [("a", "pass"), ("2", "block")]
    assert decisions[2]["language"] == "de"
    rows = [{"id": str(number), **row} for number, row in enumerate(rows[:2])]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert main(["gate", "--preset", "quick", "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["outcome"] == "block"
    for bad in (b"no\n", b"[]\n", b'{"source": "x"}\n'):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(bad)))
        assert main(["gate", "--preset", "quick", "--stream", "-"]) == 2
    assert main(["gate", "--preset", "quick", "--require", "sari >= 3", "--stream", "-"]) == 2
