"""Imports and exports are lossless: public sets, unusual characters, formulas; and all counts agree."""

from __future__ import annotations

import csv
import io
import itertools
import json
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from plainly import data
from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling
from plainly.people.rating_tables import unescape_formula
from plainly.text.words import token_spans
from plainly_studio import creation, exports, live, tasks
from plainly_studio.exports import Ledger
from plainly_studio.project import parse_project
from plainly_studio.store import Store
from studio.conftest import Make, Rater, four, integrity_faults, local_client, rater, rating_project, simple_items


def import_into(tmp_path: Path, name: str, database: str = "") -> tuple[Store, Ledger]:
    store = Store(database or f"sqlite:///{tmp_path}/imported.db", create=True)
    creation.import_set(store, name)
    ledger = Ledger(store)
    ledger.refresh()
    return store, ledger


@pytest.mark.long
@pytest.mark.mirror
def test_all_assetann_pairs_come_out_as_they_went_in(mirror: Path, tmp_path: Path) -> None:
    from plainly.typology import formats

    store, ledger = import_into(tmp_path, "assetann/annotations")
    pairs = formats.load("assetann/annotations")
    with zipfile.ZipFile(io.BytesIO(exports.write(ledger, store.project(), "aln"))) as archive:
        out = {name: archive.read(name).decode() for name in archive.namelist()}
    assert len(pairs) == 3590
    actual = {}
    for name, text in out.items():
        if name.endswith(".aln"):
            part = name.split(".")[0]
            for pair in formats.read_yawat(text, out[name.replace(".aln", ".crp")], part=part):
                actual[part, pair.id] = pair
    plain = {"".join(one if one.isalnum() or one in "-_" else "_" for one in pair.part): pair.part for pair in pairs}
    assert {
        (plain[part], number): (pair.groups, pair.source_tokens, pair.output_tokens)
        for (part, number), pair in actual.items()
    } == {(pair.part, pair.id): (pair.groups, pair.source_tokens, pair.output_tokens) for pair in pairs}
    assert sum(len(pair.groups) for pair in actual.values()) == 19_811
    rows = list(exports.rows(ledger, store.project()))
    assert len([row for row in rows if row["labels"]]) == 19_811
    assert len({(row["system"], row["item"]) for row in rows}) == 3590, "pairs without an operation have a row too"
    assert live.overview(ledger, store.project())["answers"] == 3590
    store.close()


@pytest.mark.mirror
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_all_asset_ratings_come_out_as_they_went_in(mirror: Path, tmp_path: Path, database: str, form: str) -> None:
    if database and form != "jsonl":
        pytest.skip("one format is enough to compare the databases")
    store, ledger = import_into(tmp_path, "asset/ratings", database)
    table = data.table("asset/ratings")
    expected = Counter(
        (str(table["original_sentence_id"][at]), table["original"][at], table["simplification"][at],
         str(table["worker_id"][at]), table["aspect"][at], float(table["rating"][at]))
        for at in range(len(table))
    )  # fmt: skip
    content = exports.write(ledger, store.project(), form)
    if form == "csv":
        rows: Any = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
        rows = [{name: unescape_formula(value) for name, value in row.items()} for row in rows]
    elif form == "jsonl":
        rows = [json.loads(line) for line in content.splitlines()]
    else:
        rows = pq.read_table(io.BytesIO(content)).to_pylist()
    actual = Counter(
        (row["item"], row["source"], row["output"], row["rater"], row["dimension"], float(row["rating"]))
        for row in rows
    )
    assert actual == expected
    assert sum(actual.values()) == 4500
    figures = live.overview(ledger, store.project())
    (sql,) = store.read(lambda connection: connection.exec_driver_sql("SELECT count(*) FROM entry").one())
    assert figures["ratings"] == len(rows) == 4500
    assert figures["answers"] == sql
    again = Path(tmp_path / f"again.{form}")
    again.write_bytes(content)
    second = Store(f"sqlite:///{tmp_path}/second.db", create=True)
    creation.import_set(second, str(again))
    other = Ledger(second)
    other.refresh()
    first_rows = sorted(json.dumps({**row, "at": "", "seconds": None}) for row in exports.rows(ledger, store.project()))
    second_rows = sorted(
        json.dumps({**row, "at": "", "seconds": None}) for row in exports.rows(other, second.project())
    )
    assert first_rows == second_rows, "the export is itself a table that can be imported"
    store.close()
    second.close()


