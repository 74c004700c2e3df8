"""What the verdict of plainly check is worth, how wide its intervals must be, and what a megabyte of Markdown takes.

    python bench/check.py verdicts     # AUROC on articles that no model was trained on; ReadMe++; German
    python bench/check.py speed        # time and memory for 1 MB of this project's documentation, repeated
    python bench/check.py page         # how long a browser needs for a page of 10,000 sentences

Articles are those of OneStopEnglish that the encoder was not trained on (28 of 189). Of the text head of ``cefr``, the
weights of two estimates and its scale were fitted to them, three numbers; ``sle`` never saw them.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from plainly import data
from plainly.core import registry
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats
from plainly.learned import encoder
from plainly.learned.cefr import load
from plainly.learned.sle import sentence_levels
from plainly_lab.training.documents import cut_sentences, split_by_article
from plainly_lab.training.recipe import Recipe

ROOT = Path(__file__).resolve().parent.parent
LEVELS = {"elementary": 2.5, "intermediate": 3.5, "advanced": 4.5}
FORMULAS = ("fkgl", "flesch", "ari", "coleman_liau", "smog", "gunning_fog")
MEGABYTE = 1_000_000


def verdicts() -> dict[str, object]:
    """Elementary against advanced, for documents and paragraphs of at least ten words; readings against ratings."""
    table = data.table("onestopenglish/texts")
    levelled = cut_sentences(table["article"], table["level"], table["text"], scale=LEVELS)
    recipe = Recipe.read("shipped")
    parts = split_by_article(levelled, valid=recipe.valid, test=recipe.test, seed=recipe.seed)
    unseen = {*parts.valid.articles, *parts.test.articles}
    result: dict[str, object] = {"articles": len(unseen)}
    for unit in ("document", "paragraph"):
        texts: dict[str, list[str]] = {level: [] for level in LEVELS}
        for article, level, text in zip(table["article"], table["level"], table["text"], strict=True):
            if article in unseen:
                own = [text] if unit == "document" else [p for p in text.splitlines() if len(p.split()) >= 10]
                texts[level] += own
        readings = {level: load().levels(of) for level, of in texts.items()}
        errors = np.concatenate([readings[level] - LEVELS[level] for level in LEVELS])
        result[unit] = {
            "texts": {level: len(of) for level, of in texts.items()},
            "cefr": auroc(readings["elementary"], readings["advanced"]),
            "sle": auroc(*(-_average_sle(texts[level]) for level in ("elementary", "advanced"))),
            **{
                name: auroc(*(_formula(name, texts[level]) for level in ("elementary", "advanced")))
                for name in FORMULAS
            },
            "words": auroc(*(np.array([len(t.split()) for t in texts[level]]) for level in ("elementary", "advanced"))),
            "spread": round(float(np.sqrt(np.nanmean(errors**2))), 2),
            "within 90 %": round(float(np.nanmean(np.abs(errors) <= 1.645 * np.sqrt(np.nanmean(errors**2)))), 2),
        }
    table = data.table("readme/english")
    is_test = np.array(table["part"]) == "test"
    sentences, people = (np.array(table[name])[is_test] for name in ("sentence", "level"))
    reading, people = load().levels(sentences.tolist()), people.astype(float)
    result["readme++"] = {
        "sentences": len(people),
        "cefr": _pearson(reading, people),
        **{name: _pearson(_formula(name, sentences.tolist()), people) for name in FORMULAS},
        "spread": round(float(np.sqrt(np.mean((reading - people) ** 2))), 2),
    }
    return result


def auroc(easy: Floats, hard: Floats) -> float:
    easy, hard = easy[np.isfinite(easy)], hard[np.isfinite(hard)]
    difference = hard[:, None] - easy[None]
    return round(float(((difference > 0) + 0.5 * (difference == 0)).mean()), 3)


def _pearson(one: Floats, other: Floats) -> float:
    return round(float(np.corrcoef(one, other)[0, 1]), 3)


def _average_sle(texts: list[str]) -> Floats:
    return np.array([levels.mean() if len(levels) else np.nan for levels in sentence_levels(encoder.load(), texts)])


def _formula(name: str, texts: list[str]) -> Floats:
    metric = registry.metric(name)
    values = metric.score(metric.measure(EvalSet.of(items=len(texts)), texts))[:, 0]
    return -values if name == "flesch" else values


def speed() -> dict[str, object]:
    """Check 1 MB of different Markdown with and without learned metrics, each in a process of its own."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]
    content = "\n\n".join(texts)
    round_ = 0
    while len(content.encode()) < MEGABYTE:  # other words, so that no sentence is read from a cache
        round_ += 1
        content += "\n\n" + "\n\n".join(texts).replace(" the ", f" the number {round_} ")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.md"
        file.write_bytes(content.encode()[:MEGABYTE].decode("utf-8", "ignore").encode())
        figures: dict[str, object] = {"load": os.getloadavg()[0], "cores": os.cpu_count()}
        for name, options in (("everything", []), ("quick", ["--quick"])):
            words = [sys.executable, str(Path(__file__)), "one", str(file), *options]
            run = subprocess.run(words, capture_output=True, text=True, check=True)
            figures[name] = json.loads(run.stdout)
    return figures


def one(file: str, quick: bool) -> dict[str, float]:
    from plainly.checks.document_checks import check_documents

    start, used = time.perf_counter(), time.process_time()
    checks = check_documents([file], learned=not quick, language="en")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "processor seconds": round(time.process_time() - used, 1),
        "megabytes": round(memory),
        "sentences": len(checks.documents[0].prose.sentences),
    }


def page() -> dict[str, float]:
    """Open a page of 10,000 sentences in Chromium: milliseconds from the start of loading to the event ``load``."""
    from playwright.sync_api import sync_playwright

    from plainly.checks.document_checks import check_documents
    from plainly.reporting.check_page import check_page

    sentence = "The committee, which had been asked to decide about number {}, was not able to reach an agreement."
    paragraphs = [" ".join(sentence.format(5 * row + at) for at in range(5)) for row in range(2000)]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        text, target = Path(folder) / "long.md", Path(folder) / "long.html"
        text.write_text("\n\n".join(paragraphs), encoding="utf-8")
        target.write_text(check_page(check_documents([text], learned=False, language="en")), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        tab = browser.new_page()
        used = []
        for _ in range(3):
            tab.goto(target.as_uri())
            timing = (
                "(e => [e.domContentLoadedEventEnd, e.loadEventEnd])(performance.getEntriesByType('navigation')[0])"
            )
            used.append(tab.evaluate(timing)[1])
        sentences = tab.locator(".text .s").count()
        browser.close()
        size = target.stat().st_size / 1e6
    return {
        "sentences": sentences,
        "megabytes": round(size, 1),
        "load ms": round(min(used)),
        "busy": os.getloadavg()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("verdicts", "speed", "page", "one"))
    parser.add_argument("file", nargs="?")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.what == "one":
        print(json.dumps(one(args.file, args.quick)))
    else:
        print(json.dumps({"verdicts": verdicts, "speed": speed, "page": page}[args.what](), indent=1))


if __name__ == "__main__":
    main()
