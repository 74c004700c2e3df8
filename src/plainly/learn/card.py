"""The model card that training writes: what the model is, what it learnt from, and how good it is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from plainly.learn.corpus import Corpus
from plainly.learn.export import Agreement
from plainly.learn.recipe import Recipe, Trained


def facts(trained: Trained, agreement: Agreement) -> dict[str, Any]:
    """What was measured, as plain values."""
    return {
        "schema": "plainly.train/1",
        "heads": list(trained.model.heads),
        "sentences": {
            name: len(part)
            for name, part in (
                ("train", trained.parts.train),
                ("valid", trained.parts.valid),
                ("test", trained.parts.test),
            )
        },
        "quality": {name: asdict(found) for name, found in trained.qualities.items()},
        "export": asdict(agreement),
    }


def write(path: Path, corpus: Corpus, recipe: Recipe, trained: Trained, agreement: Agreement, *, encoder: str) -> str:
    """Write the card and return its text."""
    parts = (("validation", "valid"), ("test", "test"))
    qualities = "\n".join(
        f"| {label} | {q.mae:.3f} | {q.doc_mae:.3f} | {q.f1:.3f} | {q.sentences} | {q.documents} |"
        for label, q in ((label, trained.qualities[name]) for label, name in parts)
    )
    levels = ", ".join(f"{level:g}" for level in sorted(set(corpus.levelled.levels.tolist())))
    settings = "\n".join(f"- {name}: {value}" for name, value in asdict(recipe).items())
    text = f"""# Model card: {path.parent.name}

A simplicity estimate made by `plainly train sle`. Use it: `plainly score -m 'sle(model={path.parent})'`.

- Encoder it started from: {Path(encoder).name}
- Data: {", ".join(corpus.sources) or "levelled documents of the user"}; levels {levels}; articles are never split
- Scales: {", ".join(trained.model.heads)}

| part | MAE | Doc-MAE | F1 | sentences | documents |
|---|---|---|---|---|---|
{qualities}

Errors are against the documents' own levels. The exported model differs from the trained one by {agreement.mean:.3f} on
average and {agreement.largest:.3f} at most on {agreement.texts} validation sentences (correlation
{agreement.correlation:.4f}).

## Recipe

{settings}
"""
    path.write_text(text, encoding="utf-8")
    return text
