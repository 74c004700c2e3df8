"""Check the pairs in letters.jsonl and in letters-2.jsonl to letters-4.jsonl and print what they consist of.

Each pair is a source and a rewording in plain language, either sound or wrong in one thing. There are 32 pairs for each
language and group in the first file, 16 in the second, 24 in the third and 16 in the fourth, half of them wrong; a
quarter are letters of several paragraphs. In a wrong pair ``source_words`` and ``output_words`` are the words in
question; one of them is empty if a statement was added or lost. All texts were written for this benchmark; those of
the later files are by other authors, who did not know the rules. Rules may be developed on the three tuning parts;
figures to be reported come from the held-out parts, of which no pair is read during development. The fourth file is
held out as a whole; its totals helped to choose from which confidence findings ask for review.

    python bench/letters.py

The script prints every fault of the file and exits with status 1 if there is one.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TypedDict

FILE = Path(__file__).parent / "letters.jsonl"
SECOND = Path(__file__).parent / "letters-2.jsonl"
THIRD = Path(__file__).parent / "letters-3.jsonl"
FOURTH = Path(__file__).parent / "letters-4.jsonl"
LANGUAGES = ("en", "de")
GROUPS = "amount", "period", "date", "name", "negation", "modality", "quantifier", "cause", "addition", "contact"
KINDS = {"sound": False, "wrong": True}
PARTS = ("tuning", "held out", "tuning 2", "held out 2", "tuning 3", "held out 3", "held out 4")
CELLS = {  # (letter, wrong): pairs
    FILE: {(False, False): 12, (False, True): 12, (True, False): 4, (True, True): 4},
    SECOND: {(False, False): 6, (False, True): 6, (True, False): 2, (True, True): 2},
    THIRD: {(False, False): 9, (False, True): 9, (True, False): 3, (True, True): 3},
    FOURTH: {(False, False): 6, (False, True): 6, (True, False): 2, (True, True): 2},
}
LETTER_WORDS = range(100, 221)
BOLD = 0.6  # an output that shares less than this with its source is worded boldly
_WORD = re.compile(r"\w+(?:[.,:]\d+)*(?:['’]\w+)?")

# Function words: they say nothing about how boldly a text is worded.
_EN = """
a about above after again all also am an and any are as at away be because been before being below between
both but by can can't cannot could did do does doesn't doing don't down each either else even every for from
had has have having he her here hers him his how i if in into is isn't it it's its itself just less may me
might more most much must my neither no nor not now of off on once one only onto or other our out over own per
shall she should since so some still such than that that's the their them then there these they this those
though through to too under until up upon us very was wasn't we were what when where whether which while who
whom whose why will with within without won't would yes yet you you're your yours yourself
"""
_DE = """
aber alle allem allen aller alles als also am an ander andere anderen auch auf aus außer bei beim bin bis
bitte bleibt bzw da dabei dafür daher damit dann daran darauf darf das dass davon dazu dein dem den denn der
deren des deshalb dessen die dies diese diesem diesen dieser dieses doch dort du durch dürfen ein eine einem
einen einer eines er es etwa etwas für gegen haben hat hatte hatten hier hinter ich ihm ihn ihnen ihr ihre
ihrem ihren ihrer ihres im in ins ist ja je jede jedem jeden jeder jedes jedoch kann kein keine keinem keinen
keiner keines können man mehr mit muss müssen nach nicht nichts noch nun nur ob oder ohne sein seine seinem
seinen seiner seit selbst sich sie sind so sobald soll sollen sollte sondern sowie um und uns unser unsere
unserem unseren unserer unter vom von vor war waren was weder weil welche welcher wenn wer werden wie wir wird
wo wurde wurden während zu zum zur zwischen über
"""
STOP_WORDS = {language: frozenset(words.split()) for language, words in (("en", _EN), ("de", _DE))}


class Pair(TypedDict):
    """A line of the file."""

    id: str
    language: str
    group: str
    letter: bool
    wrong: bool
    source: str
    output: str
    source_words: str
    output_words: str
    note: str


def read_pairs(file: Path = FILE) -> list[Pair]:
    """The pairs in the order of the file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def read_part(*names: str) -> list[Pair]:
    """The pairs of some parts, in order."""
    return [pair for file in CELLS for pair in read_pairs(file) if part(pair) in names]


