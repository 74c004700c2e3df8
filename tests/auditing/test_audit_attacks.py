"""Attacks: what each does to a text made by hand, and what none of them may do to anything."""

from __future__ import annotations

import numpy as np
import pytest

from plainly.auditing import audit
from plainly.auditing.attacks import ATTACKS, Attack, Replacement, SystemOutputs, resolve_attacks
from plainly.auditing.words import Namer, lists
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet

SOURCES = ("The feline perched upon the mat.", "Dogs habitually bark.", "Rain commenced to fall in Paris.")
REFERENCES = (("The cat sat on the mat.", "A cat sat down."), ("Dogs often bark.",), ("It rained in Paris.",))
EVALSET = EvalSet.of(SOURCES, references=REFERENCES)
OUTPUTS = ("The cat sat on the mat.", "Dogs bark.", "Rain fell in Paris.")
STRANGE = ("", " ", "Hello", "...", "这座城市很老。有很多市场。", "كانت المدينة قديمة.", "🍮", "a\u00a0b\tc")


def _rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def _attacked(name: str, output: str, *, seed: int = 1) -> str:
    evalset = EvalSet.of(SOURCES[:1], references=REFERENCES[:1])
    return ATTACKS[name].apply(SystemOutputs(evalset, (output,)), _rng(seed))[0]


@pytest.fixture(params=[attack.name for attack in resolve_attacks(["all", "judge"], EVALSET)])
def attack(request: pytest.FixtureRequest) -> Attack:
    return ATTACKS[request.param]


def test_there_are_the_six_of_the_paper_and_everything_else_that_was_asked_for() -> None:
    assert [attack.name for attack in resolve_attacks(["paper"], EVALSET)] == [
        "random-period",
        "random-the",
        "replace-longest",
        "replace-rand-period",
        "replace-rand-the",
        "random-period+replace-longest",
    ]
    assert len(resolve_attacks(["all"], EVALSET)) == 31
    assert {attack.expected for attack in ATTACKS.values()} == {"better", "worse", "unchanged"}


def test_an_attack_keeps_items_and_touches_neither_source_nor_references(attack: Attack) -> None:
    evalset = EvalSet.of(SOURCES, references=REFERENCES)
    attacked = attack.apply(SystemOutputs(evalset, OUTPUTS), _rng())
    assert len(attacked) == len(OUTPUTS)
    assert all(isinstance(text, str) for text in attacked)
    assert (evalset.sources, evalset.references) == (SOURCES, REFERENCES)


def test_the_same_numbers_give_the_same_texts(attack: Attack) -> None:
    system = SystemOutputs(EVALSET, OUTPUTS)
    assert attack.apply(system, _rng(5)) == attack.apply(system, _rng(5))


def test_only_attacks_that_say_so_are_random(attack: Attack) -> None:
    long = tuple(
        f"{'One two three, 4 five six seven eight. ' * 3}In {year} {name} met {name}a."
        for year, name in ((1901, "Wolf"), (1955, "Carl"), (1988, "Odin"))
    )
    system = SystemOutputs(EVALSET, long)
    drawn = {tuple(attack.apply(system, _rng(seed))) for seed in range(12)}
    assert (len(drawn) > 1) == attack.random


