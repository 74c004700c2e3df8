"""Pairs written for the purpose: what harms is found, what harms nothing is not; and the page shows just this."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from plainly.factcheck.pairs import Facts, PairCheck
from plainly.factcheck.reading import SURE

PAIRS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("pairs.toml").read_text(encoding="utf-8"))["pair"]
PAGE = ROOT / "docs" / "facts-pairs.md"
MUCH = 0.3  # of what the source says; less is left out of many a good simplification


def _check(pair: dict[str, Any]) -> PairCheck:
    return Facts(model=None).check([pair["source"]], [pair["output"]])[0]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['about']}-{pair['effect']}-{pair['output'][:30]}")
def test_what_harms_is_found_and_what_does_not_is_not(pair: dict[str, Any]) -> None:
    result = _check(pair)
    if pair["effect"] == "harmless":
        assert result.faithful
        assert pair["about"] != "claim lost" or result.expect("lost") < MUCH
    elif pair["effect"] == "lost":
        assert result.faithful
        assert result.expect("lost") >= MUCH
    else:
        assert pair["effect"] in {finding.effect for finding in result.findings if finding.sure >= SURE}


def test_every_kind_has_three_of_each() -> None:
    kinds = {pair["about"] for pair in PAIRS}
    assert len(PAIRS) >= 40
    for kind in kinds:
        of_kind = [pair["effect"] == "harmless" for pair in PAIRS if pair["about"] == kind]
        assert of_kind.count(True) >= 3, kind
        assert of_kind.count(False) >= 3, kind


def test_places_are_where_the_words_stand() -> None:
    for pair in PAIRS:
        for finding in _check(pair).findings:
            for spans, words, text in (
                (finding.source, finding.source_words, pair["source"]),
                (finding.output, finding.output_words, pair["output"]),
            ):
                assert words == " … ".join(text[start:end] for start, end in spans)


def page() -> str:
    """The tables of the page, as they must be."""
    lines = []
    for about in dict.fromkeys(pair["about"] for pair in PAIRS):
        lines += [f"## {about.capitalize()}", "", "| | source | output | found |", "|---|---|---|---|"]
        for pair in PAIRS:
            if pair["about"] == about:
                findings = [finding for finding in _check(pair).findings if finding.sure >= SURE]
                messages = "<br>".join(f"*{finding.effect}*: {finding.message}" for finding in findings) or "nothing"
                mark = "harmless" if pair["effect"] == "harmless" else "harm"
                lines.append(f"| {mark} | {pair['source']} | {pair['output']} | {messages} |")
        lines.append("")
    return "\n".join(lines)


def test_the_page_shows_what_is_found() -> None:
    assert page().strip() in PAGE.read_text(encoding="utf-8"), "run: python tests/factcheck/test_pairs.py"


if __name__ == "__main__":
    introduction, _, _ = PAGE.read_text(encoding="utf-8").partition("## ")
    PAGE.write_text(introduction + page(), encoding="utf-8")