def part(pair: Pair) -> str:
    """The part that a pair belongs to.

    In the second file the id says "a" or "b", in the fourth "e" or "f". In the others, of which the third has "c" in
    its ids, the last byte of the SHA-256 of the source is even or odd.
    """
    letter = pair["id"].split("-")[1]
    if letter in ("e", "f"):
        return PARTS[6]
    if letter in ("a", "b"):
        return PARTS[2 + (letter == "b")]
    return PARTS[(4 if letter == "c" else 0) + hashlib.sha256(pair["source"].encode()).digest()[-1] % 2]


def content_words(text: str, language: str) -> list[str]:
    """Words and numbers in lower case, without function words."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS[language]]


def content_share(source: str, output: str, language: str) -> float:
    """The share of the output's content words that occur in the source."""
    vocabulary = set(content_words(source, language))
    words = content_words(output, language)
    return sum(word in vocabulary for word in words) / max(1, len(words))


def faults(pairs: Sequence[Pair], file: Path = FILE) -> Iterator[str]:
    """Everything that makes a file unusable as a benchmark."""
    cells = Counter((pair["language"], pair["group"], pair["letter"], pair["wrong"]) for pair in pairs)
    for language in LANGUAGES:
        for group in GROUPS:
            for (letter, wrong), expected in CELLS[file].items():
                if (count := cells.pop((language, group, letter, wrong), 0)) != expected:
                    yield f"{language} {group}, {letter=}, {wrong=}: {count} pairs instead of {expected}"
    yield from (f"unknown cell: {cell}" for cell in cells)
    for field in ("id", "source", "output"):
        counts = Counter(pair[field] for pair in pairs)
        yield from (f"{field} occurs {count} times: {text[:60]}" for text, count in counts.items() if count > 1)
    for pair in pairs:
        yield from (f"{pair['id']}: {fault}" for fault in _pair_faults(pair))


def _pair_faults(pair: Pair) -> Iterator[str]:
    """The faults of a single pair."""
    if set(pair) != Pair.__required_keys__:
        yield f"fields {sorted(pair)}"
        return
    if not re.fullmatch(rf"{pair['language']}(-[abcef])?-{pair['group']}-\d\d", pair["id"]):
        yield "the id does not name the language and the group"
    if pair["source_words"] not in pair["source"] or pair["output_words"] not in pair["output"]:
        yield "the words in question are not in the text"
    if pair["wrong"] != bool(pair["note"]) or pair["wrong"] != bool(pair["source_words"] or pair["output_words"]):
        yield "wrong pairs, and only they, have words in question and a note"
    words = len(pair["source"].split())
    if pair["letter"] and (words not in LETTER_WORDS or "\n\n" not in pair["source"]):
        yield f"a letter of {words} words"
    if not pair["letter"] and "\n" in pair["source"] + pair["output"]:
        yield "a line break outside a letter"


def print_shares(pairs: Sequence[Pair]) -> None:
    """Print how boldly the outputs are worded."""
    print("\nshare of the output's content words that occur in the source")
    for language in LANGUAGES:
        for kind, wrong in KINDS.items():
            subset = [pair for pair in pairs if pair["language"] == language and pair["wrong"] == wrong]
            shares = [content_share(pair["source"], pair["output"], language) for pair in subset]
            bold = sum(share < BOLD for share in shares)
            print(f"{language} {kind}: median {median(shares):.0%}, {bold} of {len(shares)} below {BOLD:.0%}")


def print_parts(pairs: Sequence[Pair]) -> None:
    """Print the number of sound and wrong pairs in each part."""
    counts = Counter((part(pair), pair["language"], pair["group"], pair["wrong"]) for pair in pairs)
    totals = Counter((part(pair), pair["wrong"]) for pair in pairs)
    print(f"\n{'sound + wrong pairs':22}" + "".join(f"{name:>14}" for name in PARTS))
    for language in LANGUAGES:
        for group in GROUPS:
            cells = (
                f"{counts[name, language, group, False]} + {counts[name, language, group, True]}" for name in PARTS
            )
            print(f"{f'{language} {group}':22}" + "".join(f"{cell:>14}" for cell in cells))
    print(f"{'all':22}" + "".join(f"{f'{totals[name, False]} + {totals[name, True]}':>14}" for name in PARTS))


def main() -> None:
    """Print the faults, the shares of content words and the parts."""
    problems = [fault for file in CELLS for fault in faults(read_pairs(file), file)]
    pairs = read_part(*PARTS)
    print(*problems, f"{len(pairs)} pairs, {len(problems)} faults", sep="\n")
    print_shares(pairs)
    print_parts(pairs)
    raise SystemExit(bool(problems))


if __name__ == "__main__":
    main()
