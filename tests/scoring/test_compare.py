"""The comparison as users meet it: the numbers of score, the same on every run, and sentences that say no more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from plainly.cli import main
from plainly.core.evalset import EvalSet
from plainly.core.formatting import p_value
from plainly.core.sampling import Sampling
from plainly.reporting.overview import overview
from plainly.scoring.compare import compare
from plainly.scoring.comparisons import Comparisons, claims
from plainly.scoring.evaluate import evaluate

KEYS = {"system", "baseline", "metric", "test", "difference", "p_value", "p_holm", "p_bh", "low", "high", "effect_size"}


def _run(capsys, *arguments: str):
    assert main(["compare", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def _compare(effects: dict[str, float], *, n: int = 200, spec: str = "sari", **options) -> Comparisons:
    """Systems that get a share of words right: more of them, better system."""
    rng = np.random.default_rng(7)
    words = [[f"w{k}_{i}" for i in range(10)] for k in range(n)]
    evalset = EvalSet.of([" ".join(w) + " extra long ending" for w in words], references=[[" ".join(w)] for w in words])
    outputs = {
        name: [" ".join(x if rng.random() < share else "bad" for x in w) for w in words]
        for name, share in effects.items()
    }
    evaluation = evaluate(evalset, outputs, [spec], sampling=None)
    return compare(evaluation, sampling=Sampling(resamples=300), trials=1000, **options)


def test_json_has_what_others_rely_on(capsys):
    result = _run(capsys, "--demo", "-m", "sari,bleu", "editor", "lexical", "split", "--baseline", "lexical")
    assert result["schema"] == "plainly.compare/1"
    assert {each["system"] for each in result["comparisons"]} == {"editor", "split"}
    assert {each["baseline"] for each in result["comparisons"]} == {"lexical"}
    assert {each["test"] for each in result["comparisons"]} == {"paired-bootstrap", "approximate-randomisation"}
    assert len(result["comparisons"]) == 2 * 2 * 2
    for each in result["comparisons"]:
        assert set(each) >= KEYS
        assert each["low"] <= each["difference"] <= each["high"]
        assert each["p_value"] <= each["p_bh"] <= each["p_holm"] <= 1
        assert each["wins"] + each["losses"] + each["ties"] == each["n"] == 72
    assert result["rankings"]["sari"]["order"][0] == "editor"
    assert "beats" not in result["rankings"]["sari"], "with a baseline, other pairs are not tested"
    every = _run(capsys, "--demo", "-m", "sari", "editor", "lexical", "split")
    assert every["rankings"]["sari"]["beats"]["editor"] == {"lexical": True, "split": True}
    assert len(result["claims"]) == 2
    codes = {warning["code"] for warning in result["warnings"] if warning["severity"] != "note"}
    assert not codes, "the demo has twelve documents, which are enough for intervals"


def test_numbers_are_those_of_score(capsys):
    compared = _run(capsys, "--demo", "-m", "sari,bleu,fkgl", "editor", "noisy")
    assert main(["score", "--demo", "-m", "sari,bleu,fkgl", "editor", "noisy", "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert compared["systems"] == scored["systems"], "values, intervals, parts and signatures"
    by_name = {system["system"]: system["scores"] for system in scored["systems"]}
    for each in compared["comparisons"]:
        assert each["score"] == by_name[each["system"]][each["metric"]]["value"]
        assert each["difference"] == pytest.approx(each["score"] - by_name[each["baseline"]][each["metric"]]["value"])


def test_saved_rows_give_the_same_comparison(tmp_path: Path, capsys):
    saved = str(tmp_path / "rows.npz")
    assert main(["score", "--demo", "-m", "sari", "editor", "noisy", "--save", saved]) == 0
    capsys.readouterr()
    fresh = _run(capsys, "--demo", "-m", "sari", "editor", "noisy")
    again = _run(capsys, saved)
    assert again["comparisons"] == fresh["comparisons"]


@pytest.mark.long
def test_the_same_seed_gives_the_same_numbers_on_every_run_and_any_number_of_threads():
    command = [
        sys.executable,
        "-m",
        "plainly",
        "compare",
        "--demo",
        "-m",
        "sari,fkgl",
        "editor",
        "noisy",
        "lexical",
        "--json",
    ]
    printed = []
    for threads in ("1", "2"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        printed.append(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
    one, two = map(json.loads, printed)
    assert [each["p_value"] for each in one["comparisons"]] == [each["p_value"] for each in two["comparisons"]]
    assert one == two


def test_the_baseline_may_be_named_apart(tmp_path: Path, capsys):
    sources = [f"the big cat {k} sat on the mat" for k in range(20)]
    for name, texts in {
        "src": sources,
        "ref": [s.replace("big ", "") for s in sources],
        "base.txt": sources,
        "mine.txt": [s.replace("big ", "") for s in sources],
    }.items():
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "src"), "--references", str(tmp_path / "ref"), "-m", "sari"]
    apart = _run(capsys, str(tmp_path / "mine.txt"), *files, "--baseline", str(tmp_path / "base.txt"))
    among = _run(capsys, str(tmp_path / "base.txt"), str(tmp_path / "mine.txt"), *files, "--baseline", "base")
    assert apart["comparisons"] == among["comparisons"]
    path = str(tmp_path / "base.txt")
    assert (
        _run(capsys, path, str(tmp_path / "mine.txt"), *files, "--baseline", path)["comparisons"]
        == among["comparisons"]
    )
    assert {(each["system"], each["baseline"]) for each in apart["comparisons"]} == {("mine", "base")}


def test_another_seed_gives_other_draws(capsys):
    one = _run(capsys, "--demo", "-m", "bleu", "lexical", "split", "--seed", "1")
    two = _run(capsys, "--demo", "-m", "bleu", "lexical", "split", "--seed", "2")
    assert one["comparisons"][0]["low"] != two["comparisons"][0]["low"]
    assert one["seed"] == 1


def test_turning_a_comparison_round_turns_its_signs():
    there = _compare({"A": 0.7, "B": 0.8}, baseline="A").comparisons
    back = _compare({"A": 0.7, "B": 0.8}, baseline="B").comparisons
    for one, other in zip(there, back, strict=True):
        assert (one.system, one.baseline) == (other.baseline, other.system)
        assert one.difference == pytest.approx(-other.difference)
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
        assert one.effect_size == pytest.approx(-other.effect_size)
        assert (one.wins, one.losses) == (other.losses, other.wins)
        assert one.p_value == other.p_value
        assert one.winner == other.winner == "B"


def test_lower_is_better_where_it_is():
    evalset = EvalSet.of(["x"] * 120)
    short = ["The cat sat. It was a cat."] * 119 + ["A dog."]
    long = [
        "The extraordinarily complicated organisation deliberated interminably about administrative necessities."
    ] * 119 + ["A cat."]
    result = compare(
        evaluate(evalset, {"long": long, "short": short}, ["fkgl"], sampling=None),
        trials=500,
        sampling=Sampling(resamples=200),
    )
    assert result.ranking("fkgl") == ["short", "long"]
    assert all(each.winner == "short" for each in result.comparisons)
    assert result.comparisons[0].wins == 119


def test_ranking_clusters_and_matrix_agree():
    result = _compare({"A": 0.9, "B": 0.7, "C": 0.7, "D": 0.4})
    assert result.ranking("sari")[0] == "A"
    assert [sorted(cluster) for cluster in result.clusters("sari")] == [["A"], ["B", "C"], ["D"]]
    assert [sorted(tie) for tie in result.ties("sari")] == [["A"], ["B", "C"], ["D"]]
    matrix = result.matrix("sari")
    assert matrix["A"] == {"B": True, "C": True, "D": True}
    assert matrix["D"] == {"A": False, "B": False, "C": False}
    assert matrix["B"]["C"] is None


def test_many_systems_are_told_by_how_many_they_beat() -> None:
    tests = ("approximate-randomisation",)
    measured = _compare({f"s{k}": 0.3 + 0.04 * k for k in range(16)}, n=60, tests=tests).evaluation
    result = compare(measured, tests=tests)  # with as many trials as 120 pairs need
    (table,) = result.tables()
    assert table.header[:5] == ("", "sari", "beats", "same", "beaten by")
    assert [sum(map(int, row[2:5])) for row in table.rows] == [15] * 16
    assert {row[0].split()[1]: int(row[2]) for row in table.rows} == {
        system: sum(outcome is True for outcome in others.values()) for system, others in result.matrix("sari").items()
    }
    clusters = result.clusters("sari")
    assert len(clusters) > 1
    assert [row[5] for row in table.rows] == [str(at) for at, members in enumerate(clusters, 1) for _ in members]
    assert table.rows[0][4] == "0"
    assert int(table.rows[0][2]) > 3


def test_claims_claim_what_the_numbers_allow():
    (better,) = claims(_compare({"A": 0.5, "B": 0.8}))
    assert "B may be said to score better than A" in better
    (none,) = claims(_compare({"A": 0.7, "B": 0.7}))
    assert "no difference may be claimed" in none
    assert "200 items show differences of about" in none
    (baseline,) = claims(_compare({"A": 0.6, "B": 0.75, "C": 0.6, "D": 0.4}, baseline="A"))
    assert "B scores better than A; D scores worse than A; C cannot be told from A" in baseline
    (ranking,) = claims(_compare({"A": 0.75, "B": 0.6, "C": 0.6, "D": 0.4}))
    assert "A scores best; 5 of 6 pairs" in ranking


def test_a_win_by_copied_references_is_not_claimed():
    (pair,) = claims(_compare({"A": 0.5, "B": 0.95}))
    assert pair == "sari: B copies references, so its score is not comparable. Nothing may be claimed."
    (baseline,) = claims(_compare({"A": 0.6, "B": 0.95, "D": 0.4}, baseline="A"))
    assert "B copies references" in baseline
    assert "D scores worse than A" in baseline
    assert "better" not in baseline
    (ranking,) = claims(_compare({"A": 0.95, "B": 0.6, "C": 0.6, "D": 0.4}))
    assert "A scores best" not in ranking
    assert "B and C score best and cannot be told apart; 2 of 3 pairs" in ranking.replace("C and B", "B and C")


def test_undefined_scores_claim_nothing():
    evalset = EvalSet.of(["x y"] * 10)
    evaluation = evaluate(evalset, {"A": [""] * 10, "B": ["A cat sat."] * 10}, ["fkgl"], sampling=None)
    result = compare(evaluation, sampling=Sampling(resamples=50), trials=50)
    assert all(np.isnan(each.p_value) and not each.significant for each in result.comparisons)
    assert claims(result) == ["fkgl: undefined for these outputs; nothing may be claimed."]


def test_too_few_draws_are_said(capsys):
    result = _run(capsys, "--demo", "-m", "sari,bleu,fkgl", "--trials", "100")
    assert "few-draws" in {warning["code"] for warning in result["warnings"]}


def test_over_references_on_the_command_line(capsys):
    items = _run(capsys, "--demo", "-m", "sari", "editor", "noisy")["comparisons"][0]
    references = _run(capsys, "--demo", "-m", "sari", "editor", "noisy", "--over", "references")["comparisons"][0]
    assert references["difference"] == pytest.approx(items["difference"])
    assert references["high"] - references["low"] != pytest.approx(items["high"] - items["low"])


@pytest.mark.parametrize(
    "form", [[], ["--csv"], ["--latex"], ["--markdown"], ["--test", "bootstrap"], ["--test", "ar"]]
)
def test_forms(form, capsys):
    assert main(["compare", "--demo", "-m", "sari", "editor", "noisy", "lexical", *form]) == 0
    assert "editor" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--demo", "editor"], "two systems"),
        (["--demo", "--baseline", "nobody"], "'nobody'"),
        (["--demo", "editor", "noisy", "--by", "nothing"], "nothing"),
        (["--demo", "editor", "noisy", "--level", "2"], "between 0 and 1"),
    ],
)
def test_mistakes_are_named(arguments, message, capsys):
    assert main(["compare", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_p_values_as_people_read_them():
    assert [p_value(p) for p in (0.00012, 0.0123, 0.5, float("nan"))] == ["0.0001", "0.012", "0.50", "undefined"]


@pytest.mark.parametrize(("systems", "trials", "further"), [(3, 10_000, None), (25, 8_333, 12_000)])
def test_page_and_compare_make_the_same_claims_however_many_systems(systems: int, trials: int, further: int) -> None:
    rng = np.random.default_rng(systems)
    outputs = {
        f"s{number}": [" ".join(["bird"] * 4 + ["elephant"] * int(rng.poisson(4 + number / 12))) for _ in range(40)]
        for number in range(systems)
    }
    evaluation = evaluate(EvalSet.of(items=40), outputs, ["fkgl"], sampling=Sampling(resamples=50))
    alone, page = compare(evaluation), overview(evaluation, labeller=None, audit=False).comparisons
    assert page is not None
    assert (alone.trials, alone.further) == (page.trials, page.further) == (trials, further)
    assert claims(alone) == claims(page)
    for pair, on_page in zip(alone.deciding_comparisons("fkgl"), page.deciding_comparisons("fkgl"), strict=True):
        assert (pair.p_holm, pair.winner) == (on_page.p_holm, on_page.winner)
    assert sum(pair.significant for pair in alone.deciding_comparisons("fkgl")) > 0 or systems == 3
    assert "few-draws" not in {note.code for note in alone.notes()}
    assert compare(evaluation, baseline="s0").trials == 10_000


def test_subsets_make_the_family_larger(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("editor", "lexical", "split", "copy")
    result = _run(capsys, "--demo", "-m", "fkgl", "--by", "length", *names)
    assert result["trials"] == 10_000
    assert "few-draws" not in {warning["code"] for warning in result["warnings"]}
    assert _run(capsys, "--demo", "-m", "fkgl", "--trials", "50", *names[:2])["trials"] == 50


def test_groups_change_the_standard_error_and_not_the_effect_size() -> None:
    """SARI of Xu et al. is a mean over items, so that both have a closed form."""
    alone = _compare({"A": 0.7, "B": 0.75}, n=120, spec="sari(variant=xu)").evaluation
    groups = [f"g{at // 4:02}" for at in range(120)]
    evalset = EvalSet.of(alone.evalset.sources, references=alone.evalset.references, groups=groups)
    assert alone.outputs is not None
    grouped = evaluate(evalset, alone.outputs, ["sari(variant=xu)"], sampling=None)
    scores = [alone[system]["sari(variant=xu)"].segments["sari"] for system in "AB"]
    differences = scores[1] - scores[0]
    by_group = differences.reshape(30, 4).mean(axis=1)
    for evaluation, units, unit in ((alone, differences, "items"), (grouped, by_group, "groups")):
        result = compare(evaluation, sampling=Sampling(resamples=50), trials=50)
        for pair in result.comparisons:
            assert pair.difference == pytest.approx(differences.mean())
            assert pair.effect_size == pytest.approx(differences.mean() / differences.std(ddof=1))
            assert pair.units == len(units)
            assert pair.standard_error == pytest.approx(units.std(ddof=1) / np.sqrt(len(units)))
        assert result.json()["unit"] == unit


def test_every_pair_has_a_row_where_pairs_are_few() -> None:
    """With at most four systems, or a baseline; and which system beats which if all pairs were compared."""
    shares = {f"s{at}": 0.4 + 0.1 * at for at in range(5)}
    few = _compare(dict(list(shares.items())[:3]), n=30).tables()
    assert [len(table.rows) for table in few] == [3, 3]
    many = _compare(shares, n=30)
    assert [len(table.rows) for table in many.tables()] == [5]
    assert (many.family("sari"), many.family("bleu")) == (10, 0)
    against_one = _compare(shares, n=30, baseline="s2").tables()
    assert [len(table.rows) for table in against_one] == [4]
    assert [len(table.rows) for table in _compare({"A": 0.4, "B": 0.5}, n=30).tables()] == [1]


def test_a_metric_without_a_better_side_has_differences_and_no_winners() -> None:
    result = _compare({"A": 0.95, "B": 0.1}, n=60, spec="edits")
    (pair,) = result.deciding_comparisons("edits")
    assert pair.significant
    assert (pair.winner, pair.verdict) == (None, "≠")
    assert result.clusters("edits") == []
    (claim,) = claims(result)
    assert f"{pair.difference:+.2f}" in claim
    assert result.matrix("edits") == {"A": {"B": None}, "B": {"A": None}}