@pytest.mark.parametrize("text", STRANGE)
def test_strange_outputs_do_not_break_it(attack: Attack, text: str) -> None:
    evalset = EvalSet.of(SOURCES[:1] * 2, references=REFERENCES[:1] * 2)
    attacked = attack.apply(SystemOutputs(evalset, (text, text)), _rng())
    assert len(attacked) == 2
    if not text.strip() and attack.name not in ("copy-source", "other-reference", "oracle", "refusal"):
        assert [text.strip() for text in attacked] == ["", ""], "there is nothing to attack in an empty output"


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("random-period", "one two", {"one . two"}),
        ("random-period", "one two three", {"one . two three", "one two . three"}),
        ("random-period", "one", {"one ."}),
        ("random-the", "one two", {"one the two"}),
        ("replace-longest", "a bbb cc ddd .", {"a the cc ddd ."}),
        ("replace-rand-period", "one two", {". two", "one ."}),
        ("replace-rand-the", "one two", {"the two", "one the"}),
        ("random-period+replace-longest", "a bbb", {"a . the"}),
        ("copy-source", "anything", {SOURCES[0]}),
        ("truncate", "one two three four five", {"one two three"}),
        ("truncate", "我很好吗", {"我很"}),
        ("truncate", "one", {"one"}),
        ("drop-words", "one two", {"one", "two"}),
        ("drop-words", "one", {"one"}),
        ("shuffle", "one two", {"one two", "two one"}),
        ("shuffle", "我好", {"我好", "好我"}),
        ("repeat-clause", "He ran, she hid.", {"He ran, He ran, she hid.", "He ran, she hid, she hid."}),
        ("repeat-clause", "he ran .", {"he ran , he ran ."}),
        ("swap-names", "He met Anna.", {"He met Anna."}),  # there is no other name to take
        ("swap-numbers", "In 7 days", {f"In {digit} days" for digit in (0, 1, 2, 3, 4, 5, 6, 8, 9)}),
        ("negate", "The cat is black.", {"The cat is not black."}),
        ("negate", "The cat is not black.", {"The cat is black."}),
        ("negate", "It did n't rain .", {"It did rain ."}),
        ("negate", "It didn't rain.", {"It did rain."}),
        ("negate", "Can't he swim?", {"Can he swim?"}),
        ("negate", "He cannot swim.", {"He can swim."}),
        ("negate", "They wo n't come .", {"They will come ."}),
        ("negate", "The cat sat.", {"It is not true that the cat sat."}),
        ("negate", "猫很黑。", {"猫很黑。"}),
        ("drop-split", "He ran. She hid.", {"He ran."}),
        ("drop-split", "He ran .", {"He ran ."}),
        ("lowercase", "The CAT", {"the cat"}),
        ("strip-punctuation", "Don't go, it's 3.5 km!", {"Don't go it's 3.5 km"}),
        ("strip-punctuation", "no marks  here", {"no marks  here"}),
        ("double-spaces", "one two", {"one  two"}),
        ("rarer-synonyms", "They use big cars.", {"They utilize substantial automobiles."}),
        ("rarer-synonyms", "Houses burn.", {"Residences burn."}),
        ("commoner-synonyms", "They utilize automobiles.", {"They use cars."}),
        ("oracle", "anything", set(REFERENCES[0])),
        ("refusal", "anything", set(lists().refusals)),
        ("empty", "anything", {""}),
        ("repeat-five-times", "Go on. ", {"Go on. Go on. Go on. Go on. Go on. "}),
        ("chatty-opening", "Go on.", {f"{opening} Go on." for opening in lists().openings}),
        ("markdown-wrapper", "Go on.", {"## Simplified text\n\n**Go on.**"}),
        ("json-wrapper", 'Say "on".', {'{"simplified": "Say \\"on\\"."}'}),
    ],
)
def test_what_it_does_to_a_text_made_by_hand(name: str, before: str, after: set[str]) -> None:
    drawn = {_attacked(name, before, seed=seed) for seed in range(60)}
    assert drawn == after


def test_a_clause_is_added_before_the_end() -> None:
    text = _attacked("hallucinate", "The cat sat.")
    assert text.startswith("The cat sat, ")
    assert text.endswith(".")
    assert _attacked("hallucinate", 'He said "yes."').endswith('."')
    tokenised = _attacked("hallucinate", "he ran .")
    assert tokenised.startswith("he ran , ")
    assert tokenised.endswith(" .")


def test_a_rare_word_comes_between_two_words() -> None:
    first, rare, last = _attacked("insert-rare-word", "one two").split()
    assert (first, last) == ("one", "two")
    assert len(rare) >= 7


def test_names_come_from_other_outputs() -> None:
    evalset = EvalSet.of(["He met her.", "She knows him.", "I like her."])
    system = SystemOutputs(evalset, ("He met Anna in Rome.", "She knows Bert.", "I like Anna."))
    attacked = ATTACKS["swap-names"].apply(system, _rng(3))
    assert attacked[1] != "She knows Bert."
    assert attacked[1] in ("She knows Anna.", "She knows Rome.")
    assert attacked[0].startswith("He met ")
    assert "Anna in Rome" not in attacked[0]


