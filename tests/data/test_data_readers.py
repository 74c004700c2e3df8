"""Readers give what the files say: checked against published figures and against the files' own other columns."""

from __future__ import annotations

import collections
import math
import re
from pathlib import Path

import numpy as np
import pytest

from conftest import opendocument
from plainly import data
from plainly.core.errors import BadInput
from plainly.data.card import Card, File, Local
from plainly.data.readers import csv_table, lines, numbered_lines, read_lines
from plainly.io.tables import read_cells

CARD = Card("a/b", "evalset", "t", "d", "unknown", "", "", "", "lines", 2, ())
TABLES = [
    card.name
    for card in data.cards()
    if card.reader in ("csv_table", "rating_sheet", "level_tsv", "level_texts", "starred_pairs")
]


def local(text: str | bytes, role: str = "source", encoding: str = "") -> Local:
    content = text.encode() if isinstance(text, str) else text
    return Local(File("https://a/b", "", len(content), role, encoding=encoding), Path("b"), content)


def test_blank_references_are_none() -> None:
    evalset = lines(CARD, [local("one\ntwo\n"), local("1\n\n", "reference"), local("eins\nzwei", "reference")])
    assert evalset.references == (("1", "eins"), ("zwei",))
    assert evalset.ids == ("1", "2")


def test_numbers_before_the_sentences_become_ids() -> None:
    evalset = numbered_lines(CARD, [local("3\tone\n7\ttwo"), local("\n7\tzwei\n", "reference")])
    assert evalset.ids == ("4", "8")
    assert evalset.sources == ("one", "two")
    assert evalset.references == ((), ("zwei",))


def test_unicode_separators_do_not_shift_lines() -> None:
    assert read_lines(local("a\u2028b\x1dc\nd\x85e\n"), 2) == ["a\u2028b\x1dc", "d\x85e"]


def test_a_wrong_number_of_lines_is_named() -> None:
    with pytest.raises(BadInput, match=r"3 lines.* 2"):
        read_lines(local("a\nb\nc\n"), 2)
    with pytest.raises(BadInput, match="1 lines"):
        read_lines(local("a\n"), 2)
    assert read_lines(local("a\nb\n\n"), 2) == ["a", "b"]


def test_csv_numbers_and_gaps() -> None:
    card = Card("a/b", "ratings", "t", "d", "unknown", "", "", "", "csv_table", 2, ())
    table = csv_table(card, [local('\ufeffid,text,z\r\n7,"a, ""b""\nc",0.5\r\n8,,\r\n')])
    assert table["id"] == [7, 8]
    assert table["text"] == ['a, "b"\nc', ""]
    assert table["z"][0] == 0.5
    assert math.isnan(table["z"][1])
    with pytest.raises(BadInput, match="row 2 has 1 cells"):
        csv_table(card, [local("id,text\n7\n8,b\n")])


def test_sheets_repeat_cells_and_rows() -> None:
    cell = '<table:table-cell table:number-columns-repeated="{}" office:value-type="float" office:value="{}"/>'
    body = (
        '<table:table-row><table:table-cell/><table:table-cell office:value-type="string">'
        "<text:p>a<text:span>b</text:span></text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="1000"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="2"/>'
        f'<table:table-row table:number-rows-repeated="2">{cell.format(2, 5)}{cell.format(1, 4.5)}</table:table-row>'
        '<table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row>'
    )
    empty = ["", "", ""]
    assert read_cells(opendocument(body), "b.ods") == [["", "ab", ""], empty, empty, [5, 5, 4.5], [5, 5, 4.5]]


@pytest.mark.parametrize("content", [b"no zip", opendocument("")[:400]], ids=["text", "cut off"])
def test_what_is_no_sheet_is_refused(content: bytes) -> None:
    with pytest.raises(BadInput, match=r"b\.ods .*\.ods or \.xlsx"):
        read_cells(content, "b.ods")


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.mirror
def test_table_has_the_promised_rows(name: str) -> None:
    card, table = data.card(name), data.table(name)
    assert len(table) == card.items
    assert {len(column) for column in table.columns.values()} == {card.items}
    named = re.findall(r"Columns: ([a-z_ ]+)\.", card.notes)
    assert not named or named[0].split() == list(table.columns)


