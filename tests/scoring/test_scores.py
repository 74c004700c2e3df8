"""What an evaluation says about its numbers: signatures that are read as they were written, and rankings."""

from __future__ import annotations

import pytest

from plainly.core.evalset import EvalSet
from plainly.scoring.evaluate import evaluate
from plainly.scoring.scores import Signature


@pytest.mark.parametrize("references", [(1, 8), (2, 2), None])
@pytest.mark.parametrize("packages", [(), (("nltk", "3.9"), ("torch", "absent"))])
def test_a_signature_is_read_as_it_was_written(
    references: tuple[int, int] | None, packages: tuple[tuple[str, str], ...]
) -> None:
    signature = Signature("sari(variant=easse)", "abc123", references, packages, "1.2", ("subset:30", "fold:2"))
    assert Signature.parse(str(signature)) == signature


def test_a_signature_names_the_output_that_its_spec_names() -> None:
    assert Signature("sle(target=2.0).output", "abc123").headline == "output"
    assert Signature("sari(variant=xu)", "abc123").headline == ""


def test_a_signature_has_the_fewest_and_most_references() -> None:
    evalset = EvalSet.of(["a b", "c d", "e f"], references=[["a"], ["c", "d", "c d"], ["e", "f"]])
    scores = evaluate(evalset, {"A": ["a", "c", "e"]}, ["sari", "length"], sampling=None)["A"]
    assert len(scores) == 2
    assert scores["sari"].signature.references == (1, 3)
    assert scores["length"].signature.references is None
