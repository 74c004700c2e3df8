"""Files and values that people have on disk by accident, and that enemies make on purpose."""

from __future__ import annotations

import contextlib
import io
import json
import lzma
import os
import random
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

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


def generator(name: str, number: int) -> random.Random:
    """The random choices of one block of cases, of the seed that PLAINLY_FUZZ_SEED names."""
    return random.Random(zlib.crc32(f"{os.environ.get('PLAINLY_FUZZ_SEED', '0')} {name} {number}".encode()))


def without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every request to a closed port of this machine.

    ``urllib`` reads the proxies when it first opens a page and keeps that opener, so an earlier test in this process
    may have made one without them.
    """
    monkeypatch.setattr("urllib.request._opener", None)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


class Stream(io.TextIOWrapper):
    """Standard output or error in memory; like the real one, it takes text and, through ``buffer``, bytes."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)

    def getvalue(self) -> str:
        """Return what was written."""
        return self.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


@contextlib.contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Raise an exception that nothing catches from whatever runs too long."""

    def stop(number: int, frame: object) -> None:
        raise BaseExceptionGroup(f"it took more than {seconds} seconds", [KeyboardInterrupt()])

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def summary(failures: list[tuple[object, ...]], cases: int) -> str:
    """Every failure in a line, and the first completely."""
    lines = [" ".join(map(str, failure[:2]))[:400] for failure in failures]
    rest = "\n".join(map(str, failures[0][2:]))
    return f"{len(failures)} of {cases}:\n" + "\n".join(lines) + f"\nThe first:\n{failures[0][:2]}\n{rest}"


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
        "system-long.csv": _long(rng, "system"),
        "model-long.csv": _long(rng, "model"),
        "float-ids.csv": b"id,source,A,B\n1.0,a b,a,b\n2.0,c d,,d\n",
        "strange-ids.jsonl": _lines([{"id": rng.choice(IDS), "output": line} for line in lines]),
        "scores.csv": b"system,item,rouge1,rouge2\nA,1,0.3,0.1\nB,1,0.2,\nA,2,nan,0.3\nB,2,0.5,inf\n",
        "scale.csv": b"system,item,rater,simplicity,meaning\nA,1,r,55,1\nA,2,s,2,\nB,1,r,3,4\nB,2,s,1,2\n",
        "cut.xz": lzma.compress(b"one\ntwo\n" * 50)[:-9],
        "wrong.gz": b"\x1f\x8b\x08 not packed",
        "marks.txt": "\n".join(rng.choice(MARKS) for _ in range(n)).encode(),
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


IDS: tuple[object, ...] = (1, 1.0, "1", " 1", "asset-7", None, True, "", [1], 10**30, "0")
MARKS = (
    "<think>x</think>A.",
    "1. A b.",
    "A\\nb",
    "A\u200bb\u00ad",
    "```\nA\n```",
    "Sure! Here is it:",
    "\u0430bc",
    "a\tb",
)
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


def _long(rng: random.Random, name: str) -> bytes:
    """A row for each output of each system, some of them missing, some twice."""
    rows = [
        f"{system},{item},s{item},{rng.choice('xyz')}" for system in "AB" for item in range(3) if rng.random() < 0.8
    ]
    return "\n".join([f"{name},id,source,output", *rows, *rows[: rng.choice((0, 0, 1))]]).encode()


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
