"""Files and values that people have on disk by accident, and that enemies make on purpose."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np

WORDS = (
    "the",
    "cat",
    "sat",
    "Dr.",
    "3.5",
    "naïve",
    "—",
    "(e.g.",
    "🍮",
    "don't",
    "城市",
    "ist",
    "\u2028",
    "e\u0301",
    "<b>",
    "&amp;",
)


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.choice((0, 1, 3, 9, 25)))) + rng.choice(("", ".", "?", " "))


def texts(rng: random.Random, n: int) -> list[str]:
    return [sentence(rng) for _ in range(n)]


def write(folder: Path, rng: random.Random) -> list[str]:
    """A folder of files, sound and broken; their names."""
    n = rng.choice((1, 2, 7))
    lines = texts(rng, n)
    records = [
        {"id": str(at), "source": line, "references": texts(rng, 2) or ["x"], "output": sentence(rng), "group": "g"}
        for at, line in enumerate(lines)
    ]
    broken = [dict(record) for record in records]
    broken[rng.randrange(n)].update(rng.choice(BROKEN))
    files: dict[str, bytes] = {
        "good.txt": "\n".join(lines).encode("utf-8", "replace"),
        "same.txt": "\n".join(texts(rng, n)).encode("utf-8", "replace"),
        "short.txt": "\n".join(lines[:-1]).encode("utf-8", "replace"),
        "empty.txt": b"",
        "blank.txt": b"\n" * n,
        "returns.txt": b"a b.\rc d.\re f.",
        "latin.txt": "café crème".encode("latin-1"),
        "utf16.txt": "one\ntwo".encode("utf-16"),
        "nul.txt": b"a\0b\nc\n",
        "long.txt": b"word " * 20_000,
        "good.jsonl": _lines(records),
        "broken.jsonl": _lines(broken),
        "cut.jsonl": _lines(records)[:-7],
        "list.json": json.dumps(lines).encode(),
        "deep.json": b"[" * 2000,
        "table.csv": b"source,output\n" + "\n".join(f'"{line}","{line}"' for line in ("a b", "c d")).encode(),
        "odd.csv": b'source,output\n"a,b\n"c"d,e\n',
        "twice.csv": b"output,output\na,b\n",
        "header.csv": b"source,output\n",
        "ratings.csv": b"system,item,rater,simplicity\nA,1,r,3\nA,2,r,n/a\nB,1,r,5\nB,2,r,1\n",
        "words.csv": b"system,item,rater,simplicity\nA,1,r,three\nB,1,r,5\n",
        "rows.npz": _npz(rng),
        "bad.npz": bytes(rng.randrange(256) for _ in range(200)),
        "grid.toml": rng.choice(TOML).encode(),
        "study.toml": b"title = 3\n[[scale]]\n",
        "labels.jsonl": _lines(
            [{"id": str(at), "source": "a b c .", "output": "a c .", "groups": _groups(rng)} for at in range(n)]
        ),
        "not.parquet": b"PAR1 nonsense",
        "sheet.ods": b"PK\x03\x04 nonsense",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir(exist_ok=True)
    (folder / "shards").mkdir(exist_ok=True)
    (folder / "shards" / "a.jsonl").write_bytes(files["good.jsonl"])
    return [
        *files,
        "folder",
        "shards",
        "missing.txt",
        "-x",
        "NAME=good.txt",
        "good.txt=",
        "=",
        "*.txt",
        "http://",
        "no\0name"[:2],
    ]


BROKEN: tuple[dict[str, object], ...] = (
    {"output": None},
    {"output": 3},
    {"source": ["a"]},
    {"references": "one"},
    {"references": [None, 2]},
    {"references": {"a": "b"}},
    {"id": None},
    {"id": "0"},
    {"group": float("inf")},
    {"output": "\ud800"},
)
TOML = (
    "",
    "metrics = 3\n",
    'metrics = ["sari"]\nsystems = "x"\n[test_sets]\n',
    'out = "o"\nmetrics = ["fkgl"]\n[test_sets.a]\nset = "nowhere"\n[systems.b]\n',
    "[[[",
)
VALUES = ("-1", "0", "1", "2", "nan", "inf", "1e400", "", "x", "0.5", "99999999999999999999", "12345")
SPECS = (
    "sari", "bleu", "fkgl", "sari(variant=hf)", "sari(variant=", "nothing", "length", "edits", "bleu(x=1)", "", ",",
    "chrf", "command(run=false)", "command(run=)", "splits",
)  # fmt: skip


def _groups(rng: random.Random) -> list[dict[str, object]]:
    """Annotated operations, sound ones more often than not."""
    return [{"label": rng.choice(("delmod", "delmod", "x")), "source": rng.choice(([1], [1], [9])), "output": []}]


def _lines(records: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(record).encode("utf-8", "replace") + b"\n" for record in records)


def _npz(rng: random.Random) -> bytes:
    """What looks like saved scores, with something wrong in it."""
    import io

    about: dict[str, object] = {
        "schema": "plainly.rows/1",
        "test_set": "x",
        "ids": ["1", "2"],
        "groups": None,
        "columns": {},
        "scores": [{"system": "A", "spec": "fkgl", "signature": "fkgl|data:0|plainly:0", "rows": "rows0"}],
    }
    about.update(
        rng.choice(({}, {"ids": 3}, {"scores": 5}, {"scores": [{}]}, {"columns": {"a": [1]}}, {"schema": None}))
    )
    shape = rng.choice(((2, 4), (2, 99), (0, 0), (3,)))
    sink = io.BytesIO()
    np.savez(sink, about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), rows0=np.ones(shape))
    return sink.getvalue()
