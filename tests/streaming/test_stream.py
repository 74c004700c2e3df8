"""A corpus in parts gives the scores of the corpus held whole, however it is divided; bad rows are named."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpora import Synthetic, make
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling
from plainly.scoring.compare import compare
from plainly.scoring.corpus_evaluation import CorpusOptions, evaluate_corpus
from plainly.scoring.evaluate import add_intervals, evaluate
from plainly.scoring.score import score
from plainly.scoring.score_file import open_saved, save
from plainly.scoring.scores import BinnedEvaluation, ScoreTable
from plainly.stats.exact_sum import BINS, BinnedSum, BinOrder, ExactSum, bins_of
from plainly.stats.resample import PoissonResampler, Resampler, interval
from plainly.streaming import batches as indexing
from plainly.streaming.batches import JsonlPart, index_lines
from plainly.streaming.corpus import Corpus, open_corpus

CorpusScores = dict[tuple[str, str], dict[str, float]]  # (system, spec) → corpus scores
METRICS = ["sari", "sari(variant=xu)", "bleu", "fkgl"]  # xu's rows are not whole numbers


@pytest.fixture(scope="module")
def synthetic() -> Synthetic:
    return make(1200)


@pytest.fixture(scope="module")
def whole(synthetic: Synthetic) -> CorpusScores:
    result = evaluate(synthetic.evalset, synthetic.outputs, METRICS, sampling=None)
    return {(system, spec): result[system][spec].corpus for system in result for spec in METRICS}


def run(
    corpus: Corpus,
    *,
    metrics: list[str] = METRICS,
    processes: int = 1,
    resamples: int = 50,
    hold: bool = False,
    **options: Any,
) -> ScoreTable:
    """As a corpus too large to hold is measured, unless ``hold`` says otherwise."""
    corpus_options = CorpusOptions(processes=processes, hold=hold, **options)
    return evaluate_corpus(corpus, metrics, corpus_options, sampling=Sampling(resamples=resamples))


def scores(result: ScoreTable) -> CorpusScores:
    return {(system, spec): tally.corpus for system, by in result.systems.items() for spec, tally in by.items()}


def assert_same(result: ScoreTable, whole: CorpusScores) -> None:
    mine = scores(result)
    assert mine.keys() == whole.keys()
    for key, expected in whole.items():
        for name, value in expected.items():
            assert mine[key][name] == pytest.approx(value, rel=1e-12, abs=1e-12), (key, name)


@pytest.mark.parametrize(("files", "rows_a_group"), [(1, 5000), (3, 170), (7, 64)])
def test_parquet_in_any_division_gives_the_scores_of_the_whole(
    tmp_path: Path,
    synthetic: Synthetic,
    whole: CorpusScores,
    files: int,
    rows_a_group: int,
) -> None:
    corpus = open_corpus([str(synthetic.write_parquet(tmp_path / "shards", files=files, rows_a_group=rows_a_group))])
    result = run(corpus)
    assert_same(result, whole)
    assert result.complete
    assert result.n == result.reading.rows == len(synthetic.evalset)
    assert isinstance(result, BinnedEvaluation)


def test_every_division_gives_the_very_same_numbers(tmp_path: Path, synthetic: Synthetic) -> None:
    one = run(open_corpus([str(synthetic.write_parquet(tmp_path / "a", files=1, rows_a_group=5000))]), resamples=100)
    two = run(open_corpus([str(synthetic.write_parquet(tmp_path / "b", files=5, rows_a_group=97))]), resamples=100)
    for key, result in scores(one).items():
        expected = (
            {name: pytest.approx(value, rel=1e-12) for name, value in result.items()} if "xu" in key[1] else result
        )
        assert scores(two)[key] == expected  # bit for bit where rows are counts
    for system, by in one.systems.items():
        for spec, tally in by.items():
            other = two[system][spec]
            assert tally.signature == other.signature
            for name, estimate in tally.intervals.items():
                assert other.intervals[name].low == pytest.approx(estimate.low, rel=1e-12)
                assert other.intervals[name].high == pytest.approx(estimate.high, rel=1e-12)


def test_jsonl_and_texts_give_the_scores_of_the_whole(
    tmp_path: Path,
    synthetic: Synthetic,
    whole: CorpusScores,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("plainly.streaming.batches", "plainly.streaming.corpus"):
        monkeypatch.setattr(f"{module}.BATCH_ITEMS", 80)
    path = synthetic.write_jsonl(tmp_path / "made.jsonl")
    corpus = open_corpus([str(path)])
    assert len(corpus.parts) == 4
    assert_same(run(corpus), whole)
    packed = tmp_path / "made.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    unpacked = open_corpus([str(packed)])
    assert_same(run(unpacked), whole)
    unpacked.close()
    assert not Path(unpacked.scratch[0]).exists()
    assert_same(run(open_corpus(**synthetic.write_texts(tmp_path / "texts"))), whole)  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_are_found_wherever_chunks_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(indexing, "_CHUNK", 7)
    monkeypatch.setattr(indexing, "BATCH_ITEMS", 3)
    lines = [f"line {number} \u2028 ä" * (number % 4) for number in range(20)]
    for text in (ending.join(lines), ending.join(lines) + ending):
        path = tmp_path / "lines.txt"
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
        result = index_lines(str(path))
        assert result.lines == len(lines)
        assert [line for span in result.spans(range(len(result.begins))) for line in span.texts()] == lines


def test_sums_are_exact_in_any_order() -> None:
    rng = np.random.default_rng(7)
    rows = np.concatenate([rng.normal(size=(4000, 3)) * 10.0 ** rng.integers(-8, 8, size=(4000, 3)), [[0.1, 2**40, 1]]])
    first = ExactSum.of(rows)
    shuffled = rows[rng.permutation(len(rows))]
    pieces = [ExactSum.of(piece) for piece in np.array_split(shuffled, 37)]
    second = pieces[0]
    for piece in pieces[1:]:
        second += piece
    assert type(first) is type(second)
    np.testing.assert_allclose(first.to_floats(), rows.sum(axis=0), rtol=1e-13)
    assert np.isnan(ExactSum.of(np.array([[1.0], [np.nan]])).to_floats()[0])


def test_bins_take_items_evenly_and_lose_none() -> None:
    keys = [str(number) for number in range(200_000)]
    counts = np.bincount(bins_of(keys), minlength=BINS)
    expected = len(keys) / BINS
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert abs(chi_square - BINS) < 5 * np.sqrt(2 * BINS)  # its mean and deviation when bins are drawn at random
    rows = np.ones((1000, 2))
    binned = BinnedSum.zero(2)
    binned.add(rows, BinOrder.of(keys[:1000]))
    assert binned.rows.sum() == 2000


@pytest.mark.parametrize("items", [300, 20_000])
def test_poisson_and_ordinary_bootstrap_agree(items: int) -> None:
    """Widths agree within what 2,000 draws and 8,192 bins leave to chance (about 2 % each; four deviations asked)."""
    rng = np.random.default_rng(items)
    rows = np.stack([rng.gamma(2.0, size=items), rng.gamma(3.0, size=items)], axis=1)

    def ratio(totals: np.ndarray) -> np.ndarray:
        return totals[..., :1] / totals[..., 1:]

    binned = BinnedSum.zero(2)
    binned.add(rows, BinOrder.of([f"x{number}" for number in range(items)]))
    drawn = PoissonResampler(2000, 1).totals([binned.rows])[0]
    poisson = interval(binned.rows, ratio, drawn, sampling=Sampling())[0]
    drawn = Resampler(n=items, resamples=2000, seed=2).totals([rows])[0]
    ordinary = interval(rows, ratio, drawn, sampling=Sampling())[0]
    width = ordinary.high - ordinary.low
    assert (poisson.high - poisson.low) / width == pytest.approx(1, abs=0.12)
    assert abs(poisson.low - ordinary.low) < 0.12 * width
    assert abs(poisson.high - ordinary.high) < 0.12 * width


def test_intervals_agree_with_those_of_the_whole(tmp_path: Path, synthetic: Synthetic) -> None:
    corpus = open_corpus([str(synthetic.write_parquet(tmp_path / "shards", files=2, rows_a_group=400))])
    result = run(corpus, metrics=["sari", "fkgl"], resamples=1000)
    ordinary = evaluate(synthetic.evalset, synthetic.outputs, ["sari", "fkgl"])
    for system, by in result.systems.items():
        for spec, tally in by.items():
            mine, other = tally.value, ordinary[system][spec].value
            width = other.high - other.low  # type: ignore[union-attr]
            assert abs(mine.low - other.low) < 0.15 * width  # type: ignore[union-attr]
            assert abs(mine.high - other.high) < 0.15 * width  # type: ignore[union-attr]
            assert "Poisson" in mine.method  # type: ignore[union-attr]


def test_comparisons_agree_with_those_of_the_whole(tmp_path: Path, synthetic: Synthetic) -> None:
    corpus = open_corpus([str(synthetic.write_parquet(tmp_path / "shards", files=2, rows_a_group=400))])
    streamed = compare(run(corpus, metrics=["sari", "fkgl"], count_wins=True, resamples=1000), trials=500)
    held = compare(evaluate(synthetic.evalset, synthetic.outputs, ["sari", "fkgl"]), trials=500)
    for mine, other in zip(streamed.comparisons, held.comparisons, strict=True):
        assert (mine.system, mine.baseline, mine.metric, mine.test) == (
            other.system, other.baseline, other.metric, other.test,
        )  # fmt: skip
        assert mine.difference == pytest.approx(other.difference, abs=1e-12)
        assert (mine.wins, mine.losses, mine.ties, mine.n) == (other.wins, other.losses, other.ties, other.n)
        assert mine.effect_size == pytest.approx(other.effect_size, rel=0.1)
        assert mine.smallest_detectable == pytest.approx(other.smallest_detectable, rel=0.1)
        assert mine.p_value == pytest.approx(other.p_value, abs=0.05)


def test_groups_are_drawn_as_wholes(tmp_path: Path) -> None:
    """With every sentence in one of 20 documents of its own level, intervals by document are far wider than by item."""
    synthetic = make(800)
    records = synthetic.records()
    for number, record in enumerate(records):
        record["group"] = f"doc {number // 40}"
        record["output"] = synthetic.evalset.references[number][0] if (number // 40) % 2 else record["source"]
    table = pa.Table.from_pylist([{k: v for k, v in r.items() if not k.startswith("output_")} for r in records])
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.drop_columns(["group"]), tmp_path / "b.parquet")
    by_group = run(open_corpus([str(tmp_path / "a.parquet")]), metrics=["sari"], resamples=400)["a"]["sari"].value
    by_item = run(open_corpus([str(tmp_path / "b.parquet")]), metrics=["sari"], resamples=400)["b"]["sari"].value
    assert "over groups" in by_group.method  # type: ignore[union-attr]
    assert by_group.high - by_group.low > 2 * (by_item.high - by_item.low)  # type: ignore[union-attr]


@pytest.mark.long
@pytest.mark.parametrize("hold", [False, True])
def test_few_groups_expand_intervals_in_every_engine_and_in_saved_scores(tmp_path: Path, hold: bool) -> None:
    """Six groups, of which bins hold one each: the interval is that of six, in every engine."""
    synthetic = make(60)
    records = [{**record, "group": f"doc {at // 10}"} for at, record in enumerate(synthetic.records())]
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    corpus = open_corpus([str(tmp_path / "a.parquet")])
    results = [run(corpus, metrics=["sari"], hold=hold, processes=processes, resamples=400) for processes in (1, 2)]
    save(str(tmp_path / "saved.npz"), results[0])
    results.append(score(open_saved(str(tmp_path / "saved.npz")), sampling=Sampling(resamples=400)))
    if hold:
        evalset = replace(synthetic.evalset, groups=tuple(record["group"] for record in records))
        results.append(evaluate(evalset, synthetic.outputs, ["sari"], sampling=Sampling(resamples=400)))
    system = next(iter(results[0]))
    estimates = [result[system]["sari"].value for result in results]
    for estimate in estimates[1:]:
        assert (estimate.low, estimate.high) == pytest.approx((estimates[0].low, estimates[0].high), rel=1e-12)
    plain = add_intervals(replace(results[0], sampling=Sampling(resamples=400, method="percentile")))
    ends = plain[system]["sari"].value
    assert estimates[0].low < ends.low < ends.high < estimates[0].high
    compared = compare(results[0]).comparisons[0]
    narrow = compare(results[0], sampling=Sampling(resamples=400, method="percentile")).comparisons[0]
    assert compared.low < narrow.low <= narrow.high < compared.high


@pytest.mark.parametrize("processes", [1, 2, pytest.param(4, marks=pytest.mark.long)])
def test_a_corpus_that_can_be_held_is_evaluated_as_in_memory(
    tmp_path: Path, synthetic: Synthetic, processes: int
) -> None:
    """Not alike: the same, intervals, signatures and every other key of the JSON included."""
    corpus = open_corpus([str(synthetic.write_jsonl(tmp_path / "made.jsonl"))])
    streamed = run(corpus, hold=True, processes=processes).json()
    named = replace(synthetic.evalset, name=corpus.name)
    assert streamed == evaluate(named, synthetic.outputs, METRICS, sampling=Sampling(resamples=50)).json()


def test_the_fingerprint_does_not_depend_on_order_or_reading(tmp_path: Path, synthetic: Synthetic) -> None:
    corpus = open_corpus([str(synthetic.write_parquet(tmp_path / "shards", files=3, rows_a_group=100))])
    binned = run(corpus, metrics=["sari"])
    reversed_set = synthetic.evalset[::-1]
    system = next(iter(synthetic.outputs))
    memory = evaluate(reversed_set, {system: synthetic.outputs[system][::-1]}, ["sari"], sampling=None)
    assert binned[system]["sari"].signature == memory[system]["sari"].signature
    other = evaluate(reversed_set[1:], {system: synthetic.outputs[system][::-1][1:]}, ["sari"], sampling=None)
    assert other[system]["sari"].signature != memory[system]["sari"].signature


def test_segments_are_those_of_the_whole(tmp_path: Path, synthetic: Synthetic) -> None:
    corpus = open_corpus([str(synthetic.write_parquet(tmp_path / "shards", files=3, rows_a_group=200))])
    run(corpus, metrics=["sari"], segments=tmp_path / "segments", processes=2)
    table = pq.read_table(tmp_path / "segments").to_pylist()
    held = evaluate(synthetic.evalset, synthetic.outputs, ["sari"], sampling=None)
    assert len(table) == len(synthetic.evalset) * len(synthetic.outputs)
    at = {name: place for place, name in enumerate(synthetic.evalset.ids)}
    for row in table[:: len(table) // 50]:
        assert row["sari"] == pytest.approx(held[row["system"]]["sari"].segments["sari"][at[row["id"]]], abs=1e-9)
        assert row["file"].endswith(".parquet")


def _bad_jsonl(path: Path, synthetic: Synthetic) -> Path:
    lines = [json.dumps(record, ensure_ascii=False).encode() for record in synthetic.records()[:50]]
    lines[4] = lines[4].replace(b"output_", b"said_")  # a column is missing
    lines[9] = b'{"id": 7, "source": 3'  # no JSON
    lines[19] = lines[19].replace(b'"source": "', b'"source": "\xff')  # not UTF-8
    lines[29] = json.dumps({**json.loads(lines[29]), "source": 12}).encode()  # another type
    lines[39] = json.dumps({**json.loads(lines[39]), "references": []}).encode()
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_bad_rows_are_named_and_counted(tmp_path: Path, synthetic: Synthetic) -> None:
    path = _bad_jsonl(tmp_path / "bad.jsonl", synthetic)
    with pytest.raises(BadInput, match=r"bad\.jsonl, row 5: column 'output_.*on_error='set-aside'"):
        run(open_corpus([str(path)]), metrics=["sari"])
    listed = tmp_path / "aside.jsonl"
    result = run(open_corpus([str(path)]), metrics=["sari"], on_error="set-aside", set_aside=listed)
    assert [bad.first for bad in result.reading.bad] == [5, 10, 20, 30, 40]
    assert (result.reading.set_aside, result.n, result.reading.rows, result.complete) == (5, 45, 50, True)
    assert "not JSON" in result.reading.bad[1].reason
    assert "not UTF-8" in result.reading.bad[2].reason
    assert "'source'" in result.reading.bad[3].reason
    assert "no references" in result.reading.bad[4].reason
    assert [json.loads(line)["first"] for line in listed.read_text().splitlines()] == [5, 10, 20, 30, 40]
    good = [at for at in range(50) if at + 1 not in (5, 10, 20, 30, 40)]
    held = evaluate(synthetic.evalset[good], {k: [v[i] for i in good] for k, v in synthetic.outputs.items()}, ["sari"])
    assert scores(result)[next(iter(synthetic.outputs)), "sari"]["sari"] == pytest.approx(
        held[next(iter(synthetic.outputs))]["sari"].corpus["sari"], abs=1e-12
    )


def test_bad_rows_of_parquet(tmp_path: Path, synthetic: Synthetic) -> None:
    folder = synthetic.write_parquet(tmp_path / "shards", files=3, rows_a_group=100)
    table = pq.read_table(folder / "part-1.parquet")
    renamed = table.rename_columns([name.replace("source", "sauce") for name in table.column_names])
    pq.write_table(renamed, folder / "part-1.parquet")
    third = pq.read_table(folder / "part-2.parquet")
    raw = [text.encode() for text in third["source"].to_pylist()]
    raw[6] = b"caf\xe9"
    at = third.column_names.index("source")
    broken = pa.Array.from_buffers(pa.string(), len(raw), pa.array(raw, pa.binary()).buffers())
    pq.write_table(third.set_column(at, "source", broken), folder / "part-2.parquet")
    with pytest.raises(BadInput, match=r"part-1\.parquet, rows 1 to 400: .*no column 'source'"):
        run(open_corpus([str(folder)]), metrics=["sari"])
    result = run(open_corpus([str(folder)]), metrics=["sari"], on_error="set-aside", processes=2)
    assert result.reading.set_aside == 401
    assert result.n == 799
    assert (result.reading.bad[-1].file.endswith("part-2.parquet"), result.reading.bad[-1].first) == (True, 7)


def test_bad_lines_of_texts(tmp_path: Path, synthetic: Synthetic) -> None:
    files = synthetic.write_texts(tmp_path)
    source = Path(str(files["source"]))
    lines = source.read_bytes().split(b"\n")
    lines[2] = b"\xff\xfe?"
    source.write_bytes(b"\n".join(lines))
    with pytest.raises(BadInput, match=r"source\.txt, row 3: this line is not UTF-8"):
        run(open_corpus(**files), metrics=["fkgl"])  # type: ignore[arg-type]
    result = run(open_corpus(**files), metrics=["fkgl"], on_error="set-aside")  # type: ignore[arg-type]
    assert (result.reading.set_aside, result.n) == (1, len(synthetic.evalset) - 1)
    source.write_bytes(b"\n".join(lines[:100]))
    with pytest.raises(BadInput, match="100"):
        open_corpus(**files)  # type: ignore[arg-type]


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"nonsense")
    with pytest.raises(BadInput, match=r"a\.parquet"):
        open_corpus([str(tmp_path)])
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="Parquet"):
        open_corpus([str(tmp_path / "empty")])


@pytest.mark.parametrize("processes", [1, 2])
def test_a_corpus_that_is_held_is_read_once(
    tmp_path: Path, processes: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"id": f"i{at}", "source": f"A cat {at} sat.", "output": f"A cat {at}.", "kind": "a"} for at in range(33_000)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    read: list[int] = []
    before = JsonlPart.read
    monkeypatch.setattr(JsonlPart, "read", lambda self, *a, **b: (read.append(self.first), before(self, *a, **b))[1])
    arguments = [
        "score",
        str(path),
        "-m",
        "length",
        "--engine",
        "local",
        "--processes",
        str(processes),
        "--json",
        "--resamples",
        "20",
    ]
    assert main([*arguments, "--by", "kind", "--no-advice"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == 33_000
    assert len(read) == len(set(read)) == (2 if processes == 1 else 0)  # the rest is read by the workers
