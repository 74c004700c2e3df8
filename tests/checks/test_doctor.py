"""The doctor finds every fault that is planted, and in public sets those that are listed here and no others."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT
from plainly import data
from plainly.checks import doctor
from plainly.cli import main
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import ABSENT, EvalSet
from plainly.core.result import Note

# What the doctor finds in public sets, and why that is right. docs/doctor.md says the same; a test compares them.
TOKENISED = "the set is published tokenised"
FILTERED = "its references were tokenised again and the unwanted ones removed, so items have 0 to 10 of them"
IN_SETS: dict[str, dict[str, str]] = {
    "asset/valid": {"misaligned": "three crowd workers' references stand beside the wrong source (169, 516, 1718)"},
    "swipe/test": {
        "invisible-characters": "coordinates of Wikipedia with byte order marks",
        "look-alikes": "one Russian word has a Latin c",
    },
    "swipe/valid": {
        "invisible-characters": "pronunciations of Wikipedia with zero-width spaces",
        "look-alikes": "one Russian name has Latin letters",
    },
    "wikisplit/test": {
        "invisible-characters": "two articles of Wikipedia have soft hyphens",
        "look-alikes": "two words of Wikipedia have a Cyrillic letter",
    },
    "googlecomp/test": {"encoding": "three news sentences were damaged before they were collected (Âµm for µm)"},
    **{
        f"cochrane-auto/{part}-sentences": {"misaligned": "a model aligned the sentences, some with the wrong one"}
        for part in ("test", "valid")
    },
    "turkcorpus/test": {"brackets": "one reference of item 354 kept -LRB- when the set was detokenised"},
    "turkcorpus/test-gem": {"double-tokenisation": TOKENISED},
    "turkcorpus/test-raw": {
        "double-tokenisation": "the sources are tokenised, the references as the workers typed them",
        "brackets": "one reference of item 354 has -LRB-",
    },
    "turkcorpus/test-legacy": {"double-tokenisation": TOKENISED, "brackets": "brackets are -lrb- and -rrb-"},
    "turkcorpus/test-simplewiki": {"double-tokenisation": TOKENISED, "brackets": "brackets are -lrb- and -rrb-"},
    **{
        name: {
            "double-tokenisation": TOKENISED,
            "case-mismatch": "the source is in lower case, the references have capitals",
            "escaped-entities": "the references hold Moses' &quot; and &apos;",
            "invisible-characters": "references hold zero-width spaces",
        }
        for name in ("hsplit/test", "hsplit/first70")
    },
    **{
        name: {
            "double-tokenisation": TOKENISED,
            "brackets": "brackets are -LRB- and -RRB-",
            "duplicate-items": "some sources stand in it twice, with other references",
        }
        for name in ("pwkp/test", "pwkp/valid")
    },
    "qats/test": {
        "duplicate-items": "each source comes with several simplifications, one per item",
        "brackets": "one simplification kept a -RRB-",
    },
    "assetann/full": {"double-tokenisation": TOKENISED},
    **{
        f"assetann/{part}": {
            "double-tokenisation": FILTERED,
            "tokenisation-mismatch": FILTERED,
            "empty-references": FILTERED,
        }
        for part in ("add", "delete", "erroneous", "lexical", "new", "replace", "syntactic")
    },
}
CUT = {"unfinished": "it stops in the middle of sentences"}
LOOP = {"repetition": "it repeats words or a whole sentence"}
BROKEN = {"broken": "sentences that cannot be read"}
IN_OUTPUTS: dict[str, dict[str, str]] = {
    "UNTS": {"empty-outputs": "three sentences were left empty", **CUT, **BROKEN},
    "UNTS_10K": {"encoding": "the system wrote a stray Â", **CUT, **LOOP},
    "BTTS": {**CUT, **LOOP, **BROKEN},
    "DMASS-DCSS": CUT,
    "Dress": {**CUT, **LOOP, **BROKEN},
    "Dress-Ls": CUT,
    "Hybrid": {**CUT, **BROKEN},
    "NTS-SARI": {**CUT, **LOOP},
    "RM+EX": BROKEN,
    "RM+EX+LS": BROKEN,
    "RM+EX+LS+RO": {**LOOP, **BROKEN},
    "RM+EX+RO": {**LOOP, **BROKEN},
    "SBMT-SARI": BROKEN,
    "UNMT": {"invisible-characters": "the system wrote a soft hyphen", **CUT, **LOOP, **BROKEN},
    "PBMT-R": {"escaped-entities": "one &#39; was left when the output was detokenised", **BROKEN},
    "BTRLTS": BROKEN,
    "BTRLTS10": {"brackets": "the system wrote pieces of -rrb-", **CUT, **BROKEN},
    "BTTS10": {"brackets": "the system wrote pieces of -rrb-", **CUT, **BROKEN},
    "BTTS100": {"brackets": "the system wrote pieces of -rrb-", **CUT, **LOOP},
}
# The seeds of MUSS's systems are published for ASSET alone.
IN_SEEDS: dict[str, dict[str, str]] = {
    **{f"muss_bart_access_newsela/{seed}": CUT for seed in range(5)},
    **{f"muss_bart_access_newsela_mined/{seed}": CUT for seed in (0, 1, 3)},
    **{f"muss_{name}": BROKEN for name in ("bart_access_mined/2", "mbart_access_mined/0")},
    **{f"muss_bart_access_wikilarge/{seed}": BROKEN for seed in (0, 1)},
    "muss_bart_access_wikilarge/2": LOOP,
    **{f"seq2seq_wikilarge/{seed}": CUT for seed in range(5)},
    "seq2seq_wikilarge/3": {**CUT, **LOOP, **BROKEN},
}

SENTENCES = [
    "The committee approved the new budget after a long debate on Tuesday.",
    "Volcanic islands rise steeply from the ocean floor near the equator.",
    "Her grandmother kept bees, hens and a small orchard behind the house.",
    "Engineers tested the bridge with heavy lorries before it was opened.",
    "Medieval merchants carried silk, pepper and paper across the desert.",
    "The orchestra rehearsed the symphony in an abandoned railway station.",
    "Farmers in the valley harvest olives by hand late in November.",
    "A sudden frost destroyed most of the apricot blossom last spring.",
    "Librarians digitised the fragile letters of the explorer in winter.",
    "Migrating cranes follow the river towards marshes in the south.",
    "The court rejected the appeal and ordered a new trial in autumn.",
    "Divers recovered bronze coins and amphorae from the sunken ship.",
]


def _simplified(text: str) -> str:
    words = text.rstrip(".").split()
    return " ".join([*words[:-2], "there"]) + "."


def _clean() -> tuple[EvalSet, dict[str, list[str]]]:
    references = [
        [_simplified(s), s.replace("The ", "A ").replace(" the ", " this ").replace(" in ", " during ")]
        for s in SENTENCES
    ]
    written = [_simplified(s).replace(" there.", " here.") for s in SENTENCES]
    return EvalSet.of(SENTENCES, references=references), {"A": written}


def _with(*, sources=None, references=None, outputs=None, groups=None) -> tuple[EvalSet, dict[str, list[str]]]:
    evalset, clean = _clean()
    return (
        EvalSet.of(
            sources or evalset.sources,
            references=[list(row) for row in evalset.references] if references is None else references,
            groups=groups,
        ),
        {"A": outputs} if outputs else clean,
    )


def _tokenise(text: str) -> str:
    return text.replace(",", " ,").replace(".", " .")


def _rows(change: Callable[[str], str]) -> list[list[str]]:
    return [[change(r) for r in row] for row in _clean()[0].references]


FAULTS: dict[str, Callable[[], tuple[EvalSet, dict[str, list[str]]]]] = {
    "double-tokenisation": lambda: _with(
        sources=[_tokenise(s) for s in SENTENCES],
        references=_rows(_tokenise),
        outputs=[_tokenise(o) for o in _clean()[1]["A"]],
    ),
    "tokenisation-mismatch": lambda: _with(references=_rows(_tokenise)),
    "case-mismatch": lambda: _with(outputs=[o.lower() for o in _clean()[1]["A"]]),
    "brackets": lambda: _with(outputs=[_clean()[1]["A"][0] + " -LRB- so they say -RRB-.", *_clean()[1]["A"][1:]]),
    "escaped-entities": lambda: _with(outputs=["He said &quot;no&quot;.", *_clean()[1]["A"][1:]]),
    "misaligned": lambda: _with(outputs=[*_clean()[1]["A"][1:], _clean()[1]["A"][0]]),
    "transposed-references": lambda: _with(
        references=[list(row) for row in zip(*[iter([_simplified(s) for s in SENTENCES] * 2)] * 2, strict=False)]
    ),
    "duplicate-items": lambda: _with(
        sources=[*SENTENCES[:-1], SENTENCES[0]],
        references=[*_rows(str)[:-1], _rows(str)[0]],
        outputs=[*_clean()[1]["A"][:-1], _clean()[1]["A"][0]],
    ),
    "reference-is-source": lambda: _with(references=[[s] for s in SENTENCES]),
    "empty-outputs": lambda: _with(outputs=["", *_clean()[1]["A"][1:]]),
    "empty-references": lambda: _with(references=[_rows(str)[0][:1], *_rows(str)[1:]]),
    "encoding": lambda: _with(outputs=["The cafÃ© was closed, they said.", *_clean()[1]["A"][1:]]),
    "language": lambda: _with(
        outputs=[
            "Der Ausschuss hat den neuen Haushalt nach einer langen Debatte und mit vielen Fragen.",
            *_clean()[1]["A"][1:],
        ]
    ),
    "truncated": lambda: _with(outputs=[" ".join(s.split()[:6]) for s in SENTENCES]),
    "copies": lambda: _with(outputs=list(SENTENCES)),
    "swapped": lambda: _with(sources=_clean()[1]["A"], references=[], outputs=list(SENTENCES)),
    "header-row": lambda: _with(
        sources=["source", *SENTENCES[1:]],
        references=[["ref_1", "ref_2"], *_rows(str)[1:]],
        outputs=["Output", *_clean()[1]["A"][1:]],
    ),
    "labelled-lines": lambda: _with(outputs=[f"{at}. {o}" for at, o in enumerate(_clean()[1]["A"], 1)]),
    "escapes": lambda: _with(outputs=[f"{_clean()[1]['A'][0]}\\nIt was long.", *_clean()[1]["A"][1:]]),
    "invisible-characters": lambda: _with(outputs=["The com\u00admittee agreed there.", *_clean()[1]["A"][1:]]),
    "look-alikes": lambda: _with(outputs=["The c\u043emmittee agreed there.", *_clean()[1]["A"][1:]]),
    "output-is-reference": lambda: _with(outputs=[row[at % 2] for at, row in enumerate(_rows(str))]),
}


def _codes(warnings: Sequence[Note]) -> set[str]:
    return {warning.code for warning in warnings}


def test_a_clean_set_is_clean():
    assert doctor.diagnose(*_clean()) == []
    assert doctor.diagnose(*_clean(), quick=True) == []
    evalset, outputs = _clean()
    assert doctor.diagnose(EvalSet.of(references=evalset.references), outputs) == []
    assert doctor.diagnose(EvalSet.of(items=12), outputs) == []


@pytest.mark.parametrize("code", FAULTS)
def test_every_planted_fault_is_found(code):
    evalset, outputs = FAULTS[code]()
    assert code in _codes(doctor.diagnose(evalset, outputs))
    assert code in _codes(doctor.diagnose(evalset, outputs, quick=True)), "what is everywhere is seen at a glance"


def test_faults_do_not_raise_unrelated_alarms():
    related = {
        "double-tokenisation": set(),
        "tokenisation-mismatch": {"double-tokenisation"},
        "transposed-references": set(),
        "language": {"truncated"},
    }
    for code, plant in FAULTS.items():
        assert _codes(doctor.diagnose(*plant())) - {code} <= related.get(code, set()), code


@pytest.mark.parametrize("mark", ["\u200b", "\u200d", "\u2060", "\ufeff", "\x00", "\u200e"])
def test_characters_that_nobody_sees_are_shown_by_their_number(mark):
    (warning,) = doctor.diagnose(*_with(outputs=[f"The com{mark}mittee agreed there.", *_clean()[1]["A"][1:]]))
    assert warning.code == "invisible-characters"
    assert repr(mark)[1:-1] in warning.message
    assert mark not in warning.message


def test_other_scripts_and_their_joiners_are_no_fault():
    texts = [
        "می‌خواهم",
        "क्‍ष",
        "👩‍🚀 flew.",
        "Its 5 μm and TNFα and Δx differ.",
        "In Greek it is Ο Αγώνας, in Russian Москва.",
    ]
    only = ("invisible-characters", "look-alikes")
    assert doctor.diagnose(EvalSet.of(texts), {"A": texts}, only=only) == []


def test_ids_joined_by_tabs_and_numbers_in_every_file():
    outputs = _clean()[1]
    sources = [f"{at}\t{text}" for at, text in enumerate(SENTENCES, 1)]
    warnings = doctor.diagnose(EvalSet.of(sources), {"A": [f"doc-{at:x}\t{o}" for at, o in enumerate(outputs["A"])]})
    assert [(w.code, w.where) for w in warnings] == [("labelled-lines", "the sources"), ("labelled-lines", "A")]
    years = [f"{1990 + 7 * at % 30} was the year in which {text}" for at, text in enumerate(SENTENCES)]
    assert doctor.diagnose(EvalSet.of(years), {"A": years}, only=("labelled-lines",)) == []


@pytest.mark.parametrize("cut", [lambda text: text[:30], lambda text: " ".join(text.split()[:5])])
def test_outputs_cut_at_one_length_are_found_without_full_stops(cut):
    sources = [text.rstrip(".") for text in SENTENCES]
    (warning,) = doctor.diagnose(EvalSet.of(sources), {"A": list(map(cut, sources))}, only=("truncated",))
    assert "stop after exactly" in warning.message
    whole = [f"{cut(text)}." for text in sources]
    assert doctor.diagnose(EvalSet.of(sources), {"A": whole, "B": sources}, only=("truncated",)) == []


def test_every_output_is_looked_at_with_any_number_of_systems():
    evalset, outputs = _clean()
    texts = outputs["A"] * 40
    many = EvalSet.of([*evalset.sources] * 40)
    faulty = {f"s{at}": [*texts[:317], "I'm sorry, but I can't help with that.", *texts[318:]] for at in range(9)}
    warnings = doctor.diagnose(many, faulty, quick=True, only=("refusal",))
    assert [(warning.where, warning.ids) for warning in warnings] == [(system, ("318",)) for system in faulty]


def test_absent_outputs_are_no_texts():
    evalset, outputs = _clean()
    absent = {"A": [ABSENT if at % 2 else text for at, text in enumerate(outputs["A"])]}
    assert doctor.diagnose(evalset, absent) == []
    places = [at for at in range(12) if at % 2 == 0]
    broken = {"A": [ABSENT if at % 2 else text.lower() for at, text in enumerate(outputs["A"])]}
    alone = doctor.diagnose(evalset[places], {"A": [broken["A"][at] for at in places]})
    assert [w.code for w in alone] == [w.code for w in doctor.diagnose(evalset, broken)] == ["case-mismatch"]


def test_text_around_answers_is_not_taken_for_swapped_files():
    evalset, outputs = _clean()
    texts = [f"<think>It should be short and clear and in plain words</think> {text}" for text in outputs["A"]]
    assert _codes(doctor.diagnose(evalset, {"A": texts})) == {"reasoning"}


def test_many_warnings_are_summarised_and_listed_on_request(capsys, tmp_path: Path):
    (tmp_path / "src").write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    for at in range(30):
        (tmp_path / f"s{at}").write_text("\n".join(["", *_clean()[1]["A"][1:]]) + "\n", encoding="utf-8")
    arguments = ["doctor", "--source", str(tmp_path / "src"), *(str(tmp_path / f"s{at}") for at in range(30))]
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert "empty-outputs      30  s0: empty for item 1." in printed.out
    assert len(printed.out.splitlines()) == 3
    assert "--details" in printed.err
    assert main([*arguments, "--details"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 32
    assert main([*arguments, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["warnings"]) == 30


def test_text_that_was_tokenised_twice():
    _, outputs = _clean()
    texts = ["He did n ' t know & quot ; it & quot ;.", *outputs["A"][1:]]
    (warning,) = doctor.diagnose(*_with(outputs=texts))
    assert warning.code == "double-tokenisation"
    assert "twice" in warning.message
    assert warning.ids == ("1",)


def test_other_scripts_and_expected_languages():
    _, outputs = _clean()
    texts = ["Комитет одобрил новый бюджет после долгих споров.", *outputs["A"][1:]]
    (warning,) = doctor.diagnose(*_with(outputs=texts))
    assert warning.code == "language"
    assert "Russian" in warning.message
    evalset, outputs = _clean()
    assert "language" in _codes(doctor.diagnose(replace(evalset, language="fr"), outputs))
    german = [
        "Der Hund und die Katze sind nicht mit dem Ball im Garten.",
        "Die Frau hat das Buch auf den Tisch gelegt und ist nicht da.",
    ] * 4
    assert "language" not in _codes(doctor.diagnose(EvalSet.of(german), {"A": german}))


def test_copies_name_the_metrics_that_reward_them():
    evalset, outputs = _clean()
    assert doctor.diagnose(evalset, outputs, ["sari", "bleu"]) == []
    warnings = doctor.diagnose(evalset, {"A": list(SENTENCES)}, ["sari(variant=hf)", "sari(variant=t2t)"])
    assert _codes(warnings) == {"copies", "copy-rewarding-metric"}
    message = next(warning.message for warning in warnings if warning.code == "copy-rewarding-metric")
    assert "sari(variant=hf), sari(variant=t2t)" in message
    assert "100%" in message


def test_groups_excuse_duplicates():
    sources = [*SENTENCES[:-1], SENTENCES[0]]
    groups = [str(k) for k in range(11)] + ["0"]
    outputs = [_simplified(s) for s in sources]
    evalset = EvalSet.of(sources, references=[[_simplified(s)] for s in sources], groups=groups)
    assert "duplicate-items" not in _codes(doctor.diagnose(evalset, {"A": outputs}))


def test_a_shift_is_named():
    _, outputs = _clean()
    (warning,) = doctor.diagnose(*_with(outputs=[outputs["A"][-1], *outputs["A"][:-1]]))
    assert "earlier" in warning.message


@pytest.mark.mirror
def test_fewer_references_than_the_public_set_has(mirror: Path):
    asset = data.load("asset/test")
    outputs = {"ACCESS": data.outputs("asset/test", "ACCESS")}
    fewer = EvalSet.of(asset.sources, references=[row[:1] for row in asset.references])
    (warning,) = doctor.diagnose(fewer, outputs)
    assert warning.code == "fewer-references"
    assert "asset/test (10 references per item)" in warning.message
    eight = EvalSet.of(asset.sources, references=[row[:8] for row in asset.references])
    assert doctor.diagnose(eight, outputs) == [], "the sources are TurkCorpus's too, which has eight"


@pytest.mark.mirror
@pytest.mark.parametrize("name", [card.name for card in data.cards() if card.kind == "evalset"])
def test_public_sets_have_the_faults_that_are_listed_and_no_others(mirror: Path, name):
    assert _codes(doctor.diagnose(data.load(name), {})) == set(IN_SETS.get(name, {}))


@pytest.mark.long
@pytest.mark.mirror
@pytest.mark.parametrize("name", ["asset/test", "turkcorpus/test"])
def test_published_outputs_have_the_faults_that_are_listed_and_no_others(mirror: Path, name):
    outputs = {system: data.outputs(name, system) for system in data.system_names(name)}
    warnings = [warning for warning in doctor.diagnose(data.load(name), outputs) if warning.where in outputs]
    assert {(warning.where, warning.code) for warning in warnings} == {
        (system, code)
        for system, codes in {**IN_OUTPUTS, **(IN_SEEDS if name == "asset/test" else {})}.items()
        for code in codes
    }


@pytest.mark.mirror
def test_a_line_lost_from_a_published_output_is_found(mirror: Path):
    outputs = list(data.outputs("asset/test", "ACCESS"))
    slipped = [*outputs[:200], *outputs[201:], outputs[200]]
    evalset = data.load("asset/test")
    for quick in (False, True):
        warnings = doctor.diagnose(evalset, {"ACCESS": slipped}, quick=quick)
        messages = [warning.message for warning in warnings if warning.code == "misaligned"]
        assert messages, quick
        assert "1 later" in messages[0]


def test_every_exception_is_in_the_documentation():
    page = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    for name in IN_SETS:
        assert f"`{name}`" in page or f"`{name.split('/')[0]}/" in page, name
    for code in doctor.EXPLANATIONS:
        assert f"`{code}`" in page, code


def test_codes_are_explained(capsys):
    for code in doctor.EXPLANATIONS:
        (explained,) = doctor.explain(code).records()
        assert len(explained["explanation"]) > 80
    with pytest.raises(UnknownName, match="Did you mean 'brackets'"):
        doctor.explain("bracket")
    assert main(["doctor", "--explain", "misaligned"]) == 0
    assert "lines were lost" in capsys.readouterr().out
    assert main(["doctor", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(code in listed for code in doctor.EXPLANATIONS)


def test_the_command_says_what_it_found_and_exits_with_one(tmp_path: Path, capsys):
    (tmp_path / "src").write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    (tmp_path / "ref").write_text("\n".join(_simplified(s) for s in SENTENCES) + "\n", encoding="utf-8")
    outputs = ["", *(_simplified(s).replace(" the ", " that ") for s in SENTENCES[1:])]
    (tmp_path / "out").write_text("\n".join(outputs) + "\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "src"), "--references", str(tmp_path / "ref")]
    assert main(["doctor", *files]) == 0
    assert capsys.readouterr().out == ""
    assert main(["doctor", str(tmp_path / "out"), *files, "--json"]) == 1
    diagnosis = json.loads(capsys.readouterr().out)
    assert diagnosis["schema"] == "plainly.doctor/1"
    assert list(diagnosis) == ["schema", "test_set", "items", "checks", "warnings"]
    assert [(warning["code"], warning["items"]) for warning in diagnosis["warnings"]] == [("empty-outputs", ["1"])]
    assert main(["doctor", str(tmp_path / "out"), *files]) == 1
    printed = capsys.readouterr()
    assert "empty-outputs  out: empty for item 1." in printed.out
    assert f"{len(doctor.CHECKS)} checks on 12 items and 1 system: 1 found something." in printed.err
    assert "--explain empty-outputs" in printed.err


def test_from_python_texts_are_taken_as_everywhere_and_a_set_may_come_alone():
    evalset, outputs = _with(outputs=["", *_clean()[1]["A"][1:]])
    diagnosis = doctor.doctor(sources=evalset.sources, references=evalset.references, outputs=outputs["A"])
    assert [record["items"] for record in diagnosis.records()] == ["1"]
    assert "empty-outputs" in repr(diagnosis)
    nothing = f"{len(doctor.CHECKS)} checks on 12 items: nothing found."
    assert repr(doctor.doctor(evalset=evalset)) == repr(doctor.doctor(evalset)) == nothing
    assert doctor.doctor(sources=SENTENCES).json()["items"] == 12
    (copies, rewarding) = doctor.doctor(evalset, outputs=SENTENCES, metrics="sari(variant=hf)").warnings
    assert (copies.code, rewarding.code) == ("copies", "copy-rewarding-metric")
    with pytest.raises(UnknownName, match="language 'xx'"):
        doctor.doctor(evalset, language="xx")
    with pytest.raises(BadInput, match="outputs"):
        doctor.doctor()


def _warned(printed: str) -> set[str]:
    """The codes of the warnings in a score's JSON; remarks stand beside them there, with the severity note."""
    return {warning["code"] for warning in json.loads(printed)["warnings"] if warning["severity"] != "note"}


def test_score_warns_on_stderr_and_in_json(tmp_path: Path, capsys):
    (tmp_path / "src").write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    (tmp_path / "ref").write_text("\n".join(_simplified(s) for s in SENTENCES) + "\n", encoding="utf-8")
    files = [str(tmp_path / "src"), "--source", str(tmp_path / "src"), "--references", str(tmp_path / "ref")]
    files[0] = f"copy={tmp_path / 'copy'}"
    (tmp_path / "copy").write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    assert main(["score", *files, "-m", "sari(variant=hf)", "--json"]) == 0
    printed = capsys.readouterr()
    assert _warned(printed.out) == {"copies", "copy-rewarding-metric"}
    assert "[copies] copy: 12 of 12" in printed.err
    assert "--explain" in printed.err
    assert main(["score", *files, "--json", "--no-advice"]) == 0
    assert _warned(capsys.readouterr().out) == set()
