"""BibTeX for exactly what a result used, each paper once, and one version number everywhere."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import plainly
from plainly import data
from plainly.cli import main
from plainly.cli.show import for_shell
from plainly.core.errors import BadInput
from plainly.core.result import Result
from plainly.learned.adapters import published
from plainly.metrics.evidence import papers
from plainly.scoring.citations import TITLE, Citations, Reference, cite, collect

ROOT = Path(__file__).parents[2]
OUTPUTS = {"A": ["He had to leave.", "A cat sat."], "B": ["He left.", "The cat sat down."]}
EVALSET = plainly.EvalSet.of(
    ["He was obliged to leave.", "The cat sat."], references=[["He had to go."], ["A cat sat."]]
)


def keys(citations: Citations) -> list[str]:
    return [reference.key for reference in citations.references]


def test_plainly_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert keys(cite()) == ["plainly"]
    assert main(["cite"]) == 0
    captured = capsys.readouterr()
    assert f"version = {{{plainly.__version__}}}" in captured.out
    assert captured.err == ""


def test_a_saved_result_cites_what_it_used_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    result = plainly.score(EVALSET, outputs=OUTPUTS, metrics=["sari", "fkgl", "length"], intervals=False)
    path.write_text(json.dumps(result.json()))
    assert keys(cite(str(path))) == ["plainly", "xu-2016", "kincaid-1975"]
    assert keys(cite(result)) == keys(cite(path))
    with_intervals = plainly.score(EVALSET, outputs=OUTPUTS, metrics=["bleu"])
    assert keys(cite([result, with_intervals])) == [
        "plainly", "xu-2016", "kincaid-1975", "papineni-2002", "post-2018", "efron-1993",
    ]  # fmt: skip
    compared = plainly.compare(EVALSET, outputs=OUTPUTS, metrics=["sari"])
    assert {"riezler-2005", "holm-1979"} <= set(keys(cite(compared)))
    assert main(["cite", str(path), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["schema"] == "plainly.cite/1"
    assert [row["for"] for row in payload["references"]] == [["plainly"], ["metric sari"], ["metric fkgl"]]


def test_saved_scores_are_read_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "scores.npz"
    assert main(["score", "--demo", "-m", "sari", "--no-intervals", "--save", str(saved)]) == 0
    capsys.readouterr()
    assert keys(cite(saved)) == ["plainly", "xu-2016"]


def test_data_and_the_systems_that_were_scored() -> None:
    payload = {"schema": "plainly.score/1", "test_set": "asset/test", "systems": [{"system": "ACCESS"}]}
    citations = cite_payload(payload)
    uses = {reference.key: reference.uses for reference in citations.references}
    assert uses["alva-manchego-etal-2020-asset"] == ("data asset/test",)
    assert any("outputs/easse (ACCESS)" in use for use in sum(uses.values(), ()))
    assert not any("muss" in use for use in sum(uses.values(), ()))


def test_a_published_system_is_cited_by_its_own_paper_once() -> None:
    names = ("ACCESS", "SBMT-SARI", "RM+EX", "muss_bart_access_mined/0")
    systems = [{"system": name} for name in names]
    payload: dict[str, object] = {"schema": "plainly.score/1", "test_set": "asset/test", "systems": systems}
    citations = cite_payload(payload)
    by_use = {use: reference for reference in citations.references for use in reference.uses}
    assert "url = {https://aclanthology.org/2020.lrec-1.577}" in by_use["system ACCESS"].bibtex
    assert by_use["system muss_bart_access_mined/0"].key == "martin-etal-2022-muss"
    # SARI and one of the systems share a paper, which metrics know in full, in either order.
    with_sari: dict[str, object] = {"schema": "plainly.score/1", "x": [{"signature": "sari|data:0123|plainly:1"}]}
    for payloads in ([payload, with_sari], [with_sari, payload]):
        merged = cite([_saved(each) for each in payloads]).references
        (same,) = [one for one in merged if "optimizingstatistical" in one.title]
        assert (same.key, set(same.uses)) == ("xu-2016", {"metric sari", "system SBMT-SARI"})
        assert len({one.key for one in merged}) == len(merged)


def test_a_known_address_of_a_paper_is_part_of_its_entry() -> None:
    assert {paper.key for paper in papers().values() if paper.url and paper.url not in paper.bibtex} == set()


def cite_payload(payload: dict[str, object]) -> Citations:
    return cite(_saved(payload))


def _saved(payload: dict[str, object]) -> Result:
    class Saved(Result):
        def json(self) -> dict[str, object]:
            return payload

    return Saved()


def test_models_are_cited_and_unknown_ones_named() -> None:
    listed = collect(metrics=[plainly.metric("bertscore")])
    assert keys(listed) == ["plainly", "zhang-2019", "liu-2019"]
    assert listed.remarks == ()
    other = collect(metrics=[plainly.metric("bertscore(model=some/encoder)")])
    assert keys(other) == ["plainly", "zhang-2019"]
    assert "'some/encoder'" in other.remarks[0]
    assert collect(metrics=[plainly.metric("quality")]).remarks == ()
    missing = cite_payload({"schema": "plainly.score/1", "x": [{"signature": "mymetric(a=b)|data:0123|plainly:1"}]})
    assert "mymetric" in missing.remarks[0]


def test_one_paper_with_two_keys_is_cited_once() -> None:
    citations = collect(metrics=[plainly.metric("sari")], sets=["turkcorpus/test"])
    same = [one for one in citations.references if "optimizingstatistical" in one.title]
    assert len(same) == 1
    assert same[0].uses == ("data turkcorpus/test", "metric sari")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', '{"schema": "other/1"}'])
def test_a_file_that_is_not_a_result_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(BadInput, match=r"x\.json is"):
        cite(path)
    with pytest.raises(BadInput, match="There is no file"):
        cite(tmp_path / "absent.json")
    with pytest.raises(BadInput, match="results="):
        cite(3)  # type: ignore[arg-type]


def test_every_reference_has_author_title_year_and_place() -> None:
    places = "booktitle|journal|publisher|institution|school|eprint|howpublished|url|doi|note"
    entries = {paper.key: paper.bibtex for paper in papers().values()}
    entries |= {card.name: card.citation for card in data.cards()}
    for name, text in entries.items():
        # A page or a program may have no year; none is invented.
        for field in ("author", "title", *([] if text.startswith("@misc") else ["year"]), places):
            assert re.search(rf"\b({field})\s*=", text), f"{name} has no {field}"
        for entry in re.split(r"\n(?=@)", text.strip()):
            assert Reference(entry, ()).key, name
            assert entry.count("{") == entry.count("}"), name
        assert for_shell(text) == text, "options of the command line do not replace anything in BibTeX"
    assert all(paper for card in published.cards().values() for paper in card.own_papers)


def test_one_version_number_everywhere() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == plainly.__version__  # type: ignore[index]
    assert f'title: "{TITLE}"' in citation
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"], "taken from plainly.__version__"
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for version in re.findall(r"\bplainly[: ](\d+\.\d[\w.]*)", page.read_text(encoding="utf-8")):
            assert version == plainly.__version__, page.name