@pytest.mark.mirror
def test_hsplit_ratings_give_the_averages_in_their_sheets() -> None:
    """The cells "Average" and "Total Average" of the four sheets; 4.43 and 4.70 in Sulem et al. 2018 (EMNLP)."""
    table = data.table("hsplit/ratings")
    ratings, dimension = np.array(table["rating"]), np.array(table["dimension"])
    system = np.array(table["system"])
    totals = [4.42738095238095, 4.70357142857143, 0.383333333333333, 0.376190476190476]
    names = data.card("hsplit/ratings").dimensions
    assert [ratings[dimension == name].mean() for name in names] == pytest.approx(totals, abs=1e-12)
    first = [4.27619047619048, 4.7, 0.333333333333333, 0.333333333333333]
    assert [ratings[(dimension == n) & (system == "HSplit1")].mean() for n in names] == pytest.approx(first, abs=1e-12)
    assert {r for r, s in zip(table["rater"], system, strict=True) if s == "HSplit1"} == {
        "Annotator2",
        "Annotator3",
        "Annotator4",
    }


@pytest.mark.mirror
def test_acl2018_ratings_agree_with_the_table_that_others_made_of_them() -> None:
    """Alva-Manchego et al. 2021 published averages and single structural ratings of 25 of the 28 systems."""
    table, averages = data.table("acl2018/ratings"), data.table("structural-simplicity/averages")
    assert len(set(table["system"])) == 28
    assert set(table["rater"]) == {"Annotator1", "Annotator2", "Annotator3"}
    cells = collections.defaultdict(list)
    for system, item, dimension, rating in zip(
        *(table[name] for name in ("system", "item", "dimension", "rating")), strict=True
    ):
        cells[system, item, dimension].append(rating)
    compared = 0
    for at in range(len(averages)):
        for column in ("grammaticality", "meaning", "simplicity", "structural_simplicity"):
            ours = np.mean(cells[averages["sys_name"][at], averages["sent_id"][at], column])
            compared += abs(ours - averages[column][at]) < 1e-6
    assert compared == 25 * 70 * 4


@pytest.mark.mirror
def test_rated_systems_have_outputs_of_the_same_name() -> None:
    rated = set(data.table("acl2018/ratings")["system"])
    assert rated - set(data.system_names("hsplit/first70")) == {"Identity", "Simple Wikipedia"}


@pytest.mark.mirror
def test_simplicity_da_averages_are_those_of_its_raters() -> None:
    averages, ratings = data.table("simplicity-da/averages"), data.table("simplicity-da/ratings")
    by_pair = collections.defaultdict(list)
    for item, system, rating in zip(ratings["sent_id"], ratings["sys_name"], ratings["simplicity"], strict=True):
        by_pair[item, system].append(rating)
    assert {len(values) for values in by_pair.values()} == {15}
    ours = [np.mean(by_pair[pair]) for pair in zip(averages["sent_id"], averages["sys_name"], strict=True)]
    assert ours == pytest.approx(averages["simplicity"], abs=1e-6)
    sources = data.load("asset/test").sources
    assert [sources[item - 1] for item in averages["sent_id"]] == averages["orig_sent"]


@pytest.mark.mirror
def test_levels() -> None:
    wiki = data.table("cefr-sp/wiki-auto")
    assert collections.Counter(wiki["part"]) == {"train": 5990, "dev": 701, "test": 762}
    assert set(wiki["level_a"]) | set(wiki["level_b"]) == {1, 2, 3, 4, 5, 6}
    texts = data.table("onestopenglish/texts")
    assert collections.Counter(texts["level"]) == {"elementary": 189, "intermediate": 189, "advanced": 189}
    articles = collections.defaultdict(set)
    for article, level in zip(texts["article"], texts["level"], strict=True):
        articles[level].add(article)
    assert articles["elementary"] == articles["intermediate"] == articles["advanced"]
    assert not any("\ufffd" in text or text.startswith("\ufeff") for text in texts["text"])
    pairs = data.table("onestopenglish/pairs")
    assert all(pairs["source"])
    assert all(pairs["target"])


@pytest.mark.mirror
def test_annotation_files_by_role() -> None:
    paths = data.paths("assetann/annotations")
    assert {role: len(files) for role, files in paths.items()} == {"alignment": 10, "source": 1, "reference": 10}
    assert [path.name for path in paths["alignment"]] == [f"asset.simp.{k}.aln" for k in range(10)]
