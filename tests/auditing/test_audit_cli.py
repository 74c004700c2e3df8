"""plainly audit as people use it: the demo, their own files, their own metrics, and mistakes."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from plainly import data
from plainly.auditing import audit
from plainly.auditing.attacks import ATTACKS
from plainly.cli import main
from plainly.core import registry
from plainly.core.errors import BadInput, BadSpec

ARGUMENTS = ("audit", "--demo", "editor", "lexical", "noisy", "--trials", "2", "--processes", "1")
WORDS = f"command(run={sys.executable} {ROOT / 'tests' / 'length_command.py'})"


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*ARGUMENTS, *arguments, "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_json_holds_curves_verdicts_and_how_they_were_made(capsys: pytest.CaptureFixture[str]) -> None:
    result = _json(capsys, "-m", "sari,fkgl", "--attacks", "paper,oracle", "--levels", "10,50,100")
    assert (result["schema"], result["items"], result["trials"], result["seed"]) == (
        "plainly.audit/1",
        72,
        2,
        12345,
    )
    assert result["levels"] == [0.0, 0.1, 0.5, 1.0]
    assert len(result["curves"]) == 3 * 7 * 2
    fkgl = next(metric for metric in result["metrics"] if metric["metric"] == "fkgl")
    assert fkgl["signature"].startswith("fkgl(")
    assert fkgl["gameability"] > 0.5
    assert fkgl["cheapest"]["system"] == fkgl["ranking"][-1]
    assert "can be gamed" in fkgl["verdict"]
    curve = next(curve for curve in result["curves"] if (curve["system"], curve["metric"]) == ("noisy", "sari"))
    assert len(curve["outputs"]["keep2"]["mean"]) == 4
    assert curve["outputs"]["sari"]["low"][1] <= curve["outputs"]["sari"]["mean"][1]


def test_people_get_tables_and_paragraphs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "-m", "fkgl", "--attacks", "paper", "--tables", "all"]) == 0
    out = capsys.readouterr().out
    for part in ("gameability", "What changes the winner", "noisy: the parts", "% split", "The cheapest way from last"):
        assert part in out


def test_quick_shows_every_attack(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--demo", "editor", "noisy", "--quick", "-m", "fkgl"]) == 0
    captured = capsys.readouterr()
    attacks = {attack.name for attack in ATTACKS.values() if not attack.judge}
    assert {line.split()[0] for line in captured.out.partition("\n\n")[0].splitlines()} >= attacks
    assert "20 trials of each attack, every output rewritten once" in captured.err


def test_absent_items_are_stated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / "A.csv", tmp_path / "B.csv"]
    paths[0].write_text("id,source,output\n1,a b c,a b\n2,d e f,d .\n3,g h i,g h .\n", encoding="utf-8")
    paths[1].write_text("id,output\n3,g .\n1,a\n", encoding="utf-8")
    assert (
        main(
            [
                "audit",
                *map(str, paths),
                "-m",
                "fkgl",
                "--attacks",
                "empty",
                "--incomplete",
                "skip",
                "--processes",
                "1",
                "--json",
            ]
        )
        == 0
    )
    result = json.loads(capsys.readouterr().out)
    assert [(row["system"], row["items"]) for row in result["systems"]] == [("A", 3), ("B", 2)]
    assert result["shared_items"] == 2


def test_everything_can_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    where = str(tmp_path)
    arguments = ["-m", "fkgl", "--attacks", "random-period", "--levels", "50,100", "--out", where, "--plots", where]
    assert main([*ARGUMENTS, *arguments]) == 0
    with (tmp_path / "curves.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 3 * 6
    assert {row["level"] for row in rows} == {"0.0", "0.5", "1.0"}
    assert (tmp_path / "noisy-fkgl.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "noisy-fkgl.svg").read_text(encoding="utf-8").startswith("<svg")
    for name in ("gameability", "flips", "overview", "levels", "parts", "form", "verdicts"):
        assert (tmp_path / f"{name}.md").stat().st_size > 20


def test_the_attacks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["attacks"]
    assert [attack["attack"] for attack in listed] == list(ATTACKS)
    assert sum(attack["paper"] for attack in listed) == 6
    assert main(["audit", "--list", "--csv"]) == 0
    assert capsys.readouterr().out.startswith("attack,expected,what,paper,judge\nrandom-period,worse,")


def test_own_files_need_neither_sources_nor_references(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "A.txt").write_text("One two three.\nFour five six seven.\n", encoding="utf-8")
    (tmp_path / "B.txt").write_text("One two.\nFour five.\n", encoding="utf-8")
    files = [str(tmp_path / "A.txt"), str(tmp_path / "B.txt")]
    assert main(["audit", *files, "-m", "fkgl", "--trials", "2", "--processes", "1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["items"] == 2
    assert "oracle" not in {attack["attack"] for attack in result["attacks"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--attacks", "random-perod"], "Did you mean 'random-period'"),
        (["--tables", "levls"], "Did you mean 'levels'"),
        (["--plots", "nowhere/at/all"], "no directory"),
        (["--trials", "0"], "at least 1"),
        (["--levels", "0,50"], "above 0"),
        (["--seed", "-1"], "whole number"),
        (["--address", "here:1"], "--engine ray"),
        (["-m", "command"], "needs a program"),
        (["-m", "command(run=./no-such-program)"], "Cannot run"),
    ],
)
def test_mistakes_are_reported(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_program_can_be_audited(capsys: pytest.CaptureFixture[str]) -> None:
    result = _json(capsys, "-m", WORDS, "--attacks", "random-the,truncate", "--levels", "100")
    effects = {effect["attack"]: effect for effect in result["metrics"][0]["effects"]}
    assert effects["random-the"]["gain"] == pytest.approx(1)
    assert effects["truncate"]["gain"] < -3


def _program(tmp_path: Path, body: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(body, encoding="utf-8")
    return f"command(run={sys.executable} {path})"


def test_a_program_gets_everything_and_may_leave_items_out(tmp_path: Path) -> None:
    body = "import sys, json\nfor line in sys.stdin:\n    p = json.loads(line)\n"
    evalset, outputs = data.demo()
    copying = _program(
        tmp_path,
        body + "    print('null' if p['output'] == p['source'] else len(p['references']) + len(p['source']))\n",
    )
    metric = registry.metric(copying)
    assert repr(metric) == copying
    rows = metric.measure(evalset, outputs["copy"])
    assert rows.sum() == 0
    rows = metric.measure(evalset, ["é"] * len(evalset))
    lengths = [len(source) + 4 for source in evalset.sources]
    assert metric.score(rows.sum(axis=0))[0] == pytest.approx(sum(lengths) / len(lengths))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("print(1)", "wrote 1 numbers for 72 outputs"),
        ("import sys\nfor line in sys.stdin: print('good')", "Line 1 of what .* wrote is 'good'"),
        ("import sys\nfor line in sys.stdin: print('inf')", "not a number"),
        ("raise SystemExit('no model found')", "ended with status 1: no model found"),
    ],
)
def test_errors_of_a_program_are_reported(tmp_path: Path, body: str, message: str) -> None:
    evalset, outputs = data.demo()
    with pytest.raises(BadInput, match=message):
        registry.metric(_program(tmp_path, body)).measure(evalset, outputs["copy"])


def test_a_plain_object_with_measure_and_score_will_do() -> None:
    class Short:
        better = "lower"

        def measure(self, evalset: object, outputs: Sequence[str]) -> list[tuple[int, int]]:
            return [(len(output.split()), 1) for output in outputs]

        def score(self, totals: Any) -> Any:
            return totals[..., 0] / totals[..., 1]

    evalset, outputs = data.demo()
    systems = {"A": outputs["editor"], "B": outputs["copy"]}
    result = audit(evalset=evalset, outputs=systems, metrics=[Short()], attacks=["truncate"], trials=1)
    verdict = result.verdicts["short"]
    assert verdict.effects[0].fooled
    assert verdict.cheapest is not None
    with pytest.raises(BadSpec, match="measure"):
        audit(evalset=evalset, outputs=outputs, metrics=[object()], trials=1)


def test_a_plugin_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loudness.py").write_text(
        "from dataclasses import dataclass\nimport numpy as np\n"
        "@dataclass(frozen=True)\nclass Loud:\n"
        "    name = 'loud'\n    needs = frozenset()\n    better = 'higher'\n    outputs = ('loud',)\n    per: int = 1\n"
        "    def measure(self, evalset, outputs):\n"
        "        return np.array([[sum(map(str.isupper, o)) / self.per, 1.0] for o in outputs])\n"
        "    def score(self, totals):\n        return totals[..., :1] / totals[..., 1:]\n",
        encoding="utf-8",
    )
    info = tmp_path / "loudness-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loudness\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[plainly.metrics]\nloud = loudness:Loud\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    evalset, outputs = data.demo()
    assert "loud" in registry.names()
    result = audit(
        evalset=evalset, outputs={"A": outputs["editor"]}, metrics="loud(per=2)", attacks=["lowercase"], trials=1
    )
    capitals = sum(map(str.isupper, "".join(outputs["editor"])))
    assert result.verdicts["loud(per=2)"].effects[0].gain == pytest.approx(-capitals / 2 / len(evalset))