def _namer(*texts: str) -> list[list[str]]:
    """The names that are seen in each text beside the others."""
    namer = Namer.of(texts)
    return [[text[start:end] for start, end in namer.spans(text)] for text in texts]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("In May the French army met Mr. Bell's men near New York.", ["Bell", "New York"]),
        ('He said: "Nobody came." The Bank of England paid Anna\'s rent.', ["Bank of England", "Anna"]),
        ("Berta Kahn slept. Then she and Berta left; I stayed.", ["Berta Kahn", "Berta"]),
        ("Dogs bark on Monday. My friend dogs them.", []),
        ("Five Ways To Leave Your Old House", []),
        ("all is written small in rome", []),
        ("She reads English-language books and Sudanese poems by Maya Ode.", ["Maya Ode"]),
    ],
)
def test_a_name_is_more_than_a_capital_letter(text: str, names: list[str]) -> None:
    assert _namer(text)[0] == names


def test_a_first_word_is_a_name_where_it_is_one_elsewhere() -> None:
    assert _namer("Anna ran.", "Clouds came to Anna.", "Clouds ran.") == [["Anna"], ["Anna"], []]


def test_a_record_says_what_was_changed_and_where(attack: Attack) -> None:
    texts = (
        "In 1990 Anna Bell met 12 men in Rome, and it was cold.",
        "He didn't see Bert . It rained.",
        " ",
        "猫很黑。",
    )
    evalset = EvalSet.of(("In 1990 a girl met men.",) * 4, references=[("She met men.",)] * 4)
    system = SystemOutputs(evalset, texts)
    records = attack.records(system, _rng(4))
    assert [record.text for record in records] == attack.apply(system, _rng(4))
    for text, record in zip(texts, records, strict=True):
        assert bool(record.changes) == (record.text != text)
        rebuilt, at = "", 0
        for change in record.changes:
            assert text[change.start :].startswith(change.before)
            rebuilt += text[at : change.start] + change.after
            at = change.start + len(change.before)
        assert rebuilt + text[at:] == record.text


def test_what_attacks_on_facts_record() -> None:
    system = SystemOutputs(EVALSET, ("He met Anna in 1990. Anna left.", "She knows Bert.", "It is cold."))
    changes = {name: ATTACKS[name].records(system, _rng(2)) for name in ("swap-names", "swap-numbers", "negate")}
    names = changes["swap-names"]
    assert [(change.start, change.before, change.after) for change in names[0].changes] == [
        (7, "Anna", "Bert"),
        (21, "Anna", "Bert"),
    ]
    assert [bool(record.changes) for record in names] == [True, True, False]
    assert [record.changes[0].before if record.changes else "" for record in changes["swap-numbers"]] == [
        "1990",
        "",
        "",
    ]
    assert changes["negate"][2].changes == (Replacement(5, "", " not"),)


def test_numbers_keep_their_length_and_change() -> None:
    for seed in range(200):
        year = _attacked("swap-numbers", "It was 1999.", seed=seed).removeprefix("It was ").removesuffix(".")
        assert len(year) == 4
        assert year != "1999"
        assert year[0] != "0"
    assert _attacked("swap-numbers", f"{'9' * 40} and 007") != f"{'9' * 40} and 007"


def test_another_item_is_never_the_item_itself() -> None:
    system = SystemOutputs(EVALSET, OUTPUTS)
    for seed in range(50):
        swapped = ATTACKS["other-output"].apply(system, _rng(seed))
        assert all(new != old and new in OUTPUTS for new, old in zip(swapped, OUTPUTS, strict=True))
        foreign = ATTACKS["other-reference"].apply(system, _rng(seed))
        assert all(new not in own for new, own in zip(foreign, REFERENCES, strict=True))


def test_periods_fall_everywhere_between_words_and_nowhere_else() -> None:
    text = " ".join("abcdefgh")
    places = [_attacked("random-period", text, seed=seed).split().index(".") for seed in range(700)]
    assert set(places) == set(range(1, 8))
    counts = np.bincount(places, minlength=8)[1:]
    assert counts.min() > 60  # 100 expected in each of seven gaps


def test_attacks_that_lack_data_are_left_out_or_refused() -> None:
    bare = EvalSet.of(items=2)
    names = {attack.name for attack in resolve_attacks(["all"], bare)}
    assert not names & {"copy-source", "oracle", "other-reference"}
    with pytest.raises(BadInput, match="oracle"):
        resolve_attacks(["oracle"], bare)
    with pytest.raises(UnknownName, match="'random-period'"):
        resolve_attacks(["random-periods"], EVALSET)
    with pytest.raises(BadInput, match="3 items"):
        audit(evalset=EVALSET, outputs={"A": OUTPUTS[:2]}, metrics="fkgl")
