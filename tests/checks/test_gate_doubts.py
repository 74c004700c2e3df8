"""A judge decides about doubtful facts: it is asked about exactly their words, and what it finds equal passes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import plainly
from judge_server import JudgeServer, run_server, texts_of, write_judges
from plainly.cli import main
from plainly.core.calls import call_options
from plainly.core.errors import PlainlyError

SOURCES = ["You are not required to attend the meeting.", "Only residents may park here.", "It costs 45 euros."]
OUTPUTS = ["You must come to the meeting.", "Everyone may park here.", "It costs 54 euros."]
JUDGE = "judge(rubric=doubt)"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with run_server(points=lambda texts, criterion: 100.0 if "residents" in texts["original"] else 0.0) as server:
        write_judges(tmp_path / "judges.toml", server.port)
        yield server


def _gate(doubts: str | None = JUDGE) -> plainly.Gate:
    with call_options(judges="judges.toml"):
        return plainly.gate(sources=SOURCES, outputs=OUTPUTS, preset="quick", doubts=doubts)


def test_the_answer_decides_between_review_and_pass(server: JudgeServer) -> None:
    assert _gate(None).item_outcomes("") == {"1": "review", "2": "review", "3": "block"}
    assert server.count == 0
    outcome = _gate()
    assert outcome.item_outcomes("") == {"1": "review", "2": "pass", "3": "block"}
    (waived,) = (finding for finding in outcome.findings if finding.waived)
    assert (waived.rule, waived.item, waived.outcome) == ("facts.quantifier", "2", "review")
    assert JUDGE in waived.waived


def test_only_the_words_of_doubtful_findings_are_asked_about(server: JudgeServer) -> None:
    _gate()
    places = {texts_of(body)["original"]: texts_of(body)["place"] for body in server.requests}
    assert set(places) == set(SOURCES[:2]), "what blocks is not asked about"
    assert places[SOURCES[1]] == "The original says: Only\nThe simplified text says: Everyone"
    assert "Does the simplified text say the same at this place" in server.requests[0]["messages"][-1]["content"]


def test_a_finding_without_an_answer_is_reviewed(server: JudgeServer) -> None:
    server.answer = lambda body: "Perhaps."
    assert _gate().item_outcomes("") == {"1": "review", "2": "review", "3": "block"}


def test_a_jury_decides_by_majority(server: JudgeServer) -> None:
    write_judges(Path("judges.toml"), server.port, "a", "b", "c")
    outcome = _gate("jury(judges=a+b+c,rubric=doubt)")
    assert outcome.item_outcomes("") == {"1": "review", "2": "pass", "3": "block"}


def test_the_rules_file_and_the_command_line_name_the_judge(
    server: JudgeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rules.toml").write_text(f'preset = "quick"\n[items]\ndoubts = "{JUDGE}"\n', encoding="utf-8")
    rows = [json.dumps({"source": s, "output": o}) for s, o in zip(SOURCES, OUTPUTS, strict=True)]
    Path("pairs.jsonl").write_text("\n".join(rows), encoding="utf-8")
    for options in (["--rules", "rules.toml"], ["--preset", "quick", "--doubts", JUDGE]):
        for stream in ([], ["--stream"]):
            status = main(
                ["gate", "pairs.jsonl", *options, *stream, *["--json"] * (not stream), "--judges", "judges.toml"]
            )
            out, err = capsys.readouterr()
            assert status == 1, err
            assert JUDGE in out
    assert server.count == 2, "answers are cached"
    with call_options(judges="judges.toml"):
        assert plainly.check(OUTPUTS[1], source=SOURCES[1], rules="rules.toml").outcome == "pass"
        assert plainly.check(OUTPUTS[0], source=SOURCES[0], rules="rules.toml").outcome == "review"


def test_a_judge_that_does_not_exist_is_refused_at_once(server: JudgeServer) -> None:
    with pytest.raises(PlainlyError, match="Did you mean 'judge'"):
        _gate("jugde(rubric=doubt)")
    with pytest.raises(PlainlyError, match="column question"), call_options(judges="judges.toml"):
        plainly.score(sources=SOURCES, outputs=OUTPUTS, metrics=[JUDGE])
