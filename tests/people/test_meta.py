"""Meta-evaluation on ratings small enough to check by hand, and on simulated ones of the size that studies have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.stats

import plainly
from plainly.cli import main
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.sampling import Sampling
from plainly.people import Judgements, Ratings, load
from plainly.people.correlations import (
    FEWEST_SYSTEMS,
    Filter,
    MetricScores,
    correlate_metrics,
    mean_metric,
    read_scores,
    score_units,
    with_texts,
)
from plainly.people.meta_evaluation import agreement, meta, rank_standings, relate
from plainly.reporting.curves import draw_correlations
from plainly.scoring.score_file import write_segments
from plainly.stats.agreement import reliability
from plainly.stats.correlate import correlate

SOURCES = {
    "1": "He was obliged to leave the city in 1942 .",
    "2": "The tiny drum makes almost no sound at all .",
    "3": "Muslims are required to visit it at least once .",
}
OUTPUTS = {
    ("A", "1"): "He had to leave the city in 1942 .",
    ("A", "2"): "The drum makes no sound .",
    ("A", "3"): "Muslims must visit it once .",
    ("B", "1"): "He was obliged to leave the city in 1942 .",
    ("B", "3"): "Muslims are required to visit it .",
}
REFERENCES = {
    "one": {"1": ("He had to leave the city .",), "2": ("The drum is quiet .",), "3": ("Muslims must go once .",)},
}


def small() -> Judgements:
    values = np.array([[[2.0, 1], [1, 1], [2, 2]], [[0, 0], [np.nan, np.nan], [1, 0]]])
    meaning = np.array([[[4.0], [3], [4]], [[5], [np.nan], [4]]])
    systems, items = ("A", "B"), ("1", "2", "3")
    return Judgements(
        "small",
        systems,
        items,
        {
            "simplicity": Ratings("simplicity", systems, items, ("x", "y"), values, (-2, 2)),
            "meaning": Ratings("meaning", systems, items, ("mean",), meaning),
        },
        sources=SOURCES,
        outputs=OUTPUTS,
        references=REFERENCES,
        types={"A": "neural", "B": "rules"},
    )


def simulated(rng: np.random.Generator, *, systems: int = 6, items: int = 100, raters: int = 15) -> Judgements:
    """Simplicity hangs on fluency; raters differ."""
    fluency = rng.normal(size=(systems, items, 1)) + np.linspace(0, 1, systems)[:, None, None]
    truth = 0.8 * fluency + rng.normal(size=(systems, items, 1))
    names, numbers = tuple(f"s{i}" for i in range(systems)), tuple(map(str, range(items)))
    return Judgements(
        "simulated",
        names,
        numbers,
        {
            "simplicity": Ratings(
                "simplicity", names, numbers, tuple(f"r{i}" for i in range(raters)),
                truth + rng.normal(size=(systems, items, raters)),
            ),
            "fluency": Ratings("fluency", names, numbers, ("mean",), fluency),
            "meaning": Ratings("meaning", names, numbers, ("mean",), rng.normal(size=(systems, items, 1))),
        },
        types={name: "even" if at % 2 == 0 else "odd" for at, name in enumerate(names)},
    )  # fmt: skip


def scores_of(judgements: Judgements, columns: dict[str, np.ndarray]) -> MetricScores:
    return MetricScores(
        judgements["simplicity"].units(), {name: mean_metric(name, values) for name, values in columns.items()}
    )


def test_rated_outputs_are_scored_and_systems_from_their_own_rows() -> None:
    judgements = small()
    units = judgements["simplicity"].units()
    scores = score_units(judgements, units, ["sari", "fkgl"])
    for system, items in {"A": "123", "B": "13"}.items():
        expected = plainly.score(
            sources=[SOURCES[item] for item in items],
            outputs=[OUTPUTS[system, item] for item in items],
            references=[REFERENCES["one"][item] for item in items],
            metrics=["sari", "fkgl"],
            intervals=False,
        )
        at = judgements.systems.index(system)
        for spec in ("sari", "fkgl"):
            assert scores[spec].by_system(units)[at] == pytest.approx(float(expected[spec]))
            np.testing.assert_allclose(
                scores[spec].segments[units.system == at], expected[spec].segments[spec], rtol=1e-12
            )
    assert scores["fkgl"].better == "lower"
    assert "refs:1" in scores["sari"].signature


def test_correlations_are_those_of_the_means() -> None:
    judgements = small()
    result = correlate_metrics(
        judgements, [score_units(judgements, judgements["simplicity"].units(), ["sari"])], dimensions=["simplicity"],
        sampling=Sampling(resamples=50),
    )  # fmt: skip
    human = [1.5, 1, 2, 0, 0.5]
    segments = score_units(judgements, judgements["simplicity"].units(), ["sari"])["sari"].segments
    for kind, theirs in (
        ("pearson", scipy.stats.pearsonr),
        ("spearman", scipy.stats.spearmanr),
        ("kendall", scipy.stats.kendalltau),
    ):
        row = result.row("sari", kind)
        expected = theirs(segments, human)
        assert row.estimate.value == pytest.approx(expected.statistic, abs=1e-9)
        assert row.p_independent == pytest.approx(expected.pvalue, abs=1e-9)
        assert row.estimate.n == 5
    system = result.row("sari", unit="system")
    assert system.estimate.value == pytest.approx(1)  # Two systems: a line through two points.
    assert np.isnan(system.p_value)


def test_a_metric_that_measures_fluency_is_found_out() -> None:
    rng = np.random.default_rng(0)
    judgements = simulated(rng)
    units = judgements["simplicity"].units()
    fluency = judgements.human("fluency", units)
    own = judgements.human("simplicity", units) - 0.8 * fluency
    scores = scores_of(
        judgements,
        {
            "fluency in disguise": fluency + 0.3 * rng.normal(size=600),
            "simplicity itself": own + 0.5 * rng.normal(size=600),
        },
    )
    subset = Filter(("fluency", "meaning"), threshold=0.0)
    result = correlate_metrics(
        judgements, [scores], dimensions=["simplicity"], subset=subset, sampling=Sampling(resamples=200)
    )
    disguised, honest = result.row("fluency in disguise"), result.row("simplicity itself")
    assert min(disguised.estimate.low, honest.estimate.low) > 0.3
    partial = result.row("fluency in disguise", "partial")
    assert partial.estimate.low < 0 < partial.estimate.high
    assert result.row("simplicity itself", "partial").estimate.low > 0.5
    assert partial.detail == "given fluency, meaning"
    assert result.slices == {"all": 600, "filtered": int(subset.mask(judgements, units).sum())}
    assert result.row("fluency in disguise", slice="filtered").estimate.value < disguised.estimate.value
    better = {(pair.slice, pair.unit, pair.difference.test.partition(",")[0]): pair.difference for pair in result.pairs}
    assert better["filtered", "item", "williams"].p_value < 0.05
    assert better["filtered", "item", "permute-items"].p_value < 0.05
    assert better["filtered", "item", "williams"].difference < 0


def test_a_sign_means_one_thing_in_every_table_and_a_value_is_the_same_in_each() -> None:
    judgements = simulated(np.random.default_rng(1))
    units = judgements["simplicity"].units()
    human = judgements.human("simplicity", units)
    noisy = -human + np.random.default_rng(2).normal(size=len(human))
    scores = MetricScores(units, {"up": mean_metric("up", human), "down": mean_metric("down", noisy, better="lower")})
    result = correlate_metrics(judgements, [scores], dimensions=["simplicity"], sampling=Sampling(resamples=20))
    for row in result.rows:
        assert row.estimate.value > 0, row
    assert result.metric_metric["up", "down"] > 0
    for pair in result.pairs:
        for name, value in ((pair.first, pair.difference.first), (pair.second, pair.difference.second)):
            assert value == pytest.approx(result.row(name, unit=pair.unit).estimate.value, abs=1e-12)
    assert all("Signs are reversed" in table.caption for table in result.tables())


@pytest.mark.long
@pytest.mark.parametrize("systems", [2, 3, 5, 6, 10])
def test_random_ratings_of_systems_prove_nothing(systems: int) -> None:
    rng = np.random.default_rng(systems)
    correlated, compared = [], []
    for _ in range(60):
        judgements = simulated(rng, systems=systems, items=20, raters=2)
        units = judgements["simplicity"].units()
        # Metrics that know nothing of the ratings but prefer some systems, as metrics do.
        columns = {name: rng.normal(size=systems)[units.system] + rng.normal(size=len(units)) for name in "ab"}
        result = correlate_metrics(
            judgements, [scores_of(judgements, columns)], dimensions=["simplicity"], units=["system"],
            sampling=Sampling(resamples=2),
        )  # fmt: skip
        correlated += [row.p_value for row in result.rows if row.statistic != "accuracy"]
        compared += [pair.difference.p_value for pair in result.pairs]
    ps = np.array(correlated + compared)
    if systems < FEWEST_SYSTEMS:
        assert np.isnan(ps).all()
        cells = [cell for table in result.tables() for row in table.rows for cell in row]
        assert not any("*" in cell or "[" in cell for cell in cells)
        assert any(f"fewer than {FEWEST_SYSTEMS} systems" in note.message for note in result.notes())
    else:
        assert not np.isnan(ps).any()
        assert np.mean(np.array(correlated) < 0.05) < 0.1
        assert np.mean(np.array(compared) < 0.05) < 0.1


def test_copies_of_an_item_are_no_new_evidence() -> None:
    # Twelve systems that wrote the same for each of ten items: the textbook's p sees 120 units, the jackknife ten.
    rng = np.random.default_rng(5)
    axes = (tuple(f"s{i}" for i in range(12)), tuple(map(str, range(10))), ("m",))
    human = np.broadcast_to(rng.normal(size=(1, 10, 1)), (12, 10, 1)).copy()
    judgements = Judgements("copies", *axes[:2], {"simplicity": Ratings("simplicity", *axes, human)})
    units = judgements["simplicity"].units()
    values = judgements.human("simplicity", units)
    scores = scores_of(judgements, {"m": 0.3 * values + np.tile(rng.normal(size=10), 12)})
    row = correlate_metrics(judgements, [scores], dimensions=["simplicity"], units=["item"]).row("m")
    alone = correlate(values[:10], scores["m"].segments[:10])
    assert row.p_independent < 1e-6 < alone.p_independent
    assert row.p_value == pytest.approx(alone.p_value)


@pytest.mark.parametrize("items", [12, 29, 30])
def test_few_items_are_said_where_items_are_drawn(items: int) -> None:
    judgements = simulated(np.random.default_rng(1), items=items)
    scores = scores_of(judgements, {"m": judgements.human("simplicity", judgements["simplicity"].units())})
    answers = [
        correlate_metrics(judgements, [scores], dimensions=["simplicity"], sampling=Sampling(resamples=2)),
        agreement(judgements, sampling=Sampling(resamples=2)),
    ]
    for answer, draws in zip(answers, (False, True), strict=True):
        assert ("few-items" in {note.code for note in answer.notes()}) == (draws and items < 30)


def test_slices_by_type_and_by_simplicity() -> None:
    judgements = simulated(np.random.default_rng(1))
    units = judgements["simplicity"].units()
    scores = scores_of(judgements, {"m": judgements.human("simplicity", units)})
    result = correlate_metrics(
        judgements, [scores], dimensions=["simplicity"], slices=("type", "simplicity"), sampling=Sampling(resamples=10)
    )
    assert result.slices["type=even"] == result.slices["type=odd"] == 300
    thirds = [result.slices[f"simplicity={name}"] for name in ("low", "middle", "high")]
    assert thirds == [200, 200, 200]
    with pytest.raises(BadInput, match="type"):
        correlate_metrics(replace(judgements, types={}), [scores], dimensions=["simplicity"], slices=("type",))


def test_undefined_is_undefined() -> None:
    judgements = simulated(np.random.default_rng(1))
    scores = scores_of(judgements, {"constant": np.ones(600), "absent": np.full(600, np.nan)})
    result = correlate_metrics(judgements, [scores], dimensions=["simplicity"], sampling=Sampling(resamples=20))
    for metric in ("constant", "absent"):
        for row in result.rows:
            if row.metric == metric and row.statistic != "accuracy":
                assert np.isnan(row.estimate.value), row
    assert all(np.isnan(pair.difference.p_value) for pair in result.pairs)


def test_an_interval_between_systems_holds_its_value() -> None:
    judgements = simulated(np.random.default_rng(2), systems=8, items=40)
    units = judgements["simplicity"].units()
    human = judgements.human("simplicity", units)
    scores = scores_of(judgements, {"m": human + np.random.default_rng(3).normal(size=len(units))})
    result = correlate_metrics(judgements, [scores], dimensions=["simplicity"], sampling=Sampling(resamples=300))
    row = result.row("m", unit="system")
    by_hand = [np.mean(human[units.system == s]) for s in range(8)], scores["m"].by_system(units)
    assert row.estimate.value == pytest.approx(scipy.stats.pearsonr(*by_hand).statistic)
    for row in result.rows:
        if row.unit == "system" and not np.isnan(row.estimate.low):
            assert row.estimate.low < row.estimate.value < row.estimate.high
            assert row.estimate.n == 8


def test_scores_from_a_file_of_plainly_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("system,id,sari,fkgl\nA,1,50,3\nA,2,40,2\nA,3,60,4\nB,1,20,9\n")
    judgements = small()
    units = judgements["simplicity"].units()
    scores = read_scores(units, path)
    np.testing.assert_array_equal(scores["sari"].segments, [50, 40, 60, 20, np.nan])
    assert scores["sari"].by_system(units).tolist() == [50, 20]
    path.write_text("system,id,sari\nC,1,50\n")
    with pytest.raises(BadInput):
        read_scores(units, path)
    path.write_text("system,id,sari\nA,1,50\nA,2,x\n")
    with pytest.raises(BadInput, match=r"scores.csv:3, column 'sari': 'x'"):
        read_scores(units, path)
    path.write_text("system,id,sari\nA,1,50\nA,1,51\n")
    with pytest.raises(BadInput, match=r"csv:3: item '1' of 'A' has scores already, in .*csv:2"):
        read_scores(units, path)


def test_columns_of_scores_are_metrics_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("system,id,group,rouge1,rouge2,score,bert:f1,fkgl,comment\nA,1,7,1,2,3,4,5,\nB,1,7,2,3,4,,6,good\n")
    units = small()["simplicity"].units()
    scores = read_scores(units, path)
    assert list(scores.metrics) == ["rouge1", "rouge2", "score", "bert:f1", "fkgl"]
    assert {name: metric.segments[[0, 3]].tolist() for name, metric in scores.metrics.items() if name != "bert:f1"} == {
        "rouge1": [1, 2], "rouge2": [2, 3], "score": [3, 4], "fkgl": [5, 6]
    }  # fmt: skip
    assert [name for name, metric in scores.metrics.items() if metric.better == "lower"] == ["fkgl"]
    assert "'comment'" in scores.remarks[0].message
    assert list(read_scores(units, path, metrics=["rouge2"]).metrics) == ["rouge2"]
    with pytest.raises(UnknownName, match="rouge2"):
        read_scores(units, path, metrics=["rouge3"])


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_plainlys_own_scores_come_back_complete(tmp_path: Path, suffix: str) -> None:
    judgements = small()
    items, texts = "13", {system: [OUTPUTS[system, item] for item in "13"] for system in "AB"}
    evaluation = plainly.score(
        sources=[SOURCES[item] for item in items], references=[REFERENCES["one"][item] for item in items],
        outputs=texts, ids=list(items), groups=["1", "2"], metrics=["sari", "sari(variant=hf)", "bleu", "fkgl", "chrf"],
        intervals=False,
    )  # fmt: skip
    path = tmp_path / f"scores.{suffix}"
    write_segments(str(path), evaluation)
    units = judgements["simplicity"].units()
    ours = read_scores(units, path)
    columns = evaluation.item_columns()
    assert set(columns) - set(ours.metrics) == {"system", "id", "group"}
    for name, metric in ours.metrics.items():
        expected = dict(zip(zip(columns["system"], columns["id"], strict=True), columns[name], strict=True))
        np.testing.assert_allclose(metric.segments, [expected.get(pair, np.nan) for pair in units.pairs])


def test_texts_of_a_test_set_are_joined_by_id() -> None:
    bare = replace(small(), sources={}, outputs={}, references={})
    units = bare["simplicity"].units()
    with pytest.raises(BadInput, match="test_set="):
        score_units(bare, units, ["fkgl"])
    evalset = EvalSet.of(list(SOURCES.values()), references=list(REFERENCES["one"].values()), ids=["1", "2", "3"])
    outputs = {s: [OUTPUTS.get((s, i), "") for i in "123"] for s in "AB"}
    joined = with_texts(bare, evalset, outputs)
    assert score_units(joined, units, ["sari"])["sari"].segments == pytest.approx(
        score_units(small(), units, ["sari"])["sari"].segments
    )
    with pytest.raises(BadInput, match="Item '"):
        with_texts(bare, evalset[:1], outputs)
    with pytest.raises(BadInput, match="'two'"):
        score_units(small(), units, ["sari"], references="two")
    with pytest.raises(BadInput, match="'A'"):
        score_units(replace(small(), outputs={("A", "1"): "x"}), units, ["fkgl"])


def test_filter_by_hand() -> None:
    judgements = small()
    units = judgements["simplicity"].units()
    # Meaning 4 3 4 5 4: mean 4, sd .632.
    assert Filter(("meaning",), threshold=0).mask(judgements, units).tolist() == [True, False, True, True, True]
    assert Filter(("meaning",), threshold=1).mask(judgements, units).tolist() == [False, False, False, True, False]
    assert Filter(("meaning",), threshold=5, unit="points").mask(judgements, units).sum() == 1
    without = Filter((), without_sources=["He was obliged, to leave the CITY in 1942."])
    assert without.mask(judgements, units).tolist() == [False, True, True, False, True]
    with pytest.raises(BadInput, match="percent"):
        Filter(unit="percent").mask(judgements, units)  # type: ignore[arg-type]


def test_tradeoff_is_least_squares_and_warns() -> None:
    rng = np.random.default_rng(0)
    judgements = simulated(rng)
    tradeoff = relate(judgements, "simplicity", "fluency")
    units = judgements["simplicity"].units()
    theirs = scipy.stats.linregress(judgements.human("simplicity", units), judgements.human("fluency", units))
    assert tradeoff.slope == pytest.approx(theirs.slope, abs=1e-9)
    assert tradeoff.intercept == pytest.approx(theirs.intercept, abs=1e-9)
    assert tradeoff.r2 == pytest.approx(theirs.rvalue**2, abs=1e-9)
    assert "rise and fall together" in tradeoff.warning
    inverse = replace(judgements["fluency"], values=-judgements["fluency"].values)
    turned = replace(judgements, ratings={**judgements.ratings, "adequacy": inverse})
    assert "inversely related" in relate(turned, "simplicity", "adequacy").warning
    assert relate(judgements, "fluency", "meaning").warning == ""


def test_within_systems_takes_away_what_systems_differ_by() -> None:
    # Within each system x and y are opposed; between systems they go together.
    values = np.array([[[0.0], [1], [2]], [[10], [11], [12]]])
    other = np.array([[[2.0], [1], [0]], [[12], [11], [10]]])
    axes = (("A", "B"), ("1", "2", "3"), ("m",))
    judgements = Judgements("w", *axes[:2], {"x": Ratings("x", *axes, values), "y": Ratings("y", *axes, other)})
    tradeoff = relate(judgements, "x", "y")
    assert tradeoff.correlation.value > 0.9
    assert tradeoff.within_systems == pytest.approx(-1)


def test_pareto_by_hand() -> None:
    means = {"A": (3, 1), "B": (1, 3), "C": (1, 1), "D": (3, 1)}
    axes = (tuple(means), ("1",), ("m",))
    judgements = Judgements(
        "p", *axes[:2],
        {n: Ratings(n, *axes, np.array([[[float(m[at])]] for m in means.values()])) for at, n in enumerate("xy")},
    )  # fmt: skip
    beaten = {standing.system: standing.beaten_by for standing in rank_standings(judgements, ["x", "y"])}
    assert beaten == {"A": (), "B": (), "D": (), "C": ("A", "B", "D")}


def test_raters_who_stand_apart_are_named() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(80, 1))
    ratings = truth + rng.normal(scale=0.7, size=(80, 10))
    ratings[:, 2] = rng.normal(size=80)
    ratings[:, 5] = -truth[:, 0]
    ratings[:, 7] = 3
    ratings[4:, 9] = np.nan
    raters = {rater.name: rater for rater in reliability(ratings)}
    assert "far less" in raters["3"].outlying or "without relation" in raters["3"].outlying
    assert "against the others" in raters["6"].outlying
    assert "same rating" in raters["8"].outlying
    assert np.isnan(raters["8"].correlation)
    assert "only 4" in raters["10"].outlying
    assert not any(raters[name].outlying for name in ("1", "2", "4", "5", "7", "9"))
    others = np.delete(ratings, 0, axis=1)
    expected = scipy.stats.pearsonr(ratings[:, 0], np.nanmean(others, axis=1)).statistic
    assert raters["1"].correlation == pytest.approx(expected, abs=1e-9)


def test_agreement_of_everything_at_once() -> None:
    rng = np.random.default_rng(0)
    values = np.clip(np.rint(3 + rng.normal(size=(3, 40, 1)) + rng.normal(scale=0.6, size=(3, 40, 4))), 1, 5)
    ratings = Ratings("s", ("A", "B", "C"), tuple(map(str, range(40))), tuple("wxyz"), values)
    result = agreement(ratings, sampling=Sampling(resamples=100))["s"]
    assert {name.partition(",")[0] for name in result.coefficients} == {
        "Krippendorff's alpha", "Fleiss' kappa", "Davies–Fleiss kappa", "Cohen's kappa", "ICC",
    }  # fmt: skip
    assert all(0 < each.value < 1 for each in result.coefficients.values())
    with pytest.raises(BadInput):
        agreement(small(), dimensions="meaning")
    with pytest.raises(BadInput):
        agreement(small()["meaning"])


def write_ratings(path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["system,item,rater,simplicity,meaning,source,output,type"]
    for system in "ABC":
        for item in range(12):
            words = " ".join(rng.choice(["cat", "house", "extraordinary", "ran", "dog"], size=rng.integers(3, 9)))
            for rater in "xyz":
                simplicity, meaning = rng.integers(1, 6), rng.integers(1, 6)
                lines.append(f"{system},{item},{rater},{simplicity},{meaning},the cat {item} .,{words} .,t{system}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write_ratings(tmp_path / "r.csv"))
    assert main(["meta", path, "-m", "fkgl,length", "--resamples", "50", "--by", "type", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["schema"] == "plainly.meta/1"
    rows = {(r["metric"], r["level"], r["slice"], r["statistic"]): r for r in payload["correlations"]}
    assert rows["fkgl", "item", "all", "pearson"]["n"] == 36
    assert rows["fkgl", "item", "type=tA", "kendall"]["n"] == 12
    tests = {(c["level"], c["test"].partition(",")[0]) for c in payload["comparisons"]}
    assert tests == {
        ("item", "williams"), ("item", "permute-items"), ("system", "williams"), ("system", "permute-systems")
    }  # fmt: skip
    assert main(["meta", path, "-m", "fkgl", "--latex", "--resamples", "20", "--no-tests"]) == 0
    assert r"\begin{tabular}" in capsys.readouterr().out
    assert main(["meta", path, "--resamples", "20"]) == 0
    out = capsys.readouterr().out
    assert "Krippendorff's alpha, ordinal" in out
    assert "on the frontier" in out
    assert main(["meta", path, "--agreement", "--csv", "--resamples", "20"]) == 0
    assert capsys.readouterr().out.startswith("dimension,name,value")
    svg = tmp_path / "plot.svg"
    assert main(["meta", path, "-m", "fkgl", "--resamples", "10", "--no-tests", "--plot", str(svg)]) == 0
    assert svg.read_text(encoding="utf-8").startswith("<svg")
    capsys.readouterr()


def test_from_python_a_result_shows_itself(tmp_path: Path) -> None:
    path = write_ratings(tmp_path / "r.csv")
    result = meta(
        path, metrics="fkgl,length", agreement=True, tradeoff=True, by=["type"], sampling=Sampling(resamples=30)
    )
    assert result.sampling == Sampling(resamples=30)
    assert result.correlations is not None
    assert result.agreement is not None
    assert result.tradeoff is not None
    row = result.correlations.row("fkgl", "kendall", slice="type=tA")
    assert row.estimate.n == 12
    with pytest.raises(BadInput, match="sari"):
        result.correlations.row("sari")
    payload = result.json()
    assert list(payload)[:4] == ["schema", "ratings", "seed", "dimensions"]
    assert {"correlations", "agreement", "relations"} <= payload.keys()
    assert len(result.records()) == sum(len(part.records()) for part in result.parts)
    assert {"metric", "name", "x"} <= set(result.to_pandas().columns)
    assert "Krippendorff's alpha, ordinal" in repr(result)
    assert "<table>" in result._repr_html_()
    alone = agreement(pandas.read_csv(path), sampling=Sampling(resamples=30))
    assert alone.json()["agreement"] == payload["agreement"]
    assert alone["meaning"].raters == 3
    with pytest.raises(BadInput, match="unit="):
        meta(path, metrics=["fkgl"], unit="item")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="tradeoff="):
        draw_correlations(meta(path, agreement=True, sampling=Sampling(resamples=5)))


def test_unit_is_what_is_correlated_and_level_is_confidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write_ratings(tmp_path / "r.csv"))

    def correlate(*arguments: str) -> tuple[set[str], set[float], str]:
        assert main(["meta", path, "-m", "fkgl", "--resamples", "20", "--json", *arguments]) == 0
        printed = capsys.readouterr()
        rows = json.loads(printed.out)["correlations"]
        warnings = "".join(line for line in printed.err.splitlines(keepends=True) if "few-items" not in line)
        return {row["level"] for row in rows}, {row["confidence"] for row in rows}, warnings

    assert correlate() == ({"item", "system"}, {0.95}, "")
    assert correlate("--unit", "systems", "--level", "0.8") == ({"system"}, {0.8}, "")
    assert correlate("--unit", "items", "--level", "0.9") == ({"item"}, {0.9}, "")
    assert main(["meta", path, "--level", "2"]) == 2
    assert "--level" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--dimension", "flavour"], "'flavour'"),
        (["-m", "sarri"], "'sari'"),
        (["-m", "sari"], "references"),
        (["-m", "fkgl", "--filter", "--filter-by", "clarity"], "clarity"),
        (["--scale", "5"], "LOW..HIGH"),
        (["--scale", "1..3"], "1..3"),
        (["--columns", "rater"], "ROLE=COLUMN"),
        (["--systems", "A,Z"], "Z"),
        (["-m", "fkgl", "--plot", "x.bmp"], ".svg"),
    ],
)
def test_command_line_faults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    path = str(write_ratings(tmp_path / "r.csv"))
    assert main(["meta", path, *arguments, "--resamples", "5"]) == 2
    assert says in capsys.readouterr().err
    assert main(["meta", str(tmp_path / "none.csv")]) == 2
    assert "none.csv" in capsys.readouterr().err


def test_undefined_is_null_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.csv"
    path.write_text("system,item,rater,rating\nA,1,x,3\nA,1,y,3\nA,2,x,3\nA,2,y,3\n")
    assert main(["meta", str(path), "--agreement", "--json", "--resamples", "20"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["agreement"]
    assert {each["value"] for each in entry["coefficients"]} == {None}
    assert entry["resampled_kappa"]["median"] is None


def test_plan_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write_ratings(tmp_path / "r.csv"))
    arguments = ["plan", path, "--budget", "60", "--resamples", "50", "--sentences", "5,12", "--raters", "1,3"]
    assert main([*arguments, "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["schema"] == "plainly.plan/1"
    assert payload["answer"].startswith("With 60 ratings for each system by 3 people, use 60 sentences with one rater")
    assert payload["budget"][0]["tau"] is None, "the pilot is too small to tell its systems apart"
    assert payload["pilot"]["told_apart"] == 0
    assert [(p["sentences"], p["raters"]) for p in payload["budget"]] == [(60, 1), (20, 3)]
    assert payload["correction"] == "Holm over 3 comparisons"
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith(payload["answer"])
    assert main([*arguments, "--csv"]) == 0
    assert capsys.readouterr().out.startswith("varied,sentences,raters,people,detectable,tau")
    svg = tmp_path / "curves.svg"
    assert main([*arguments, "--plot", str(svg)]) == 0
    assert svg.read_text(encoding="utf-8").startswith("<svg")
    capsys.readouterr()
    assert main(["plan", path, "--raters", "none"]) == 2
    assert "--raters" in capsys.readouterr().err
    assert main(["plan", path, "--sentences", "0"]) == 2
    assert "--sentences" in capsys.readouterr().err
    assert main([*arguments, "--people", "1"]) == 2
    assert "--people" in capsys.readouterr().err


@pytest.mark.mirror
def test_simplicity_da_by_reference_set(mirror: Path) -> None:
    judgements = load("simplicity-da")
    units = judgements["simplicity_zscore"].units()
    scores = [score_units(judgements, units, ["sari"], references=name) for name in ("asset", "turkcorpus")]
    result = correlate_metrics(
        judgements,
        scores,
        dimensions=["simplicity_zscore"],
        units=["item"],
        compare=False,
        sampling=Sampling(resamples=100),
    )
    human = judgements.human("simplicity_zscore", units)
    values = []
    for name, of_set in zip(("asset", "turkcorpus"), scores, strict=True):
        values.append(result.row("sari", references=name).estimate.value)
        assert values[-1] == pytest.approx(scipy.stats.pearsonr(of_set["sari"].segments, human).statistic)
    assert values == pytest.approx([0.236, 0.310], abs=0.001)
