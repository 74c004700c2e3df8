"""What is known about metrics is written once, and scores, reports and the list of metrics say the same of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import plainly
from conftest import ROOT
from plainly import data, registry
from plainly.cli import main
from plainly.metrics import evidence
from plainly.metrics.readability import Fkgl

# As it has been printed since the first version.
BLEU = (
    "BLEU is not suitable for ranking simplifications: it penalises splitting and often falls as simplicity rises "
    "(Sulem et al. 2018); a copy of the source scores near the top."
)


def test_every_metric_has_evidence_with_papers_and_a_page() -> None:
    for name in registry.METRICS:
        if name == "command":  # a program of the user's own: nothing is known about it
            continue
        known = evidence.known().get(name)
        assert known is not None, f"{name} has no entry in evidence.toml"
        assert known.measures.endswith(".")
        assert known.blind.endswith(".")
        assert known.papers
        assert len(known.blind) < 400, f"{name}: two lines, not a page"
        assert (ROOT / "docs" / f"{known.page}.md").is_file()
    for key, paper in evidence.papers().items():
        assert f"{{{key}," in paper.bibtex
        assert paper.bibtex.count("{") == paper.bibtex.count("}")


def test_advice_is_the_same_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert evidence.evidence(registry.metric("bleu(lowercase=true)")).advice == BLEU
    assert main(["score", "--demo", "-m", "sari,bleu", "editor"]) == 0
    assert f"bleu: {BLEU}" in capsys.readouterr().err.splitlines()
    assert main(["metrics", "bleu"]) == 0
    assert BLEU in " ".join(capsys.readouterr().out.split())


@dataclass(frozen=True, repr=False)
class Own(Fkgl):
    """Ours, and nobody else's.

    More about it.
    """

    evidence = "It sees nothing."


def test_a_metric_of_ones_own_may_say_what_is_known_of_it() -> None:
    evalset, outputs = data.demo()
    known = evidence.evidence(Own())
    assert known == evidence.evidence(Own)
    assert known.measures == "Ours, and nobody else's."
    assert known.blind == known.advice == "It sees nothing."
    result = plainly.score(evalset=evalset, outputs={"editor": outputs["editor"]}, metrics=[Own()])
    assert any(note.message.endswith(": It sees nothing.") for note in result.notes())