@pytest.mark.mirror
@pytest.mark.parametrize("name", ["simplicity-da/ratings", "acl2018/ratings", "asset/pairwise"])
def test_other_public_sets_keep_every_row(mirror: Path, tmp_path: Path, name: str) -> None:
    store, ledger = import_into(tmp_path, name)
    assert len(list(exports.rows(ledger, store.project()))) == len(data.table(name))
    store.close()


ODD = [
    "plain",
    "👩‍👩‍👧 family 🏳️‍🌈",
    "e\u0301te\u0301 nai\u0308ve",
    "שלום עולם \u202eabc",
    '=HYPERLINK("http://x")',
    "+1 -2 @SUM(A1)",
    "'=already",
    "tab\tand\nnewline",
    "𝒜𝓃 astral 𐍈",
    "<img src=x onerror=alert(1)>",
]


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("how", ["words", "spaces"])
def test_tokens_and_offsets_are_those_of_the_text(text: str, how: str) -> None:
    places = token_spans(text, how)
    assert [text[start:end] for start, end in places] == tasks.tokens(text, how)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(places))
    between = "".join(
        text[end:start] for (_, end), (start, _) in zip([(0, 0), *places], [*places, (len(text), 0)], strict=True)
    )
    assert not between.strip(), "nothing but white space is left out"


def test_combining_marks_and_joined_emoji_stay_in_one_token() -> None:
    assert tasks.tokens("👩‍👩‍👧 e\u0301t! 👍🏽", "words") == ["👩‍👩‍👧", "e\u0301t", "!", "👍🏽"]


