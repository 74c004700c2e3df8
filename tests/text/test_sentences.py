"""The sentence splitter: decisions known by hand, and the fast count held to the plain one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plainly.text import sentences
from plainly.text.words import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith met Mr. Jones.", ["Dr. Smith met Mr. Jones."]),
        ("J. R. R. Tolkien wrote it. He was happy.", ["J. R. R. Tolkien wrote it.", "He was happy."]),
        ("Stephen P. Synnott found it in 1979.", ["Stephen P. Synnott found it in 1979."]),
        ("He lives in the U.S. The city is big.", ["He lives in the U.S.", "The city is big."]),
        ("The U.S. Army came.", ["The U.S. Army came."]),
        ("It cost $3.50, i.e. 1,000.25 in all.", ["It cost $3.50, i.e. 1,000.25 in all."]),
        ("See No. 5. I say no. Five came.", ["See No. 5.", "I say no.", "Five came."]),
        ("A painting by Botticelli, c. 1482.", ["A painting by Botticelli, c. 1482."]),
        (
            "Apples, pears, etc. are fruit. Plums etc. The end.",
            ["Apples, pears, etc. are fruit.", "Plums etc.", "The end."],
        ),
        ('"Stop!" he said. "Why?" She left.', ['"Stop!" he said.', '"Why?"', "She left."]),
        ("Yahoo! is a firm. What?! No...", ["Yahoo! is a firm.", "What?!", "No..."]),
        ("Well... he left. Well... He left.", ["Well... he left.", "Well...", "He left."]),
        ("He left. (She stayed.) [They slept.]", ["He left.", "(She stayed.)", "[They slept.]"]),
        ("in lower case . it goes on . ", ["in lower case .", "it goes on ."]),
        ('it ended . " then more . "', ["it ended .", '" then more . "']),
        ("a . . . b", ["a . . .", "b"]),
        (". . a", [". . a"]),
        ("No space.Next one.", ["No space.", "Next one."]),
        (
            "See http://x.Yz/a.Bc and mail Jo.Doe@Example.Com now.",
            ["See http://x.Yz/a.Bc and mail Jo.Doe@Example.Com now."],
        ),
        ("我喜欢吃苹果。你呢？「好！」他说。", ["我喜欢吃苹果。", "你呢？", "「好！」", "他说。"]),
        ("هل هذا صحيح؟ نعم.", ["هل هذا صحيح؟", "نعم."]),
        ("यह एक है। यह दो है।", ["यह एक है।", "यह दो है।"]),
        ("😀 !!! ...", []),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_split(text: str, expected: list[str]) -> None:
    assert sentences.split(text) == expected
    assert sentences.count(text) == len(expected)
    assert sentences.counts([text]).tolist() == [len(expected)]


MIXED = (
    'a The He Mr. U.S. etc. No. 5 3.5 end. end.Next end!Next . ! ? ... " ) (x) "Go!" said J. e.g. www.a.Bc '
    "。 好。你？ ؟ है। 😀"
)
CHUNKS = st.sampled_from(MIXED.split(" "))


@settings(deadline=None)
@given(st.lists(st.lists(CHUNKS, max_size=12).map(" ".join) | st.text(max_size=40), max_size=6))
def test_fast_count_is_the_plain_count(texts: list[str]) -> None:
    assert sentences.counts(texts).tolist() == [len(sentences.split(text)) for text in texts]


@given(st.text(max_size=60))
def test_nothing_is_lost_and_every_sentence_has_a_word(text: str) -> None:
    split = sentences.split(text)
    assert all(words(sentence) for sentence in split)
    if split:
        assert "".join("".join(split).split()) == "".join(text.split())


def test_long_lines_and_no_lines() -> None:
    long = "word " * 2000 + "end."
    assert sentences.counts([long, long, ""]).tolist() == [1, 1, 0]
    assert sentences.counts([]).shape == (0,)
    assert sentences.counts(["One. Two."] * 12_000).tolist() == [2] * 12_000
    assert sentences.counts([]).dtype == np.int64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't panic: it's a well-known book.", ["Don't", "panic", "it's", "a", "well-known", "book"]),
        ("1,000.5 at 10:30 (e.g. in the U.S.)", ["1,000.5", "at", "10:30", "e.g", "in", "the", "U.S"]),
        ("and/or word—word end.Next", ["and", "or", "word", "word", "end", "Next"]),
        ("cafe\u0301 हिन्दी में", ["cafe\u0301", "हिन्दी", "में"]),
        ("我们 アイ", ["我", "们", "ア", "イ"]),
        ("❤️ 😀 — ... '' ``", []),
        ("می‌روم", ["می‌روم"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected
