"""Every card is complete and true: its files are the mirrored ones, and its items and outputs as many as it says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT
from plainly import data
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import Absent
from plainly.data.readers import EVALSETS, TABLES

CARDS = list(data.cards())
EVALUATION_SETS = [card.name for card in CARDS if card.kind == "evalset"]
SPDX_OR_UNKNOWN = re.compile(r"unknown|CC-BY(-NC)?(-SA)?-\d\.\d|CC0-1.0|Apache-2.0|MIT")

# What the mirror holds that no card needs, by the end of its path; copies of a card's file need no reason.
NOT_IN_A_CARD = {
    r"(?i)/licen[cs]e(\.markdown|\.txt|\.md)?$": "a licence text; the cards name the licence and link to it",
    r"/README\.md$": "a description; the cards have their own",
    r"/babaknaderi/TextComplexityDE/.*/source\.csv$": "all sentences; the rated ones are in a card",
    r"/AshOlogn/Evaluating-Factuality-in-Text-Simplification/": "no card yet: changed facts, to test with",
    r"/GRAAL-Research/csmd/": "no card yet: ratings of a study",
    r"/berzak/onestop-qa/": "no card yet: questions about the articles of OneStopEnglish",
    r"/GSA/plainlanguage\.gov/.*/guidelines/": "guidelines in prose; the list of words is in a card",
    r"/18F/retext-simplify/.*/rules/": "house style of an agency, not simpler words",
    r"/retextjs/retext-simplify/.*/readme\.md$": "a description; the card has its own",
    r"/german-easy-to-read/statements/": "no card yet: German texts",
    r"/zix_dataset\.parq$": "has texts that its licence does not cover; the others are in a card",
    r"/nitaytech/AltTest/": "no card yet: ratings, to test with",
    r"/(evaleval/every_eval_ever|huggingface/hub-docs|Shimorina/human-evaluation-datasheet)/": "formats, not data",
    r"/Int-Txt/[^/]+-int\.txt$": "apostrophes are lost and the level is named in the text; Int-Txt/Int-Txt is used",
}


# Outputs that stand beside the wrong items in the published file, as the card's notes say.
SLIPPED = {"oneNRC/onenrc_output_run2_qwen332b_withtoolcall"}


def by_name(card: data.Card) -> str:
    return card.name


@pytest.fixture(scope="module")
def sums(mirror: Path) -> dict[str, tuple[int, str]]:
    rows = (line.split("\t") for line in (mirror / "SHA256SUMS.tsv").read_text(encoding="utf-8").splitlines())
    return {url: (int(size), sha256) for url, size, sha256 in rows}


def test_every_wanted_set_has_a_card() -> None:
    wanted = "asset/test asset/valid turkcorpus/test turkcorpus/test-legacy hsplit/test pwkp/test pwkp/valid qats/test"
    wanted += " googlecomp/test wikisplit/test outputs/easse outputs/muss outputs/pwkp outputs/acl2018 outputs/xu"
    wanted += " simplicity-da/averages simplicity-da/ratings structural-simplicity/ratings asset/ratings asset/pairwise"
    wanted += " hsplit/ratings acl2018/ratings simpeval/past assetann/annotations assetann/gold cefr-sp/wiki-auto"
    wanted += " cefr-sp/score onestopenglish/texts onestopenglish/pairs"
    assert set(wanted.split()) <= set(data.names())


@pytest.mark.parametrize("card", CARDS, ids=by_name)
def test_card_is_complete(card: data.Card) -> None:
    assert card.title
    assert 20 < len(card.description) < 400
    assert SPDX_OR_UNKNOWN.fullmatch(card.licence)
    assert card.licence != "unknown" or "licence" in card.notes, "say in the notes why the licence is unknown"
    assert card.licence_url.startswith("https://")
    assert card.homepage.startswith("https://")
    assert re.match(r"@[a-z]+\{[a-z0-9-]+,\n", card.citation)
    assert card.citation.count("{") == card.citation.count("}")
    assert card.items > 0
    assert card.files
    readers = {"evalset": EVALSETS, "outputs": {"lines", "jsonl_by_id"}, "annotations": {"paths"}}.get(
        card.kind, TABLES
    )
    assert card.reader in readers
    for file in card.files:
        assert file.url.startswith("https://")
        assert ".." not in file.place
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.role
        assert (card.kind == "outputs") == (file.role == "output")
        assert file.system or card.kind != "outputs"
    roles = [file.role for file in card.files]
    if card.kind == "evalset" and card.reader in ("lines", "first_lines", "numbered_lines"):
        assert roles.count("source") == 1
        assert roles.count("reference") == len(roles) - 1
    assert bool(card.of) == (card.kind == "outputs")
    assert all(data.card(name).kind == "evalset" for name in (*card.of, *filter(None, [card.within])))


def test_cards_match_the_mirror(sums: dict[str, tuple[int, str]]) -> None:
    wrong = [
        file.url
        for card in CARDS
        for file in card.files
        if file.url in sums and (file.size, file.sha256) != sums[file.url]
    ]
    assert wrong == []
    assert [file.url for card in CARDS for file in card.files if file.url not in sums] == []


def test_everything_in_the_mirror_has_a_card_or_a_reason(sums: dict[str, tuple[int, str]]) -> None:
    carded = {file.url for card in CARDS for file in card.files}
    hashes = {file.sha256 for card in CARDS for file in card.files}
    left = [url for url, (_, sha256) in sums.items() if url not in carded and sha256 not in hashes]
    assert [url for url in left if not any(re.search(pattern, url) for pattern in NOT_IN_A_CARD)] == []
    for pattern, reason in NOT_IN_A_CARD.items():
        assert any(re.search(pattern, url) for url in left), f"no file needs this reason any more: {reason}"


def test_the_intermediate_texts_left_out_are_indeed_damaged(mirror: Path) -> None:
    (folder,) = mirror.glob("*/nishkalavallabhi/OneStopEnglishCorpus/*/Texts-SeparatedByReadingLevel/Int-Txt")
    texts = [path.read_bytes() for path in folder.glob("*.txt")]
    assert len(texts) == 189
    assert not any("’".encode() in text or b"'" in text for text in texts)
    assert all(b"Intermediate" in text[:20] for text in texts)


@pytest.mark.parametrize("name", EVALUATION_SETS)
@pytest.mark.mirror
def test_evaluation_set_loads(name: str) -> None:
    card, evalset = data.card(name), data.load(name)
    assert len(evalset) == card.items
    assert evalset.name == name
    assert all(evalset.sources)
    assert evalset.reference_counts.min() >= 1
    assert not any(reference.isspace() for row in evalset.references for reference in row)
    expected = {"asset": 10, "turkcorpus": 8, "hsplit": 4}.get(name.split("/")[0])
    if expected and name != "turkcorpus/test-simplewiki":
        assert set(evalset.reference_counts) == {expected}
    if card.reader in ("targeted_jsonl", "aligned_csv", "pairs_csv"):
        assert evalset.groups is not None
        assert len(set(evalset.ids)) == len(evalset)
    elif not card.within:
        assert evalset.ids == tuple(str(i + 1) for i in range(len(evalset)))


@pytest.mark.parametrize("name", EVALUATION_SETS)
@pytest.mark.mirror
def test_outputs_align_with_their_set(name: str) -> None:
    """Each output shares more words with its own source than with the next one, as no shifted file would."""
    evalset = data.load(name)
    sources = [_words(source) for source in evalset.sources]
    systems = data.system_names(name)
    for system in systems[::10] if data.card(name).within else systems:
        outputs = data.outputs(name, system)
        assert len(outputs) == len(evalset), system
        words = [_words(output) for output in outputs]
        own = sum(len(output & source) for output, source in zip(words, sources, strict=True))
        shifted = sum(len(output & source) for output, source in zip(words, sources[1:], strict=False))
        assert own > 2 * shifted or system in SLIPPED, system


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def test_how_many_systems_there_are() -> None:
    counts = {name: len(data.system_names(name)) for name in EVALUATION_SETS}
    assert counts["turkcorpus/test"] == 21
    assert counts["asset/test"] == 21 + 8 * 5
    assert counts["pwkp/test"] == 12
    assert counts["tsar2025/test"] == 50
    assert counts["turkcorpus/test-legacy"] == 29 + 4 + 17 + 4
    assert counts["hsplit/first70"] == 23 + counts["hsplit/test"] - 16  # Sixteen of the rated systems are in both.


@pytest.mark.parametrize("name", EVALUATION_SETS)
def test_no_set_has_two_systems_of_one_name(name: str) -> None:
    cards = [card for card in CARDS if name in card.of]
    listed = [file.system for card in cards for file in card.files]
    assert len(listed) == len(set(listed))


@pytest.mark.mirror
def test_the_same_sentences_in_other_clothes() -> None:
    """Outputs may be shared between these sets because their sources differ in case and tokens only."""

    def letters(text: str) -> str:
        return re.sub(r"[^a-z0-9]", "", re.sub(r"-[lr]rb-|&\w+;", "", text.lower()))

    asset = data.load("asset/test")
    assert data.load("turkcorpus/test").sources == asset.sources
    expected = [letters(source) for source in asset.sources]
    for name in ("test-legacy", "test-gem", "test-raw", "test-simplewiki"):
        assert [letters(source) for source in data.load(f"turkcorpus/{name}").sources] == expected
    assert [letters(source) for source in data.load("hsplit/test").sources] == expected
    assert data.load("hsplit/first70").sources == data.load("hsplit/test").sources[:70]


@pytest.mark.mirror
def test_a_choice_of_items_keeps_the_ids_of_the_whole() -> None:
    subset, whole = data.load("assetann/lexical"), data.load("asset/test")
    place = {identifier: at for at, identifier in enumerate(whole.ids)}
    assert len(subset) < len(whole)
    assert [whole.sources[place[identifier]] for identifier in subset.ids] == list(subset.sources)
    outputs = data.outputs("asset/test", "ACCESS")
    assert data.outputs("assetann/lexical", "ACCESS") == tuple(outputs[place[identifier]] for identifier in subset.ids)


@pytest.mark.mirror
def test_assetann_subset_sizes() -> None:
    """Cardon et al. 2022: references left in each subset."""
    sizes = {"lexical": 2138, "syntactic": 2799, "add": 2040, "delete": 2866, "replace": 2719}
    assert {name: int(data.load(f"assetann/{name}").reference_counts.sum()) for name in sizes} == sizes


@pytest.mark.mirror
def test_tsar_names_the_level_of_each_item() -> None:
    evalset = data.load("tsar2025/test")
    assert evalset.columns["target"] == tuple(name.rpartition("-")[2].upper() for name in evalset.ids)
    assert evalset.groups is not None
    assert len(set(evalset.groups)) == 100
    outputs = data.outputs("tsar2025/test", "UoL-UPF/uol-upf_submission2")
    assert sum(isinstance(output, Absent) for output in outputs) == 40


@pytest.mark.mirror
def test_cochrane_auto_is_the_same_text_at_every_size() -> None:
    documents, sentences = data.load("cochrane-auto/test"), data.load("cochrane-auto/test-sentences")
    whole = dict(zip(documents.ids, documents.sources, strict=True))
    assert sentences.groups is not None
    assert all(source in whole[group] for source, group in zip(sentences.sources, sentences.groups, strict=True))


def test_unknown_names_suggest_near_ones() -> None:
    with pytest.raises(UnknownName, match=r"data set 'aset/test'.*'asset/test'.*plainly data list"):
        data.load("aset/test")
    with pytest.raises(UnknownName, match=r"system of asset/test 'ACESS'.*'ACCESS'.*plainly data info asset/test"):
        data.outputs("asset/test", "ACESS")
    for name in ("", "/", "../card", "asset/../asset/test", "ASSET", "outputs"):
        with pytest.raises(UnknownName):
            data.card(name)


def test_a_bare_family_name_is_its_test_part() -> None:
    assert data.card("hsplit").name == "hsplit/test"


def test_what_cannot_be_scored_says_so() -> None:
    with pytest.raises(BadInput, match="ratings"):
        data.load("asset/ratings")
    with pytest.raises(BadInput, match="levels"):
        data.system_names("cefr-sp/score")
    with pytest.raises(BadInput, match="evalset"):
        data.table("asset/test")


def test_demo() -> None:
    evalset, outputs = data.demo()
    assert len(evalset) >= 60
    assert evalset.reference_counts.min() >= 4
    assert len(outputs) >= 5
    assert evalset.groups is not None
    assert len(set(evalset.groups)) > 1
    assert all(len(written) == len(evalset) for written in outputs.values())
    assert outputs["copy"] == evalset.sources


@pytest.mark.parametrize("card", CARDS, ids=by_name)
def test_the_documentation_lists_the_card(card: data.Card) -> None:
    row = f"| `{card.name}` | {card.items:,} | {card.title} | {card.licence} |"
    assert row in (ROOT / "docs" / "data.md").read_text(encoding="utf-8")


def test_the_documentation_lists_every_reader() -> None:
    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    assert all(f"| `{reader}` |" in text for reader in (*EVALSETS, *TABLES, "paths"))


def test_every_published_system_has_a_readable_name_a_paper_and_a_licence() -> None:
    cards_of_outputs = [card for card in data.cards() if card.kind == "outputs"]
    every = {system for card in cards_of_outputs for system in card.systems}
    for card in cards_of_outputs:
        for name in card.of:
            titles = [
                data.system_title(system) for system in dict.fromkeys(re.sub(r"/\d+$", "", s) for s in card.systems)
            ]
            assert len(set(titles)) == len(titles), f"two systems of {card.name} have one name"
            assert not [title for title in titles if re.search(r"[_^/]", title) or len(title) > 28]  # as shown
            for system in card.systems:
                papers = data.describe_system(system, name)
                assert papers, (system, name)
                for paper in papers:
                    assert paper.url.startswith("https://"), (system, paper)
                    assert 2005 <= paper.year <= 2026
                    assert str(paper.year) in paper.short
                    assert paper.title
                    assert paper.licence
    papers = tomllib.loads((Path(data.__file__).parent / "systems.toml").read_text(encoding="utf-8"))["papers"]
    listed = [system for paper in papers for system in paper["systems"]]
    assert len(set(listed)) == len(listed)
    assert set(listed) <= every


def test_the_paper_of_a_system_is_its_own_and_not_that_of_the_collection() -> None:
    (paper,) = data.describe_system("ACCESS", "asset/test")
    assert (paper.short, paper.url) == ("Martin et al. 2020", "https://aclanthology.org/2020.lrec-1.577")
    assert not paper.is_collection
    (muss,) = data.describe_system("muss_bart_access_mined", "asset/test")
    assert (muss.short, muss.licence) == ("Martin et al. 2022", "CC-BY-NC-4.0")
    assert data.system_title("muss_bart_access_mined/3") == "MUSS BART (mined)"
    (unknown,) = data.describe_system("Moses", "pwkp/test")
    assert unknown.is_collection
    assert data.describe_system("no such system", "pwkp/test") == ()
