"""The files that the pages' examples name, made from texts: for scripts/walk."""

from __future__ import annotations

import csv
import gzip
import json
import random
from pathlib import Path


def write_all(
    folder: Path,
    sources: list[str],
    references: list[list[str]],
    groups: list[str],
    mine: list[str],
    theirs: list[str],
) -> None:
    """Every file, in a folder: mine.txt and theirs.txt are what two systems wrote."""
    write_texts(folder, sources, references, mine, theirs)
    write_tables(folder, sources, references, groups, mine, theirs)
    write_documents(folder, sources, references, groups, mine)
    write_ratings(folder, sources, {"copy": sources, "A": mine, "B": theirs})
    write_annotations(folder, sources, mine)
    write_training(folder)
    write_pages(folder, sources, mine)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_pages(folder: Path, sources: list[str], mine: list[str]) -> None:
    """Documents for plainly check, and a style of Vale."""
    import docx

    for name, texts in (("letter.txt", mine), ("README.md", mine), ("docs/page.md", mine), ("page.md", mine)):
        write(folder / name, "# Title\n\n" * name.endswith(".md") + "\n\n".join(texts[:5]) + "\n")
    write(folder / "old.md", sources[0] + "\n")
    write(folder / "new.md", mine[0] + "\n")
    write(folder / "styles/House/Terms.yml", "extends: substitution\nmessage: Use %s\nswap:\n  foo: bar\n")
    document = docx.Document()
    document.add_paragraph(mine[0])
    document.save(str(folder / "letter.docx"))


def write_texts(
    folder: Path, sources: list[str], references: list[list[str]], mine: list[str], theirs: list[str]
) -> None:
    columns = {
        **dict.fromkeys(("src", "source", "sources", "quelle"), sources),
        **dict.fromkeys(("mine", "my-output", "out", "A", "a", "ACCESS", "runs/7/out"), mine),
        **dict.fromkeys(("theirs", "B", "b", "Hybrid"), theirs),
        **{
            f"{name}.{number}": texts
            for number, texts in enumerate(zip(*references, strict=True))
            for name in ("ref", "reference", "referenz")
        },
        "ref": [texts[0] for texts in references],
    }
    for name, texts in columns.items():
        write(folder / f"{name}.txt", "".join(f"{text}\n" for text in texts))
    # In awk, because an audit starts it many thousands of times.
    write(folder / "my_metric.py", "#!/bin/sh\nexec awk '{ print length($0) }'\n")
    (folder / "my_metric.py").chmod(0o755)


def write_tables(
    folder: Path,
    sources: list[str],
    references: list[list[str]],
    groups: list[str],
    mine: list[str],
    theirs: list[str],
) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = [
        {
            "source": sources[item],
            **{f"reference_{number}": text for number, text in enumerate(references[item])},
            "output_mine": mine[item],
            "output_theirs": theirs[item],
            "group": groups[item],
            "genre": ("news", "health", "law")[item % 3],
        }
        for item in range(len(sources))
    ]
    with (folder / "data.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (folder / "shards").mkdir()
    half = len(rows) // 2
    for name, part in (("results", rows), ("shards/1", rows[:half]), ("shards/2", rows[half:])):
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(part), folder / f"{name}.parquet")
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "pairs.jsonl.gz").write_bytes(gzip.compress(lines.encode()))


def write_documents(
    folder: Path, sources: list[str], references: list[list[str]], groups: list[str], outputs: list[str]
) -> None:
    write(folder / "docs.txt", "".join(f"{group}\n" for group in groups))
    joined: dict[str, list[list[str]]] = {}
    for group, *texts in zip(groups, sources, [texts[0] for texts in references], outputs, strict=True):
        joined.setdefault(group, []).append(texts)
    documents = [[" ".join(texts) for texts in zip(*parts, strict=True)] for parts in joined.values()]
    with (folder / "articles.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("source", "reference", "output"), *documents])
    for name, place in (("articles", 0), ("simple", 2)):
        write(folder / f"{name}.txt", "".join(f"{texts[place]}\n" for texts in documents))
    columns = {
        "out": ("output",),
        "mine": ("source", "output"),
        "gold": ("id", "source", "reference", "target"),
        "run": ("id", "output"),
    }
    for name, keys in columns.items():
        rows = [
            {"id": str(number), "source": source, "reference": texts[0], "target": "B1", "output": output}
            for number, (source, texts, output) in enumerate(zip(sources, references, outputs, strict=True), 1)
        ]
        lines = (json.dumps({key: row[key] for key in keys}, ensure_ascii=False) for row in rows)
        write(folder / f"{name}.jsonl", "".join(f"{line}\n" for line in lines))


def write_ratings(folder: Path, sources: list[str], outputs: dict[str, list[str]]) -> None:
    rng = random.Random(1)
    rows = []
    for place, (system, texts) in enumerate(outputs.items()):
        for item in range(40):
            for rater in ("anna", "ben", "carla"):
                for dimension in ("simplicity", "meaning"):
                    rating = min(max(round(rng.gauss(2.5 + place / 2, 1)), 1), 5)
                    rows.append((system, item + 1, rater, dimension, rating, sources[item], texts[item]))
    names = ("system", "item", "rater", "dimension", "rating", "source", "output")
    for name, width in (("ratings", 5), ("pilot", 5), ("answers", 7)):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(row[:width] for row in (names, *rows))
    choices = ["id,rater,dimension,first,second,winner"]
    choices += [
        f"{item},{rater},meaning,A,B,{'tie' if (item + rater) % 5 == 0 else 'AB'[(item * rater) % 3 == 0]}"
        for item in range(8)
        for rater in range(3)
    ]
    write(folder / "pairs.csv", "\n".join(choices) + "\n")


def write_annotations(folder: Path, sources: list[str], outputs: list[str]) -> None:
    pairs = list(zip(sources, outputs, strict=True))[:50]
    texts = "".join(f"{number}\n{source}\n{output}\n" for number, (source, output) in enumerate(pairs))
    for name in ("mine", "anna", "ben", "carla", "gold"):
        rng = random.Random(name)
        lines = []
        for number, (source, output) in enumerate(pairs):
            groups = []
            for token in range(min(len(source.split()), len(output.split()))):
                label = "synonym" if token % 4 == number % 4 else "delmod" if token % 5 == 0 else ""
                if label and rng.random() < 0.8:
                    groups.append(f"{token}:{token if label == 'synonym' else ''}:{label}")
            lines.append(" ".join([str(number), *groups]))
        write(folder / f"{name}.aln", "\n".join(lines) + "\n")
        write(folder / f"{name}.crp", texts)


def write_training(folder: Path) -> None:
    """Documents at two levels, and recipes that take no time."""
    rows = ["article,level,text"]
    for number in range(12):
        rows.append(f"a{number},hard,The committee deliberated about item {number}. It was subsequently adjourned.")
        rows.append(f"a{number},easy,They talked about item {number}. Then they stopped.")
    write(folder / "levelled.csv", "\n".join(rows) + "\n")
    write(folder / "small-sle.toml", "valid = 0.2\ntest = 0.2\n[fit]\nepochs = 1\n")
    small = "".join(f"[{stage}]\nepochs = 1\nlongest = 128\n" for stage in ("first", "second", "student"))
    sets = 'pairs = ["pwkp/valid"]\nratings = ["asset/ratings"]\n'
    write(folder / "small-quality.toml", f"{sets}copies = 1\nteachers = 1\nfirst_pairs = 100\n{small}")
