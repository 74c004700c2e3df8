"""How often each rule fires on texts written for easy reading and on ordinary ones; writes docs/rules.md.

English: articles of OneStopEnglish that teachers wrote for elementary learners against those for advanced ones, and the
references of TSAR 2025 against its sources. German: texts that language models wrote for the levels A1 to B1 against
those for B2 to C2 (data of the Zurich understandability index), and the simplifications of TextComplexityDE against its
sentences. Texts about the same thing are drawn together for the intervals.

    PLAINLY_MIRROR=../shared/mirror python bench/rules.py            # rates.toml and docs/rules.md
    PLAINLY_MIRROR=../shared/mirror python bench/rules.py --print    # the table only
"""

import argparse
import collections
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plainly import data
from plainly.checks.styles import PACKS, StyleRule, find_matches, read_styles
from plainly.checks.styles.rates import FILE, Rate
from plainly.checks.styles.reading import word_lists
from plainly.checks.styles.rules import TextUnit
from plainly.core.sampling import Sampling
from plainly.stats.resample import Resampler, interval
from plainly.text.languages.detection import language_name
from plainly.text.words import words

PAGE = Path(__file__).parent.parent / "docs" / "rules.md"
EASY, ORDINARY = 0, 1


@dataclass(frozen=True)
class Text:
    """A text, what it is about, and whether it is easy."""

    topic: str
    side: int
    text: str


def english() -> Iterator[Text]:
    """Yield the English texts."""
    table = data.table("onestopenglish/texts")
    for article, level, text in zip(table["article"], table["level"], table["text"], strict=True):
        if level != "intermediate":
            yield Text(article, EASY if level == "elementary" else ORDINARY, text)
    for name in ("tsar2025/trial", "tsar2025/test"):
        yield from _pairs(name)


def german() -> Iterator[Text]:
    """Yield the German texts."""
    table = data.table("zix/synthetic")
    for row, level, text in zip(table["row"], table["level"], table["text"], strict=True):
        yield Text(row, EASY if level in ("A1", "A2", "B1") else ORDINARY, text)
    yield from _pairs("textcomplexityde/pairs")


def _pairs(name: str) -> Iterator[Text]:
    """Yield the references of a set as easy texts and its sources, each once, as ordinary ones."""
    evalset = data.load(name)
    groups = evalset.groups or evalset.ids
    sources = set()
    for group, source, references in zip(groups, evalset.sources, evalset.references, strict=True):
        yield from (Text(f"{name}:{group}", EASY, text) for text in references)
        if source not in sources:
            sources.add(source)
            yield Text(f"{name}:{group}", ORDINARY, source)


LANGUAGES = {"en": english, "de": german}


def measure(language: str) -> dict[str, Rate]:
    """Return the rate of every rule of a language."""
    texts = list(LANGUAGES[language]())
    topics = list(dict.fromkeys(text.topic for text in texts))
    place = {topic: at for at, topic in enumerate(topics)}
    sizes = np.zeros((len(topics), 2))
    hits: dict[str, np.ndarray] = collections.defaultdict(lambda: np.zeros((len(topics), 2)))
    rules = rules_of(language)
    for text in texts:
        units = [TextUnit(line) for line in text.text.splitlines() if line.strip()]
        sizes[place[text.topic], text.side] += sum(len(words(unit.text)) for unit in units)
        for match in find_matches(units, rules, language=language).matches:
            hits[match.rule.name][place[text.topic], text.side] += 1
    return {rule.name: rate(hits[rule.name], sizes) for rule in rules}


def rules_of(language: str) -> list[StyleRule]:
    """Return all rules of our packs in a language, and the public lists of words in English."""
    packs = [pack for pack in PACKS if pack.startswith(language)]
    files = [file for pack in packs for file in sorted((FILE.parent / "packs" / pack).glob("*.yml"))]
    return list(read_styles([*files, *(word_lists() if language == "en" else ())]).rules)


def rate(hits: np.ndarray, sizes: np.ndarray) -> Rate:
    """Return the rate of a rule, from findings and words by topic and side; half a finding is added to each side."""

    def ratio(totals: np.ndarray) -> np.ndarray:
        easy, ordinary, easy_words, ordinary_words = np.moveaxis(totals, -1, 0)
        return (((ordinary + 0.5) / ordinary_words) / ((easy + 0.5) / easy_words))[..., None]

    rows = np.hstack((hits, sizes))
    sampling = Sampling()
    (draws,) = Resampler(len(rows), sampling.resamples, sampling.seed).totals([rows])
    (estimate,) = interval(rows, ratio, draws, sampling=sampling)
    counts = [int(total) for total in rows.sum(0)]
    return Rate(*counts, *(round(value, 2) for value in (estimate.value, estimate.low, estimate.high)))


