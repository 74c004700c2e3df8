"""Measure how often the findings about statements are right, by situation, and write factcheck/situations.toml.

Run: python bench/precision.py [FILE]   (public files, see docs/data.md)

A finding is right if it overlaps with the words that are wrong; it is false in a pair that is sound. (A finding
elsewhere in a wrong pair counts as neither, since sound pairs have as many.) There are as many wrong pairs as sound
ones. Sound: the tuning parts of the letters, statements.jsonl, OneStopEnglish (pairs of two levels, CC BY-SA 4.0),
TextComplexityDE (MIT). Wrong: the same parts of the letters, statements.jsonl, planted changes in OneStopEnglish, and
sentences with their opposites in CANNOT (CC BY-SA 4.0). Nothing of these texts is stored, only counts.

The texts in edits/ by the authors that are not held out come in twos, with an error and without. What is found in the
wrong text only is right, what is found in the sound one is false. They count for bold rewordings only.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple, get_args

import edits
import numpy as np
from letters import read_part

from plainly.auditing.attacks import ATTACKS, Rewritten, SystemOutputs
from plainly.core.evalset import EvalSet
from plainly.factcheck.pairs import find_all, judge_rewording
from plainly.factcheck.reading import MatchedPair, Rewording, match_pairs
from plainly.text.sentence_alignment import align_many

MIRROR = Path(os.environ["PLAINLY_MIRROR"]) / "raw.githubusercontent.com"
FILE = Path(__file__).parents[1] / "src" / "plainly" / "factcheck" / "situations.toml"
MOST = 1200  # pairs from each source
MOST_EDITS = 6  # wrong versions of an item
Counts = dict[tuple[str, str], Counter[bool]]  # by rewording and situation: right and false ones
Span = tuple[int, int]


class Example(NamedTuple):
    """A pair; in a wrong one the places of the wrong words, or None where any change of meaning is right."""

    source: str
    output: str
    language: str
    wrong: bool
    places: tuple[tuple[Span, ...], tuple[Span, ...]] | None = None
    planted: bool = False


def letters() -> list[Example]:
    examples = []
    for pair in read_part("tuning", "tuning 2"):
        texts = pair["source"], pair["output"]
        places = _find(texts[0], pair["source_words"]), _find(texts[1], pair["output_words"])
        examples.append(Example(*texts, pair["language"], pair["wrong"], places))
    return examples


def statements() -> list[Example]:
    """Single sentences, each with a sound and a wrong rewording."""
    examples = []
    for line in (Path(__file__).parent / "statements.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        examples.append(Example(row["source"], row["sound"], row["language"], wrong=False))
        places = _find(row["source"], row["source_words"]), _find(row["wrong"], row["output_words"])
        examples.append(Example(row["source"], row["wrong"], row["language"], wrong=True, places=places))
    return examples


def _find(text: str, words: str) -> tuple[Span, ...]:
    return ((text.index(words), text.index(words) + len(words)),) if words else ()


def onestop() -> list[tuple[str, str]]:
    """Paragraphs of two levels and their aligned sentences, with close rewording."""
    sides: tuple[list[str], list[str]] = [], []
    for path in sorted((MIRROR / "berzak/onestop-qa").rglob("annotated_articles/*.txt")):
        text = re.sub(r"</?[A-Z]\d>", "", path.read_text(encoding="utf-8", errors="replace"))
        for paragraph in text.split("# Paragraph")[1:]:
            levels = dict(re.findall(r"^(Adv|Int|Ele): (.*)$", paragraph, re.MULTILINE))
            for harder, easier in (("Adv", "Int"), ("Int", "Ele"), ("Adv", "Ele")):
                if harder in levels and easier in levels:
                    sides[0].append(levels[harder])
                    sides[1].append(levels[easier])
    pairs = [pair for alignment in align_many(*sides, encoder=False) for pair in alignment.pairs()]
    pairs = [(source, output) for source, output in pairs if source and output and source != output]
    pairs += zip(*sides, strict=True)
    matches = match_pairs([source for source, _ in pairs], [output for _, output in pairs], language="en")
    pairs = [pair for pair, match in zip(pairs, matches, strict=True) if match.rewording == "close"]
    return [pairs[at] for at in np.random.default_rng(1).permutation(len(pairs))]


def planted(pairs: list[tuple[str, str]]) -> list[Example]:
    examples = []
    system = SystemOutputs(EvalSet.of([source for source, _ in pairs]), tuple(output for _, output in pairs))
    for number, attack in enumerate(("negate", "swap-names", "hallucinate")):
        rewritten = ATTACKS[attack].records(system, np.random.default_rng(number))
        for (source, _), text in zip(pairs, rewritten, strict=True):
            if text.changes:
                places = None if attack == "negate" else ((), _new_places(text))
                examples.append(Example(source, text.text, "en", True, places, planted=True))
    names = sorted(name for name in system.names if name.isalpha())
    rng = np.random.default_rng(9)
    for source, output in pairs:  # a name added at the end
        name = names[rng.integers(len(names))]
        if output.endswith(".") and name not in source and name not in output:
            text = f"{output[:-1]} in {name}."
            places = (), ((len(text) - 1 - len(name), len(text) - 1),)
            examples.append(Example(source, text, "en", True, places, planted=True))
    return examples


def _new_places(text: Rewritten) -> tuple[Span, ...]:
    places, shift = [], 0
    for change in text.changes:
        start = change.start + shift
        places.append((start, start + max(1, len(change.after))))
        shift += len(change.after) - len(change.before)
    return tuple(places)


def opposites() -> list[Example]:
    rows = []
    for path in sorted((MIRROR / "dmlls/cannot-dataset").rglob("wikifactcheck_english_*.tsv")):
        with path.open(encoding="utf-8") as file:
            rows += [
                (row[0], row[1]) for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if len(row) > 1
            ]
    order = np.random.default_rng(2).permutation(len(rows))[:MOST]
    return [Example(*rows[at], "en", True) for at in order]


def german() -> list[Example]:
    path = next((MIRROR / "babaknaderi/TextComplexityDE").rglob("parallel_corpus.csv"))
    with path.open(encoding="cp1252") as file:
        rows = list(csv.DictReader(file))[::3]  # as many as there are German letters
        return [Example(row["Original_Sentence"], row["Simplification"], "de", wrong=False) for row in rows]


def examples() -> list[Example]:
    clean = onestop()
    middle = len(clean) // 2
    sound = [Example(*pair, "en", wrong=False) for pair in clean[:middle]]
    wrong = [*planted(clean[middle:]), *opposites()[: middle // 2]]
    rng = np.random.default_rng(3)
    wrong = [wrong[at] for at in rng.permutation(len(wrong))[: len(sound)]]
    return [*letters(), *statements(), *sound, *wrong, *german()]


def is_right(example: Example, source: tuple[Span, ...], output: tuple[Span, ...], effect: str) -> bool:
    if example.places is None:
        return effect in ("flipped", "changed")
    return any(
        start < b and end > a
        for own, others in zip((source, output), example.places, strict=True)
        for start, end in own
        for a, b in others
    )


def count_edits(counts: Counts) -> None:
    """Count what is found in versions with an error and in the same ones without it."""
    rng = np.random.default_rng(5)
    versions = []
    for item in edits.read_items(held_out=False):
        of_item = [version for version in edits.make_versions(item, rng) if version.group]
        versions += [of_item[at] for at in rng.permutation(len(of_item))[:MOST_EDITS]]
    for language in ("en", "de"):
        own = [version for version in versions if version.item.language == language]
        sources = [version.item.source for version in own]
        both = (
            match_pairs(sources, [version.output for version in own], language=language),
            match_pairs(sources, [version.sound for version in own], language=language),
        )
        for matches in zip(*both, strict=True):
            with_error, without = map(_find_situations, matches)
            for key in with_error - without:
                counts.setdefault(key, Counter())[True] += 1
            for key in set(without):
                counts.setdefault(key, Counter())[False] += 1


def _find_situations(match: MatchedPair) -> Counter[tuple[str, str]]:
    """Count the findings by rewording and situation, but those in close rewordings, of which there are few here."""
    keys = [(judge_rewording(match, finding), finding.situation) for finding in find_all(match) if finding.situation]
    return Counter(key for key in keys if key[0] != "close")


def main() -> None:
    """Count and write."""
    pairs = examples()
    print(Counter((example.language, example.wrong) for example in pairs))
    counts: Counts = {}
    count_edits(counts)
    for language in ("en", "de"):
        own = [example for example in pairs if example.language == language]
        matches = match_pairs([e.source for e in own], [e.output for e in own], language=language)
        for example, match in zip(own, matches, strict=True):
            seen: dict[tuple[str, str], bool] = {}
            for finding in find_all(match):
                rewording = judge_rewording(match, finding)
                if finding.situation and (rewording == "close" or not example.planted):
                    right = example.wrong and is_right(example, finding.source, finding.output, finding.effect)
                    key = rewording, finding.situation
                    seen[key] = seen.get(key, False) or right
            for key, right in seen.items():
                if right or not example.wrong:
                    counts.setdefault(key, Counter())[right] += 1
    lines = [
        "# Findings about statements: how many were right, of how many; see bench/precision.py, which writes this.\n"
    ]
    for rewording in get_args(Rewording):
        lines.append(f"[{rewording}]")
        for (own_rewording, situation), count in sorted(counts.items()):
            if own_rewording == rewording:
                lines.append(f'"{situation}" = [{count[True]}, {count.total()}]')
        lines.append("")
    Path(sys.argv[1] if len(sys.argv) > 1 else FILE).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
