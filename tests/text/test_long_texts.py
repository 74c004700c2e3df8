"""Very long texts: time and memory are linear in their length, and errors name the text that is too long."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import pytest

import plainly
from plainly.core import limits, registry
from plainly.core.errors import BadInput, PlainlyError
from plainly.text.lexicon import split_chunk
from plainly.text.word_alignment import pieces
from plainly.typology.labeller import labeller
from plainly.typology.labelling import label

# These need a model, a parser or a program that is not part of plainly.
_EXTERNAL = (
    "bertscore", "cefr-published", "command", "comet", "entailment", "judge", "judge-pairs", "jury", "lens",
    "lens-salsa", "meaning-multilingual", "meaningbert", "questeval", "regressor", "samsa", "sle-multilingual",
    "sle-published",
)  # fmt: skip
_SLOW = ("facts", "fluency")  # read every sentence with a model, so that 200,000 words take many minutes
# Two gigabytes of data, a few minutes on a busy machine: enough for anything that is linear.
_SETUP = """
import resource, time
resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
import plainly
from plainly.core.errors import PlainlyError
from plainly.typology.labelling import label

def texts(count):
    words = [f"w{at * 7919 % 3001}" if at % 17 else "." for at in range(count)]
    return " ".join(words), " ".join(word for at, word in enumerate(words) if at % 7)

def score(name, source, output):
    plainly.score(sources=[source], outputs=[output], references=[[output]], metrics=[name]).json()
"""
_CHILD = """
try:
    {call}
except PlainlyError as error:
    assert "the limit is" in str(error), error
"""
_TIMES = """
def seconds(count):
    start = time.process_time()
    score({name!r}, *texts(count))
    return time.process_time() - start

seconds(100)  # loads the model
first, second = seconds(1500), seconds(3000)
assert second < 3 * first, (first, second)
"""
_WORDS = "*texts(200_000)"
_ONE_WORD = '"x" * 9_000_000 + "y" * 1_000_000, "x" * 8_000_000 + "z" * 2_000_000'


def _sentences(rng: random.Random, words: int) -> list[str]:
    text: list[str] = []
    while len(text) < words:
        text += [f"w{rng.randrange(3000)}" for _ in range(rng.randint(6, 20))] + ["."]
    return text


def test_a_long_pair_is_cut_where_both_sides_agree() -> None:
    rng = random.Random(1)
    source = _sentences(rng, 6000)
    output = [word for word in source if rng.random() > 0.1]
    parts = pieces(source, output, "1")
    assert len(parts) > 5
    for side, tokens in ((0, source), (1, output)):
        assert [word for part in parts for word in tokens[part[side]]] == tokens, "every word is in one piece"
    for own, other in parts:
        assert len(set(source[own]) & set(output[other])) > 0.8 * len(set(output[other])), "the same passage"


@pytest.mark.parametrize("name", ["rules", "light"])
def test_labels_of_pieces_are_those_of_the_whole(name: str) -> None:
    rng = random.Random(2)
    source = _sentences(rng, 4000)
    output = [word for word in source if word == "." or rng.random() > 0.1]
    (pair,) = labeller(name).label([" ".join(source)], [" ".join(output)])
    deletions = {at for group in pair.groups for at in group.source if not group.output}
    at, truth = 0, set()
    for place, word in enumerate(source):
        if at < len(output) and output[at] == word:
            at += 1
        else:
            truth.add(place)
    assert len(deletions ^ truth) < 0.05 * len(truth), (len(deletions ^ truth), len(truth))
    assert all(0 <= place < len(source) for group in pair.groups for place in group.source)


def test_long_texts_give_a_warning_and_texts_beyond_the_limit_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(_sentences(random.Random(3), 2000))
    (note,) = (note for note in label(sources=[text], outputs=[text], labeller="rules").notes() if note.code)
    assert note.code == "long-texts"
    assert not label(sources=["A cat sat."], outputs=["A cat."], labeller="rules").notes()
    monkeypatch.setenv(limits.SETTING, "words=100")
    with pytest.raises(BadInput, match=r"item '1'.*2,\d+ words.*100.*PLAINLY_LIMITS=words="):
        label(sources=[text], outputs=[text], labeller="rules")


def test_punctuation_at_the_edges_of_a_chunk_is_split_off() -> None:
    pattern = re.compile(r"([\"“”‘(\[\]]*)(.*?)([,;:!?\"”’)\]]*|\.\.\.)", re.DOTALL)
    rng = random.Random(4)
    for _ in range(3000):
        chunk = "".join(rng.choice("ab.,()[]\"”’'s…!") for _ in range(rng.randrange(1, 9)))
        lead, _, trail = pattern.fullmatch(chunk).groups()  # type: ignore[union-attr]
        tokens = split_chunk(chunk)
        assert "".join(tokens) == chunk
        assert tokens[: len(lead)] == tuple(lead)
        if trail != "..." and trail:
            assert tokens[-len(trail) :] == tuple(trail)


def test_edits_that_would_take_hours_are_refused() -> None:
    with pytest.raises(BadInput, match=r"Item '1'.* 1,000,\d+,\d+,\d+ "):
        plainly.score(sources=["a" * 10**6], outputs=["b" * (10**6 + 1)], metrics=["levenshtein"], intervals=False)


def test_limits_that_cannot_be_read_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in ("word=3", "words=x", "words=-1", "words"):
        monkeypatch.setenv(limits.SETTING, setting)
        with pytest.raises(PlainlyError, match="PLAINLY_LIMITS"):
            limits.limit("words")
    monkeypatch.setenv(limits.SETTING, " words=5 , wait=1e3")
    assert (limits.limit("words"), limits.limit("wait")) == (5, 1000)


def _run(script: str) -> None:
    process = subprocess.run([sys.executable, "-c", _SETUP + script], capture_output=True, text=True, timeout=420)
    assert process.returncode == 0, process.stderr[-2000:]


@pytest.mark.long
@pytest.mark.parametrize("texts", [_WORDS, _ONE_WORD], ids=["200,000 words", "10 MB without a space"])
@pytest.mark.parametrize("name", [name for name in registry.METRICS if name not in (*_EXTERNAL, *_SLOW)])
def test_every_metric_measures_or_refuses_long_lines(name: str, texts: str) -> None:
    _run(_CHILD.format(call=f"score({name!r}, {texts})"))


@pytest.mark.long
@pytest.mark.parametrize("name", _SLOW)
def test_metrics_that_read_every_sentence_take_linear_time(name: str) -> None:
    _run(_TIMES.format(name=name))
    _run(_CHILD.format(call=f"score({name!r}, {_ONE_WORD})"))


@pytest.mark.long
@pytest.mark.parametrize("texts", [_WORDS, _ONE_WORD], ids=["200,000 words", "10 MB without a space"])
@pytest.mark.parametrize("name", ["rules", "light"])
def test_operations_of_long_lines(name: str, texts: str) -> None:
    call = f"source, output = ({texts},)\n    label(sources=[source], outputs=[output], labeller={name!r}).json()"
    _run(_CHILD.format(call=call))