def table(language: str, rates: dict[str, Rate]) -> str:
    """Return the rates of a language as a table in Markdown."""
    first = next(iter(rates.values()))
    lines = [
        f"## {language_name(language)}",
        "",
        f"{first.easy_words:,} words of easy texts, {first.ordinary_words:,} words of ordinary ones.",
        "",
        "| rule | what it finds | easy texts | ordinary texts | ratio | on by default |",
        "|---|---|--:|--:|--:|---|",
    ]
    order = [*PACKS, "words"]
    descriptions = {rule.name: rule.description or "A public list of words to avoid." for rule in rules_of(language)}
    for name in sorted(rates, key=lambda name: (order.index(name.partition(".")[0]), name)):
        own = rates[name]
        easy, ordinary = own.per_thousand
        verdict = {"more often": "yes", "as often": "no", "rare": "yes, rare" if own.is_default else "no, rare"}
        if name.startswith("words."):
            verdict = dict.fromkeys(verdict, "when named")
        what = descriptions[name].rstrip(".")
        lines.append(
            f"| `{name}` | {what} | {easy:.2f} ({own.easy}) | {ordinary:.2f} ({own.ordinary}) "
            f"| {own.ratio:.2f} [{own.low:.2f}, {own.high:.2f}] | {verdict[own.verdict]} |"
        )
    return "\n".join([*lines, ""])


HEAD = """# Rules and how often they fire

This page is made by `python bench/rules.py`. Do not edit it.

A rule about wording is useful if it fires on texts that are hard to read and not on those that are easy. Each rule of
our [packs](rule-packs.md) was applied to texts written for easy reading and to ordinary texts. The columns give
findings per 1,000 words, with the number of findings in brackets, and the ratio of the two rates with its 95 %
interval. The interval is a bootstrap over topics; half a finding is added to each side, so that the ratio is defined.

**A rule is on by default if the interval of its ratio lies above 1.1.** A rule that fires on easy texts as often as on
ordinary ones is off, however good the advice sounds; `plainly check --on RULE` turns it on. If there are fewer than 20
findings in all texts, the ratio is not known ("rare"). Such a rule is on if it fires on easy texts less than once in
20,000 words. If a rule of an easy pack is off, the rule of the same name of the plain pack stays in its place.

A rate on easy texts is not a rate of errors: writers of easy texts also use a passive. It is how often an author who
writes easy texts must expect a finding.

- English, easy: the elementary texts of OneStopEnglish and the references of TSAR 2025 (A2 and B1), all by teachers.
  Ordinary: the advanced texts of OneStopEnglish, which are news articles, and the sources of TSAR 2025.
- German, easy: texts for the levels A1 to B1 of the data of the Zurich understandability index, and the simplifications
  of TextComplexityDE, by native speakers. Ordinary: texts for B2 to C2, and the sentences of Wikipedia that were
  simplified. **Language models wrote the texts of the Zurich data**: the figures show what models write for a level,
  not what professionals write. Texts of the canton in the same data are not used, because its licence excludes them.

The limit of 1.1 and the decision about rare rules were made after a first look at these tables, on the same texts. So
were corrections of three rules (the words of Repetition, one entry of HiddenVerbs, capital letters in Participles). The
word lists were written without looking at the texts. There is no held-out part.

News articles hardly have the phrases of offices and contracts. A list of such phrases is rare here, which does not show
how it does in letters of an office.

"""


def write_rates(rates: dict[str, Rate]) -> str:
    """Return the rates as TOML."""
    lines = ["# Written by bench/rules.py: findings and words in easy and in ordinary texts.", "[rules]"]
    for name, own in sorted(rates.items()):
        fields = ", ".join(f"{field} = {getattr(own, field)}" for field in own.__struct_fields__)
        lines.append(f'"{name}" = {{ {fields} }}')
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--print", action="store_true", help="print the tables and write nothing")
    parser.add_argument("--language", choices=LANGUAGES, help="one language only; implies --print")
    options = parser.parse_args()
    measured = {code: measure(code) for code in ([options.language] if options.language else LANGUAGES)}
    page = HEAD + "\n".join(table(code, rates) for code, rates in measured.items())
    if options.print or options.language:
        print(page)
        return
    FILE.write_text(write_rates({name: own for rates in measured.values() for name, own in rates.items()}), "utf-8")
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