def test_an_export_names_the_extra_that_it_needs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(rating_project(), simple_items(2))
    owner = Rater("http://localhost", study.owner_token, client=local_client(study))
    assert owner.client.get("/owner/export/parquet").content.startswith(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = owner.client.get("/owner/export/parquet")
    assert answer.status_code == 501
    assert "plainly[parquet]" in answer.text


def test_odd_text_survives_every_export(make: Make, database: str) -> None:
    study = make(rating_project(), simple_items(len(ODD)), database=database)
    one = rater(study)
    for text in ODD:
        (item,) = one.claim()["items"]
        assert one.answer(item, {**four(), "comment": text}).status_code == 201
    ledger = Ledger(study.store)
    ledger.refresh()
    comments = Counter(ODD * 4)
    as_lines = [json.loads(line) for line in exports.write(ledger, study.project, "jsonl").splitlines()]
    assert Counter(row["comment"] for row in as_lines) == comments
    as_csv = list(csv.DictReader(io.StringIO(exports.write(ledger, study.project, "csv").decode(), newline="")))
    assert Counter(unescape_formula(row["comment"]) for row in as_csv) == comments
    for row in as_csv:
        for cell in (row["comment"], row["source"], row["output"], row["system"]):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")), "no spreadsheet runs this"
        float(row["rating"])
    as_parquet = pq.read_table(io.BytesIO(exports.write(ledger, study.project, "parquet"))).to_pylist()
    assert Counter(row["comment"] for row in as_parquet) == comments


def test_operations_keep_offsets_in_code_points(make: Make) -> None:
    from plainly_studio.creation import make_item

    project = parse_project({"name": "ops", "task": "operations"})
    source, output = "👩‍👩‍👧 ran 𝒜way", "They ran away שלום"
    study = make(project, [make_item(source, [("s", output)], name="1")])
    one = rater(study)
    (item,) = one.claim()["items"]
    assert [text for _, text in item["source_spans"]] == ["👩‍👩‍👧", "ran", "𝒜way"]
    groups = [{"source": [0, 2], "output": [3, 0], "labels": ["synonym", "move"]}]
    assert one.answer(item, {"groups": groups}).status_code == 201
    ledger = Ledger(study.store)
    ledger.refresh()
    (row,) = exports.rows(ledger, project)
    for side, text in (("source", source), ("output", output)):
        cut = [text[slice(*map(int, span.split("-")))] for span in row[f"{side}_spans"].split(",")]
        assert cut == [tasks.tokens(text, "words")[at] for at in groups[0][side]]


@pytest.mark.long
def test_fifty_thousand_ratings_are_summed_up(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = ["system,item,rater,dimension,rating"]
    for item in range(2500):
        truth = rng.normal(0, 1, 4)
        for who in range(5):
            values = np.clip(np.round(3 + truth + rng.normal(0, 0.7, 4)), 1, 5)
            lines += [f"s{item % 4},{item},r{(item + who) % 40},d{at},{int(v)}" for at, v in enumerate(values)]
    (tmp_path / "many.csv").write_text("\n".join(lines))
    store, ledger = import_into(tmp_path, str(tmp_path / "many.csv"))
    project = store.project()
    columns = list(live.agreement_columns(ledger, project, ledger.answers()))
    actual = [column.ratings.krippendorff().value for column in columns]
    whole = live.overview(ledger, project)
    assert whole["ratings"] == 50_000
    assert all(0.4 < value < 0.9 for value in actual)
    store.close()


def test_a_backup_while_running_is_whole_and_private(make: Make, tmp_path: Path) -> None:
    study = make(rating_project(), simple_items(4))
    one = rater(study)
    (item,) = one.claim()["items"]
    one.answer(item, four())
    copy = tmp_path / "copy.db"
    study.store.copy_to(copy)
    assert copy.stat().st_mode & 0o777 == 0o600
    second = Store(f"sqlite:///{copy}")
    assert integrity_faults(second) == []
    ledger = Ledger(second)
    ledger.refresh()
    assert len(ledger.answers()) == 1
    second.close()
    with pytest.raises(BadInput, match=copy.name):
        study.store.copy_to(copy)


@pytest.mark.mirror
@pytest.mark.parametrize("name", ["asset/ratings", pytest.param("acl2018/ratings", marks=pytest.mark.long)])
def test_agreement_is_that_of_plainly_meta(mirror: Path, tmp_path: Path, name: str) -> None:
    from plainly.people import read_ratings
    from plainly.people.meta_evaluation import agreement

    store, ledger = import_into(tmp_path, name)
    project = store.project()
    (tmp_path / "ratings.csv").write_bytes(exports.write(ledger, project, "csv"))
    figures = {row["name"]: row for row in live.overview(ledger, project)["agreement"]}
    for ratings in (read_ratings(tmp_path / "ratings.csv"), exports.judgements(ledger, project)):
        assert set(ratings.dimensions) == set(figures)
        for scale in project.scales:
            actual = agreement(ratings[scale.name], sampling=Sampling(resamples=20))
            expected = actual[scale.name].coefficients[f"Krippendorff's alpha, {scale.level}"].value
            assert figures[scale.name]["alpha"] == pytest.approx(expected, abs=1e-9)
    store.close()


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "entries.jsonl"])
@pytest.mark.parametrize("task", ["rating", "ranking", "operations"])
def test_what_was_exported_comes_back_whole(make: Make, tmp_path: Path, task: str, form: str) -> None:
    import plainly_studio
    from plainly_studio import people as roster
    from plainly_studio.creation import make_item

    scale = {
        "name": "ease",
        "question": "Easy?",
        "minimum": 1,
        "maximum": 7,
        "low": "no",
        "high": "=yes",
        "level": "interval",
    }
    how = {"scales": [scale]} if task == "rating" else {}
    outputs = [("a", "'=One two."), ("b", "+Two.")] if task == "ranking" else [("s/1", "-LRB- x")]
    study = make(parse_project({"name": "x", "task": task, "assignment": {"overlap": 3, "ahead": 10}, **how}),
        [make_item("-LRB- One two three.", outputs, name=f"{at}") for at in range(3)])  # fmt: skip
    answers: dict[str, list[Any]] = {
        "rating": [{"values": {"ease": 2}, "comment": "-1"}, {"cannot_judge": True}, {"values": {"ease": 7}}],
        "ranking": [{"choice": {"best": 1}}, {"cannot_judge": True}, {"choice": {"tie": True}}],
        "operations": [{"groups": [{"source": [0, 1], "output": [], "labels": ["delmod"]}]}, {"cannot_judge": True},
            {"groups": []}],
    }  # fmt: skip
    people = [rater(study), rater(study)]
    for one in people:
        for item, answer in zip(one.claim(3)["items"], answers[task], strict=True):
            assert one.answer(item, answer).status_code == 201
            if answer is answers[task][0]:
                assert one.answer({**item, "revision": 1}, {**answer, "comment": "again"}).status_code == 201
    study.store.write_now(lambda c: roster.exclude(c, people[1].name, why="bad", replace=False, by="x"))
    file = tmp_path / f"export.{form}"
    file.write_bytes(plainly_studio.export(study.file, form))
    plainly_studio.import_set(tmp_path / "again.toml", str(file))
    first, second = (
        [json.loads(line) for line in plainly_studio.export(where, "jsonl").splitlines()]
        for where in (study.file, tmp_path / "again.toml")
    )
    assert first == second
    if form == "entries.jsonl":
        before, after = (
            [json.loads(line) | {"entry": 0} for line in plainly_studio.export(where, form).splitlines()]
            for where in (study.file, tmp_path / "again.toml")
        )
        assert before == after, "every revision too"
        assert sum(line.get("revision") == 2 for line in after) == 2


