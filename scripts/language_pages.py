"""Write the page of each language, docs/language-CODE.md, by one template, from its file and what was measured.

python scripts/language_pages.py
"""

import tomllib
from pathlib import Path

from plainly import data
from plainly.core import registry
from plainly.metrics.evidence import stated_languages
from plainly.text.languages import CODES, ReadabilityFormula, language

ROOT = Path(__file__).resolve().parent.parent
MEASURED = tomllib.loads((ROOT / "bench" / "languages.toml").read_text(encoding="utf-8"))
PAGE = """\
# {name}

<!-- Written by scripts/language_pages.py from src/plainly/text/languages/{code}.toml and bench/languages.toml. -->

```sh
plainly score --language {code} --source source.txt --references 'reference.*.txt' -- A.txt
```

With `--language {code}` (from Python `language="{code}"`), sentence ends, words, syllables, word frequencies and
readability are those of {name}. [Other languages](languages.md) describes what all languages have in common.

## What works

| metrics | in {name} |
|---|---|
| {any} | work in every language, because they compare words or characters |
| {made} | made for {name} |
| {model} | work if the model that you choose supports {name} |

## What does not work

All other metrics are made for English (`fkgl`, `sle`, `meaning`, `facts`, `samsa`, …; see `plainly metrics NAME`), and
plainly warns before it prints their numbers. The labels of operations, and the attacks of an audit that need word lists
(synonyms, names, negation), are English too.

## Readability

{formulas}

`-m readability` uses the first formula; for another one, use for example `-m 'readability(formula={last})'`.

## Syllables

The share of 500 words, sampled from the 20,000 most frequent ones, whose count differs from the phonemes of espeak-ng
(`bench/syllables.py`):

| method | every vowel is a syllable | i and u before a vowel are glides |
|---|---|---|
{syllables}

{people}## Tokenisers

SARI and BLEU use the tokeniser 13a, as other implementations do, so that BLEU equals sacrebleu's. 13a does not separate
quotation marks such as {marks} from words. `bleu(tokenize=intl)` separates them, and `bleu(tokenize=moses-{code})` uses
the Moses rules for {name}. The signature of every number shows the setting (`auto` is 13a).

{cards}## Limits

{limits}
"""
UNRATED = """\
## Agreement with people

No ratings of simplicity in this language were available, so it is not known how well these numbers agree with people.
Compare them with your own ratings (`plainly meta`).

"""
RATED = """\
## Agreement with people

Pearson's r with the ratings of {what}:

| | r |
|---|---|
{rows}

{more} The learned metrics need
`pip install 'plainly[multilingual]'`; `bench/multilingual.py` computes these figures. They have not been tested on
system outputs.

"""
MARKS = {"de": "„ and “", "fr": "« and »", "es": "« and ¿", "it": "« and »", "pt": "“ and ”", "nl": "‘ and ’"}


def pages() -> dict[str, str]:
    """The text of every page by the name of its file."""
    return {f"language-{code}.md": page(code) for code in CODES if code != "en"}


def page(code: str) -> str:
    """The page of one language."""
    profile = language(code)
    metrics = {name: stated_languages(registry.metric_class(name)) for name in registry.METRICS if name != "command"}
    return PAGE.format(
        name=profile.name,
        code=code,
        any=_listed([name for name, languages in metrics.items() if languages == "any"]),
        made=_listed([name for name, languages in metrics.items() if code in languages.split()]),
        model=_listed([name for name, languages in metrics.items() if languages == "model"]),
        formulas=_formulas([*profile.formulas.values()]),
        last=[*profile.formulas][1],
        syllables="\n".join(
            f"| `syllables={way}` | {every:.1f} % | {gliding:.1f} % |"
            for way, (every, gliding) in MEASURED["syllables"][code].items()
        ),
        people=_people(code),
        marks=MARKS[code],
        cards=_cards(code),
        limits=profile.limits,
    )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _formulas(formulas: list[ReadabilityFormula]) -> str:
    table = ["| formula | what it is | easier is | scale |", "|---|---|---|---|", *map(_row, formulas)]
    sources = [f"- `{formula.name}`: {_written(formula)}. {formula.source}" for formula in formulas]
    return "\n".join([*table, "", *sources])


def _row(formula: ReadabilityFormula) -> str:
    return f"| `{formula.name}` | {formula.title} | {formula.better} | {formula.scale} |"


def _written(formula: ReadabilityFormula) -> str:
    terms = [f"{coefficient:+.10g} × {name.replace('_', ' ')}" for name, coefficient in formula.coefficients.items()]
    whole = " ".join([*([f"{formula.constant:.10g}"] if formula.constant else []), *terms])
    return whole.replace(" -", " − ").replace(" +", " + ").replace(" 1 ×", "").removeprefix("+1 × ").replace("-", "−")


def _people(code: str) -> str:
    measured = MEASURED["people"].get(code)
    if measured is None:
        return UNRATED
    rows = "\n".join(f"| {name if ' ' in name else f'`{name}`'} | {value} |" for name, value in measured["values"])
    return RATED.format(rows=rows, **measured)


def _cards(code: str) -> str:
    names = MEASURED["cards"].get(code, [])
    rows = "\n".join(f"- `{name}`: {data.card(name).title} ({data.card(name).licence})" for name in names)
    return f"## Data\n\n{rows}\n\n" if names else ""


if __name__ == "__main__":
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text, encoding="utf-8")
