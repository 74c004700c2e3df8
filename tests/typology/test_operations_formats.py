"""Annotations survive every format; what the published files hold is what the literature says they hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plainly import data
from plainly.core.errors import BadInput, UnknownName
from plainly.typology import formats, vocabulary
from plainly.typology.annotation import Group, Pair, repair, token_labels, violations
from plainly.typology.formats import read_brat, write_brat
from plainly.typology.operations import profile


@pytest.fixture(scope="module")
def assetann(mirror: Path) -> tuple[Pair, ...]:
    return formats.load("assetann/annotations")


@pytest.fixture(scope="module")
def gold(mirror: Path) -> tuple[Pair, ...]:
    return formats.load("assetann/gold")


def test_the_typology_is_complete() -> None:
    labels = vocabulary.all_labels()
    assert len(labels) == len(set(labels)) == 27
    names = [name.casefold() for entry in vocabulary.operations() for name in entry.names]
    assert len(names) == len(set(names)), "a name must stand for one operation"
    for entry in vocabulary.operations():
        assert entry.definition.endswith(".")
        assert entry.verb
        if entry.counterpart:
            assert vocabulary.operation(entry.counterpart).counterpart == entry.label
            assert {entry.side, vocabulary.operation(entry.counterpart).side} == {"source", "output"}


@pytest.mark.parametrize("entry", vocabulary.operations(), ids=lambda entry: entry.label)
def test_every_example_can_be_read_and_stands_on_its_side(entry: vocabulary.Operation) -> None:
    example = entry.example
    aln, crp = f"1 {example['groups']}:{entry.label}\n", f"1\n{example['source']}\n{example['output']}\n"
    (pair,) = formats.read_yawat(aln, crp)
    assert not violations([pair])
    (group,) = pair.groups
    assert bool(group.source) == (entry.side != "output")
    assert bool(group.output) == (entry.side != "source")


def test_names_of_the_guide_and_the_paper_are_understood() -> None:
    assert vocabulary.operation("pronres").label == "fromPron"
    assert vocabulary.operation("a2n").label == "pos2neg"
    assert vocabulary.operation("toPers").label == "fromImp"
    assert vocabulary.resolve("lexical, SPLIT") == {"synonym", "hyperonym", "hyponym", "split"}
    with pytest.raises(UnknownName, match="Did you mean 'synonym'"):
        vocabulary.resolve("synonim")


@pytest.mark.parametrize("name", sorted(vocabulary.mappings()))
def test_mappings_name_only_what_exists(name: str) -> None:
    other = vocabulary.mapping(name)
    assert {label for labels in other.types.values() for label in labels} <= set(vocabulary.all_labels())
    assert set(other.back) <= set(vocabulary.all_labels())
    assert set(other.back.values()) <= set(other.types)
    covered = {label for labels in other.types.values() for label in labels}
    assert covered <= set(other.back), "what can come from there must have a way back"


def test_salsa_has_its_21_types() -> None:
    assert len([name for name in vocabulary.mapping("salsa").types if "/" not in name]) == 21


@pytest.mark.mirror
def test_swipe_edits_become_groups_of_whole_tokens() -> None:
    pairs = formats.load("swipe/valid")
    counted = profile(pairs)
    assert counted["split"].annotations == 308  # its sentence splittings
    assert counted["move"].annotations == 252  # its reorderings
    page = next(pair for pair in pairs if pair.source.startswith("Sulfur ("))
    deleted = next(group for group in page.groups if group.label == "deloth")
    assert [page.source_tokens[token] for token in deleted.source][:4] == ["in", "the", "periodic", "table"]


def test_every_label_of_the_typology_maps_to_salsa() -> None:
    assert set(vocabulary.mapping("salsa").back) == set(vocabulary.all_labels())


def test_released_counts(assetann: tuple[Pair, ...], gold: tuple[Pair, ...]) -> None:
    groups = [group for pair in assetann for group in pair.groups]
    assert (len(assetann), len(groups)) == (3590, 19811)
    assert sum(not _contiguous(group) for group in groups) == 757
    kinds = [violation.what for violation in violations(assetann)]
    assert kinds.count("token in two groups") == 4
    assert kinds.count("err with others") == 14
    assert sum("err" in pair.labels for pair in assetann) == 233
    assert len({pair.id for pair in assetann if "err" in pair.labels}) == 161
    counted = profile(assetann)
    assert counted["split"].pairs == 695
    assert counted["merge"].annotations == 2
    assert counted.unchanged == 19
    assert [violation.label for violation in violations(gold)] == ["literal"]


def _contiguous(group: Group) -> bool:
    sides = (tokens for tokens in (group.source, group.output) if tokens)
    return all(max(tokens) - min(tokens) == len(set(tokens)) - 1 for tokens in sides)


def test_released_files_come_back_byte_for_byte(assetann: tuple[Pair, ...], gold: tuple[Pair, ...]) -> None:
    identical = 0
    for number, path in enumerate(data.paths("assetann/annotations")["alignment"]):
        original = path.read_text(encoding="utf-8")
        written = formats.write_alignment([pair for pair in assetann if pair.part == str(number)])
        assert written == original.replace("  ", " "), "the only file that is not canonical has a doubled space"
        identical += written == original
    assert identical == 9
    files = data.paths("assetann/gold")
    assert formats.write_alignment(gold) == files["alignment"][0].read_text(encoding="utf-8").removeprefix("\n")
    assert formats.write_corpus(gold) == files["corpus"][0].read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", [".jsonl", ".tsv", ".ann", ".aln"])
def test_all_formats_lose_nothing(gold: tuple[Pair, ...], tmp_path: Path, ending: str) -> None:
    formats.save(gold, tmp_path / f"gold{ending}")
    assert formats.load(tmp_path / f"gold{ending}") == gold


_words = st.lists(
    st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=5), min_size=1, max_size=6
)


@st.composite
def _pairs(draw: st.DrawFn) -> Pair:
    source, output = draw(_words), draw(_words)
    groups = []
    for _ in range(draw(st.integers(0, 4))):
        tokens = [
            tuple(draw(st.lists(st.integers(0, len(side) - 1), unique=True, max_size=4))) for side in (source, output)
        ]
        if any(tokens):
            confidence = draw(st.none() | st.sampled_from([0.25, 0.973]))
            groups.append(Group(tokens[0], tokens[1], draw(st.sampled_from(vocabulary.all_labels())), confidence))
    return Pair("7", "  ".join(source), " ".join(output), tuple(groups))


@given(_pairs())
@settings(max_examples=150, deadline=None)
def test_any_annotation_survives(pair: Pair) -> None:
    bare = pair.with_groups(Group(group.source, group.output, group.label) for group in pair.groups)
    assert formats.read_yawat(formats.write_alignment([bare]), formats.write_corpus([bare])) == (bare,)
    assert formats.parse_table(formats.write_table([pair])) == (pair,)
    assert read_brat(*write_brat([pair])) == (pair,)


def test_broken_files_are_named_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"x\.aln:2.*'3:deloth'"):
        formats.read_yawat("0\n1 3:deloth\n", name="x.aln")
    with pytest.raises(BadInput, match=r"source token 9\b.*\b2 tokens"):
        formats.read_yawat("0 9::deloth\n", "0\na b\nc\n")
    (tmp_path / "bad.jsonl").write_text('{"id": "1"}\n')
    with pytest.raises(BadInput, match=r"bad\.jsonl:1"):
        formats.load(tmp_path / "bad.jsonl")
    with pytest.raises(BadInput, match="plainly operations label"):
        formats.load(tmp_path / "outputs.txt")


def test_labels_on_the_wrong_side_are_found_and_repaired() -> None:
    pair = Pair("1", "a b", "a c", (Group((), (1,), "delmod"), Group((0,), (), "incst"), Group((), (0,), "fromImp")))
    assert [violation.what for violation in violations([pair])] == ["wrong side"] * 3
    (fixed,), changed = repair([pair])
    assert [group.label for group in fixed.groups] == ["inmod", "delcst", "fromImp"]
    assert len(changed) == 2, "fromImp has no counterpart and is only reported"
    assert [violation.label for violation in violations([fixed])] == ["fromImp"]


def test_a_token_in_two_groups_has_the_first_label() -> None:
    pair = Pair("1", "a b c", "d", (Group((0, 1), (), "delmod"), Group((1,), (0,), "synonym")))
    assert token_labels(pair, "source") == ["delmod", "delmod", "none"]
