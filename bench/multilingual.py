"""The heads of sle-multilingual: how they are made, and how they do beside people and beside formulas.

German (TextComplexityDE) by cross-validation that leaves out whole articles, French (ReadMe++) on its own test part.

    python bench/multilingual.py           # the figures in docs/languages.md
    python bench/multilingual.py --write   # and the heads that are shipped; the French test part stays unseen
"""

import argparse
import json
from pathlib import Path

import numpy as np

import plainly
from plainly import data
from plainly.core import registry
from plainly.learned import multilingual
from plainly.learned.multilingual import count_features, vectors
from plainly.stats.resample import Floats
from plainly.text.languages import language

HEADS = Path(multilingual.__file__).with_name("heads")
PENALTY = 1.0
WEIGHT = 0.15  # of a counted quantity (in standard deviations) beside the vector, whose length is 1
DRAWS = 2000


def fitted(vector: Floats, numbers: Floats, level: Floats) -> dict[str, object]:
    """A ridge regression over the vector and the numbers, each number in standard deviations times WEIGHT."""
    mean, scale = numbers.mean(axis=0), WEIGHT / np.maximum(numbers.std(axis=0), 1e-9)
    features = np.concatenate([vector, (numbers - mean) * scale], axis=1)
    middle = features.mean(axis=0)
    centred = features - middle
    gram = centred.T @ centred + PENALTY * np.eye(features.shape[1])
    weights = np.linalg.solve(gram, centred.T @ (level - level.mean()))
    return {"constant": float(level.mean() - middle @ weights), "mean": mean, "scale": scale, "weights": weights}


def predicted(head: dict[str, object], vector: Floats, numbers: Floats) -> Floats:
    features = np.concatenate([vector, (numbers - head["mean"]) * head["scale"]], axis=1)
    return np.clip(head["constant"] + features @ head["weights"], 0, 4)


def cross_validated(vector: Floats, numbers: Floats, people: Floats, groups: list[str]) -> Floats:
    """The estimate for each sentence by a head that saw no sentence of its group."""
    level = np.zeros(len(people))
    for group in set(groups):
        left_out = np.array(groups) == group
        head = fitted(vector[~left_out], numbers[~left_out], people[~left_out])
        level[left_out] = predicted(head, vector[left_out], numbers[left_out])
    return level


def pearson(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def drawn(values: list[Floats], people: Floats, groups: list[str]) -> list[str]:
    """Pearson of each with people, and the first's lead over each other, with 95 % intervals over groups."""
    names, rng = sorted(set(groups)), np.random.default_rng(0)
    places = [np.flatnonzero(np.array(groups) == name) for name in names]
    draws = [np.concatenate([places[i] for i in rng.integers(len(names), size=len(names))]) for _ in range(DRAWS)]
    table = np.array([[pearson(value[draw], people[draw]) for value in values] for draw in draws])
    cells = []
    for column, value in enumerate(values):
        low, high = np.percentile(table[:, column], (2.5, 97.5))
        lead = np.percentile(table[:, 0] - table[:, column], (2.5, 97.5))
        first = (
            f"; sle leads by {pearson(values[0], people) - pearson(value, people):.3f} [{lead[0]:.3f}, {lead[1]:.3f}]"
        )
        cells.append(f"{pearson(value, people):.3f} [{low:.3f}, {high:.3f}]{first if column else ''}")
    return cells


def formulas(texts: list[str], code: str) -> dict[str, Floats]:
    """Every formula of the language on each text, turned so that higher is simpler; and the number of words alone."""
    values = {}
    for name in language(code).formulas:
        metric = registry.metric(f"readability(formula={name},language={code})")
        scores = metric.score(metric.measure(plainly.EvalSet.of(items=len(texts)), texts))
        values[name] = scores[:, 0] if metric.better == "higher" else -scores[:, 0]
    values["number of words, logarithm"] = -count_features(texts, code)[:, 0]
    return values


def report(title: str, level: Floats, texts: list[str], people: Floats, groups: list[str], code: str) -> None:
    others = formulas(texts, code)
    print(f"\n{title}: {len(texts)} sentences, {len(set(groups))} groups; Pearson with people, 95 % over groups")
    for name, line in zip(("sle-multilingual", *others), drawn([level, *others.values()], people, groups), strict=True):
        print(f"  {name}: {line}")


def german(write: bool) -> None:
    table = data.table("textcomplexityde/ratings").columns
    texts, groups = [str(text) for text in table["output"]], [str(group) for group in table["group"]]
    people = (np.array(table["simplicity"], dtype=float) - 1) / 6 * 4  # from 1–7 to the scale of sle, 0–4
    vector, numbers = vectors(texts), count_features(texts, "de")
    level = cross_validated(vector, numbers, people, groups)
    report("German, TextComplexityDE, articles left out in turn", level, texts, people, groups, "de")
    pairs = data.load("textcomplexityde/pairs")
    right = []
    for group in sorted(set(pairs.groups or ())):
        head = fitted(*(part[np.array(groups) != group] for part in (vector, numbers, people)))
        group_pairs = pairs[[place for place, of in enumerate(pairs.groups or ()) if of == group]]
        sides = [[*group_pairs.sources], [row[0] for row in group_pairs.references]]
        before, after = (predicted(head, vectors(side), count_features(side, "de")) for side in sides)
        right += (after > before).tolist()
    print(f"  simplifications that are estimated simpler than their source: {np.mean(right):.1%} of {len(right)}")
    if write:
        save("de", fitted(vector, numbers, people), "TextComplexityDE (MIT), 1,000 sentences")


def french(write: bool) -> None:
    table = data.table("readme/french").columns
    texts, part = [str(text) for text in table["sentence"]], np.array(table["part"])
    people = (6 - np.array(table["level"], dtype=float)) / 5 * 4
    vector, numbers = vectors(texts), count_features(texts, "fr")
    test = part == "test"
    head = fitted(vector[~test], numbers[~test], people[~test])
    level = predicted(head, vector[test], numbers[test])
    test_part = [text for text, is_test in zip(texts, test, strict=True) if is_test]
    report("French, ReadMe++, test part", level, test_part, people[test], [str(i) for i in range(len(test_part))], "fr")
    domains = [str(domain) for domain in table["domain"]]
    level = cross_validated(vector, numbers, people, domains)
    report("French, ReadMe++, all parts, domains left out in turn", level, texts, people, domains, "fr")
    if write:
        save("fr", head, "ReadMe++ (MIT), French, training and development parts, 1,484 sentences")


def save(code: str, head: dict[str, object], trained_on: str) -> None:
    rounded = {name: np.round(value, 6).tolist() for name, value in head.items()}
    text = json.dumps({"name": f"plainly-sle-{code}-1", "trained_on": trained_on, **rounded})
    (HEADS / f"{code}.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the heads that are shipped")
    args = parser.parse_args()
    german(args.write)
    french(args.write)


if __name__ == "__main__":
    main()