def test_names_of_alignment_files_are_unique(make: Make) -> None:
    from plainly_studio.creation import make_item

    project = parse_project({"name": "ops", "task": "operations", "assignment": {"ahead": 10}})
    systems = ("a.b", "a_b", "a/b")
    study = make(project, [make_item("One two.", [(name, "One.")], name="1") for name in systems])
    one = rater(study)
    for item in one.claim(10)["items"]:
        one.answer(item, {"groups": [{"source": [1], "output": [], "labels": ["delmod"]}]})
    ledger = Ledger(study.store)
    ledger.refresh()
    with zipfile.ZipFile(io.BytesIO(exports.write(ledger, project, "aln"))) as archive:
        names = archive.namelist()
        files = json.loads(archive.read("study.json"))["files"]
    assert len(names) == len(set(names)) == 7
    assert {entry["system"] for entry in files.values()} == set(systems)


def test_texts_and_scales_of_an_export_reach_plainly_meta_as_they_were(make: Make, tmp_path: Path) -> None:
    from plainly import people
    from plainly_studio.creation import make_item

    seven = {"name": "ease", "question": "?", "minimum": 1, "maximum": 7}
    study = make(
        parse_project({"name": "x", "scales": [seven]}), [make_item("-LRB- a", [("=s", "-LRB- x")], name="-1")]
    )
    one = rater(study)
    (item,) = one.claim()["items"]
    one.answer(item, {"values": {"ease": 2}})
    ledger = Ledger(study.store)
    ledger.refresh()
    (tmp_path / "e.csv").write_bytes(exports.write(ledger, study.project, "csv"))
    ratings = people.read_ratings(tmp_path / "e.csv")
    assert ratings.sources == {"-1": "-LRB- a"}
    assert ratings.outputs == {("=s", "-1"): "-LRB- x"}
    assert ratings["ease"].scale == (1, 7), "said, not guessed"
