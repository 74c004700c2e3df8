"""Files of ours, damaged: saved scores and states with bytes changed or lost are refused with a sentence."""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path

import pytest

from plainly.cli import main

pytestmark = pytest.mark.long


def _damage(content: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(3)
    if kind == 0:
        return content[: rng.randrange(len(content))]
    broken = bytearray(content)
    for _ in range(rng.choice((1, 5, 50))):
        broken[rng.randrange(len(broken))] = rng.randrange(256)
    if kind == 2:
        start = rng.randrange(len(broken))
        del broken[start : start + rng.randrange(1, 200)]
    return bytes(broken)


@pytest.mark.parametrize("seed", range(10))
def test_damaged_scores_are_read_or_refused(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    saved = tmp_path / "saved.npz"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main(["score", "--demo", "-m", "fkgl", "editor", "noisy", "--save", str(saved), "--no-advice"]) == 0
    content = saved.read_bytes()
    for _ in range(30):
        saved.write_bytes(_damage(content, rng))
        err = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            status = main(["compare", str(saved), "--trials", "20", "--resamples", "20", "--debug"])
        assert status in (0, 2), err.getvalue()[-1500:]
