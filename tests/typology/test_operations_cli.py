"""Every action of ``plainly operations`` on the command line, and choosing by operation in ``plainly score``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plainly.cli import main
from plainly.typology.vocabulary import all_labels, describe, operation

PAIRS = """{"id": "1", "part": "a", "source": "It is old and leaks .", "output": "It is old . It leaks .", "groups": [
{"source": [3], "output": [], "label": "delC"}, {"source": [], "output": [3], "label": "split"}]}
{"id": "1", "part": "b", "source": "It is old and leaks .", "output": "It leaks .", "groups": [
{"source": [1, 2, 3], "output": [], "label": "deloth"}]}
{"id": "2", "part": "a", "source": "She resides here .", "output": "She lives here .", "groups": [
{"source": [1], "output": [1], "label": "synonym"}, {"source": [2], "output": [], "label": "inmod"}]}
{"id": "2", "part": "b", "source": "She resides here .", "output": "She lives near .", "groups": [
{"source": [1], "output": [1], "label": "synonym"}, {"source": [2], "output": [2], "label": "synonym"}]}
"""


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    path = tmp_path / "pairs.jsonl"
    path.write_text(PAIRS.replace("[\n{", "[{").replace("},\n", "}, "), encoding="utf-8")
    return str(path)


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["operations", *arguments, "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["schema"] == "plainly.operations/1"
    return payload


def test_typology(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(_json(capsys, "typology")["operations"]) == 27
    assert [entry["label"] for entry in _json(capsys, "typology", "toPers")["operations"]] == ["fromImp"]
    assert _json(capsys, "typology", "--mapping", "easse")["types"]["C"] == []
    assert main(["operations", "typology", "split"]) == 0
    assert operation("split").definition in capsys.readouterr().out
    assert main(["operations", "typology", "splitt"]) == 2
    assert "Did you mean 'split'" in capsys.readouterr().err


def test_profile_and_cooccurrence(pairs: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = _json(capsys, "profile", pairs)["profile"]
    synonym = next(each for each in result["operations"] if each["label"] == "synonym")
    assert (synonym["pairs"], synonym["annotations"], synonym["share"]) == (2, 3, 0.5)
    assert result["operations_per_pair"] == {"1": 2, "2": 2}
    labels = result["cooccurrence"]["labels"]
    assert result["cooccurrence"]["pairs"][labels.index("split")][labels.index("delcst")] == 1
    assert main(["operations", "profile", pairs, "--cooccurrence", "--csv"]) == 0
    assert capsys.readouterr().out.startswith("pairs with both,synonym")


def test_tables_explain_codes_in_words(pairs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert describe("s2p") == "s2p (singular → plural)"
    assert describe("err") == "err (erroneous simplification)"
    assert [label for label in all_labels() if describe(label) == label] == ["move", "split", "merge"]
    assert describe("literal") == "literal"
    for arguments in (["profile", pairs], ["profile", pairs, "--cooccurrence"], ["correlate", pairs]):
        assert main(["operations", *arguments]) == 0
        assert "delcst (delete for consistency)" in capsys.readouterr().out
    assert main(["operations", "profile", pairs, "--csv"]) == 0
    assert "consistency" not in capsys.readouterr().out, "files hold the codes alone"


def test_repair_and_convert(pairs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repaired_file = tmp_path / "fixed.tsv"
    result = _json(capsys, "repair", pairs, "-o", str(repaired_file))
    assert [each["label"] for each in result["repaired"]] == ["inmod"]
    assert "delmod" in repaired_file.read_text(encoding="utf-8")
    assert main(["operations", "convert", str(repaired_file), str(tmp_path / "again.jsonl")]) == 0
    assert "again.jsonl" in capsys.readouterr().err
    assert _json(capsys, "repair", str(tmp_path / "again.jsonl"))["repaired"] == []


def test_agreement(pairs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repaired_file = tmp_path / "fixed.jsonl"
    assert main(["operations", "repair", pairs, "-o", str(repaired_file)]) == 0
    capsys.readouterr()
    sides = _json(capsys, "agreement", pairs, str(repaired_file))["agreement"]
    assert sides["output"]["davies_fleiss"] == 1.0
    assert 0.8 < sides["source"]["davies_fleiss"] < 1
    gold = _json(capsys, "agreement", pairs, "--gold", str(repaired_file))["annotators"][0]
    assert gold["labels"]["delmod"] == {"gold": 1, "marked": 0, "precision": None, "recall": 0.0, "f1": 0.0}
    assert main(["operations", "agreement", pairs]) == 2
    assert "--gold" in capsys.readouterr().err


def test_relations_with_a_metric(pairs: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = _json(capsys, "correlate", pairs, "-m", "sari", "--part", "keep")
    assert set(result["parts"]) == {"keep"}
    assert result["parts"]["keep"]["split"]["n"] == 4
    pytest.importorskip("sklearn")
    result = _json(capsys, "regress", pairs, "-m", "sari", "--folds", "2", "--alpha", "0.1", "--part", "add")
    assert result["parts"]["add"]["alpha"] == 0.1
    assert main(["operations", "regress", pairs, "--folds", "7"]) == 2
    assert "--folds" in capsys.readouterr().err
    assert main(["operations", "correlate", pairs, "--part", "split"]) == 2
    assert "'split'" in capsys.readouterr().err


def test_evaluate_a_labeller(pairs: str, capsys: pytest.CaptureFixture[str]) -> None:
    (result,) = _json(capsys, "evaluate", pairs, "--labeller", "rules")["sets"]
    by_name = {(each["annotator"], each["side"]): each for each in result["labellers"]}
    assert by_name["rules", "output"]["kappa"] > by_name["nothing changed", "output"]["kappa"] == 0
    assert main(["operations", "evaluate", pairs, "--labeller", "rules"]) == 0
    assert "nine people" in capsys.readouterr().out


def test_score_by_operation(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["score", "--demo", "-m", "sari", "editor", "--no-intervals", "--json"]
    assert main(arguments) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--operations", "auto", "--items-with", "split"]) == 0
    selection = json.loads(capsys.readouterr().out)
    assert 0 < selection["items"] < whole["items"]
    notes = [warning["message"] for warning in selection["warnings"]]
    assert any(f"{selection['items']} of {whole['items']} items" in note for note in notes)
    assert "items with split" in selection["test_set"]
    assert main([*arguments, "--without", "nonsense", "--operations", "auto"]) == 2


def test_recipes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list", "--json"]) == 0
    assert "assetann" in [each["name"] for each in json.loads(capsys.readouterr().out)["recipes"]]
    assert main(["reproduce", "assetan"]) == 2
    assert "Did you mean 'assetann'" in capsys.readouterr().err
