"""Quality, fluency and meaning: the model, blank outputs, long texts, and the score cache."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plainly
import toy_judge
from plainly.core import registry
from plainly.core.errors import BadInput, BadSpec, DataUnavailable, MissingExtra
from plainly.core.evalset import EvalSet
from plainly.core.progress import report_work
from plainly.learned import encoder, events, quality, score_cache
from plainly.learned.measurements import measure_pairs
from plainly.learned.pieces import pieces, units, windows
from plainly.learned.quality import Combination, Fluency, Quality
from plainly.learned.sle import Sle
from plainly.scoring.score_file import write_segments

SOURCES = (
    "The legislation was promulgated notwithstanding vociferous opposition.",
    "Photosynthesis is the mechanism whereby plants assimilate carbon dioxide.",
    "The committee resolved to defer its determination indefinitely.",
)
OUTPUTS = ("The law was made. Many people were against it.", "Plants use light to eat air.", "They did not decide.")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(toy_judge.write(tmp_path_factory.mktemp("models") / "toy"))


@pytest.fixture
def cache_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A separate score cache for one test; its file."""
    monkeypatch.delenv(score_cache.SWITCH)
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    score_cache.forget()
    yield tmp_path / "cache" / "scores.sqlite"
    score_cache.forget()


@pytest.fixture
def read(toy: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each batch of a model had."""
    batches: list[int] = []
    load = encoder.load

    class Counting:
        def __init__(self, session: Any) -> None:
            self.session = session

        def run(self, names: list[str], inputs: dict[str, Any]) -> Any:
            batches.append(len(inputs["tokens"]))
            return self.session.run(names, inputs)

    def load_counting(model: str = encoder.SHIPPED) -> encoder.Encoder:
        return replace(load(model), session=Counting(load(model).session))

    monkeypatch.setattr(encoder, "load", load_counting)
    return batches


def _segments(spec: str, outputs: Sequence[str], sources: Sequence[str] = SOURCES) -> dict[str, Any]:
    return plainly.score(sources=sources, outputs=outputs, metrics=[spec], intervals=False)[spec].segments


# --- the parts and how they are combined ---


def test_parts_are_the_heads_and_quality_their_geometric_mean(tmp_path: Path) -> None:
    powers = {"fluency": 1.0, "meaning": 2.0, "simplicity": 1.0}
    place = toy_judge.write(tmp_path / "toy", combination={"powers": powers, "gain": 0.25, "middle": 0.5, "width": 0.4})
    model = encoder.load(str(place))
    heads = dict(zip(model.heads, model.estimates(list(zip(SOURCES, OUTPUTS, strict=True))).T, strict=True))
    parts = _segments(f"quality(model={place})", OUTPUTS)
    gains = Sle().score(Sle().measure(EvalSet.of(SOURCES), OUTPUTS))[:, 0]
    simplicity = 0.75 * heads["simplicity"] + 0.25 / (1 + np.exp(-(gains - 0.5) / 0.4))
    np.testing.assert_allclose(parts["fluency"], 100 * heads["fluency"])
    np.testing.assert_allclose(parts["meaning"], 100 * heads["meaning"])
    np.testing.assert_allclose(parts["simplicity"], 100 * simplicity)
    product = heads["fluency"] * heads["meaning"] ** 2 * simplicity
    np.testing.assert_allclose(parts["quality"], 100 * product**0.25)


def _fitted(**terms: dict[str, float]) -> dict[str, Any]:
    return {"powers": {"fluency": 1.0, "meaning": 1.0}, "parts": {"meaning": {"average": 0.5, "terms": terms}}}


def test_a_fitted_part_is_its_average_and_what_its_terms_contribute(tmp_path: Path) -> None:
    combination = _fitted(
        meaning={"weight": 0.5, "average": 0.4}, fluency={"weight": 0.2, "average": 0.6, "most": 0.3},
        kept={"weight": 0.3, "average": -0.2},
    )  # fmt: skip
    place = toy_judge.write(tmp_path / "toy", combination=combination)
    model = encoder.load(str(place))
    heads = dict(zip(model.heads, model.estimates(list(zip(SOURCES, OUTPUTS, strict=True))).T, strict=True))
    content = measure_pairs(SOURCES, OUTPUTS)[:, 0]
    fluency = np.minimum(heads["fluency"], 0.3)
    meaning = 0.5 + 0.5 * (heads["meaning"] - 0.4) + 0.2 * (fluency - 0.6) + 0.3 * (content + 0.2)
    parts = _segments(f"quality(model={place})", OUTPUTS)
    np.testing.assert_allclose(parts["meaning"], 100 * np.clip(meaning, 0, 1))
    np.testing.assert_allclose(_segments(f"meaning(model={place})", OUTPUTS)["meaning"], parts["meaning"])
    blank = _segments(f"quality(model={place})", ["", *OUTPUTS[1:]])
    assert {name: values[0] for name, values in blank.items()} == dict.fromkeys(blank, 0.0)


def test_moved_sentences_of_a_document_are_not_new_wording() -> None:
    sentences = [
        "The old harbour was rebuilt in spring.",
        "Nurses praised the new clinic.",
        "Farmers sold their early wheat.",
        "A storm closed the mountain road.",
    ]
    simpler = [
        "The harbour was rebuilt.",
        "Nurses liked the clinic.",
        "Farmers sold wheat.",
        "A storm closed the road.",
    ]
    document = " ".join(sentences)
    for outputs in (sentences, simpler, [*simpler[:2], "The reason is unknown.", *simpler[2:]]):
        (before,) = measure_pairs([document], [" ".join(outputs)])
        (after,) = measure_pairs([document], [" ".join([*outputs[-2:], *outputs[:-2]])])
        np.testing.assert_allclose(after, before)
    (changed,) = measure_pairs([document], [" ".join(["Children swam in a lake.", *simpler[1:]])])
    (same,) = measure_pairs([document], [" ".join(simpler)])
    assert changed[1] > same[1]
    pair = " ".join(sentences[:2]), " ".join(reversed(sentences[:2]))
    assert measure_pairs([pair[0]], [pair[1]])[0][1] > 0, "one or two sentences are read as a whole"


def test_an_item_is_explained_by_what_its_parts_are_made_of(tmp_path: Path) -> None:
    combination = _fitted(meaning={"weight": 0.0, "average": 0.4}, kept={"weight": 0.3, "average": -0.1})
    metric = Quality(model=str(toy_judge.write(tmp_path / "toy", combination=combination)))
    source = "The old lighthouse near the harbour was painted, and visitors admired its white tower."
    copy, half, blank = metric.explain_items(EvalSet.of([source] * 3), [source, "The old lighthouse was painted.", ""])
    assert [reason.text for reason in copy] == ["meaning +3: less left out +3"]
    assert [(reason.part, list(reason.terms)) for reason in half] == [("meaning", ["more left out"])]
    assert half[0].points == pytest.approx(half[0].terms["more left out"])
    assert blank == ()
    plain = Quality(model=str(toy_judge.write(tmp_path / "plain")))
    assert plain.explain_items(EvalSet.of([source]), [source]) == [()]


def test_parts_that_the_model_reads_itself_are_compared_with_their_averages(tmp_path: Path) -> None:
    place = str(toy_judge.write(tmp_path / "toy", combination={"gain": 0.0, "averages": {"fluency": 0.25}}))
    fluency = _segments(f"quality(model={place})", OUTPUTS)["fluency"]
    for metric in (Quality(model=place), Fluency(model=place)):
        reasons = [reason for (reason,) in metric.explain_items(EvalSet.of(SOURCES), OUTPUTS)]
        assert [reason.part for reason in reasons] == ["fluency"] * len(OUTPUTS)
        np.testing.assert_allclose([reason.points for reason in reasons], fluency - 25)


def test_scores_and_reasons_share_a_reading_without_the_cache(toy: str, read: list[int]) -> None:
    evalset = EvalSet.of(SOURCES)
    first = Fluency(model=toy).measure(evalset, OUTPUTS)
    Quality(model=toy).explain_items(evalset, OUTPUTS)
    assert sum(read) == len(OUTPUTS)
    reversed_order = Fluency(model=toy).measure(evalset, OUTPUTS[::-1])
    assert sum(read) == 2 * len(OUTPUTS)
    assert not np.array_equal(reversed_order, first)


def test_items_in_json_lines_have_their_reasons(tmp_path: Path) -> None:
    combination = _fitted(meaning={"weight": 0.0, "average": 0.4}, kept={"weight": 0.3, "average": -0.1})
    spec = f"quality(model={toy_judge.write(tmp_path / 'toy', combination=combination)})"
    evaluation = plainly.score(sources=SOURCES, outputs=SOURCES, metrics=[spec], intervals=False).evaluation
    write_segments(str(tmp_path / "items.jsonl"), evaluation)
    rows = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [reason["text"] for row in rows for reason in row[f"{spec}.reasons"]] == [
        "meaning +3: less left out +3"
    ] * len(SOURCES)


def test_measurements_of_a_pair() -> None:
    source = "The old lighthouse near the harbour was painted, and visitors admired its white tower."
    copy, half, repeated, spaced = measure_pairs(
        [source] * 4, [source, "The old lighthouse was painted.", f"{source} {source}", source.replace(" ", "  ")]
    )
    assert copy.tolist() == spaced.tolist() == [0.0, 0.0, pytest.approx(-np.log(14)), 0.0]
    assert half[0] < -0.5
    assert half[1] == pytest.approx(9 / 14)
    assert half[2] == pytest.approx(-np.log(5))
    assert repeated[0] == 0, "saying it twice keeps no more of it"
    assert repeated[3] < 0 < half[3]
    assert measure_pairs(["word"], [""])[0, 0] < 0


def test_losing_more_never_raises_the_shipped_meaning(shipped: str) -> None:
    parts = Combination.of(encoder.load(encoder.JUDGE)).parts
    assert set(parts) == {"meaning", "simplicity"}
    assert all(term.weight >= 0 for part in parts.values() for term in part.terms.values())
    assert parts["meaning"].terms["kept"].weight > 0


def test_no_part_makes_up_for_another() -> None:
    combination = Combination()
    names, steps = sorted(combination.powers), np.linspace(0, 1, 6)
    grid = dict(zip(names, np.meshgrid(*[steps] * len(names), indexing="ij"), strict=True))
    quality = combination.quality(grid)
    for axis in range(len(names)):
        assert (np.diff(quality, axis=axis) >= 0).all(), "less of a part is never better"
        assert (np.take(quality, 0, axis=axis) == 0).all(), "without one of them the others are worth nothing"
    least = np.min(list(grid.values()), axis=0)
    assert (quality <= least ** (1 / len(names)) + 1e-9).all()
    assert quality.max() == 1


def test_the_metrics_beside_quality_are_its_parts(toy: str) -> None:
    parts = _segments(f"quality(model={toy})", OUTPUTS)
    np.testing.assert_array_equal(_segments(f"fluency(model={toy})", OUTPUTS)["fluency"], parts["fluency"])
    spec = f"meaning(variant=judge,model={toy})"
    np.testing.assert_array_equal(_segments(spec, OUTPUTS)["meaning"], parts["meaning"])


def test_one_reading_serves_all_metrics(toy: str, cache_file: Path, read: list[int]) -> None:
    specs = [f"quality(model={toy})", f"fluency(model={toy})", f"meaning(variant=judge,model={toy})", "sle"]
    plainly.score(sources=SOURCES, outputs=OUTPUTS, metrics=specs, intervals=False)
    assert sum(read) == 9, "three pairs, sources and outputs"


def test_variants_of_meaning() -> None:
    tokens, judged = registry.metric("meaning(variant=tokens)"), registry.metric("meaning(variant=judge)")
    assert (tokens.outputs[0], judged.outputs) == ("f1", ("meaning",))
    for metric in (tokens, judged):
        assert registry.metric(repr(metric)) == metric
    with pytest.raises(BadSpec, match="meaning"):
        registry.metric("meaning(variant=judge,against=references)")


def test_a_model_that_reads_single_texts_is_refused() -> None:
    with pytest.raises(BadInput, match="'overall'"):
        Quality(model=encoder.SHIPPED).measure(EvalSet.of(SOURCES), OUTPUTS)


# --- blank outputs ---


def _clauses(texts: Sequence[str]) -> list[list[list[events.Word]]]:
    """A toy parser: every sentence is one event, called by its first word."""
    sentences = [[sentence.split() for sentence in text.split(".") if sentence.strip()] for text in texts]
    return [[[events.Word(words[0].lower(), "VERB", "ROOT", 0)] for words in text] for text in sentences]


@pytest.mark.parametrize(
    "metric",
    ["quality", "fluency", "meaning(variant=judge)", "meaning(variant=tokens)", "sle", "samsa(parser=clauses)"],
)
def test_blanking_outputs_never_helps(metric: str, toy: str) -> None:
    """Whatever is blanked: each output by itself is at least as good as none."""
    sources = [*SOURCES, "It was.", "Yes"]
    outputs = [*OUTPUTS, "qzx qzx qzx qzx", SOURCES[0]]
    spec = metric
    events.use_parser("clauses", _clauses)
    if metric in ("quality", "fluency", "meaning(variant=judge)"):
        spec = f"{metric.rstrip(')')}{',' if '(' in metric else '('}model={toy})"
    written, blank = _segments(spec, outputs, sources), _segments(spec, ["", " ", "\t", "", "\u200b "], sources)
    headline = registry.metric(spec).outputs[0]
    assert (blank[headline] <= written[headline]).all()
    assert set(blank[headline]) == {-4.0 if metric == "sle" else 0.0}
    mixed = plainly.score(sources=sources, outputs=[*outputs[:3], "", ""], metrics=[spec], intervals=False)[spec]
    complete = plainly.score(sources=sources, outputs=outputs, metrics=[spec], intervals=False)[spec]
    assert float(mixed) <= float(complete)
    assert mixed.undefined == 0, "nothing is left out"


def _shipped_metrics() -> list[str]:
    """Return every metric of plainly that reads with a shipped model."""
    packages = ("plainly.learned.", "plainly.metrics.documents:")
    places = {name: place for name, place in registry.METRICS.items() if ".adapters." not in place}
    ours = [name for name, place in places.items() if place.startswith(packages)]
    aimed = {"cefr": "cefr(target=B1)"}
    classes = {name: registry.metric_class(name) for name in ours}
    return [aimed.get(name, name) for name, cls in classes.items() if cls.learned and not cls.is_remote]


@pytest.mark.parametrize("spec", _shipped_metrics())
def test_blanking_outputs_helps_no_shipped_metric(spec: str) -> None:
    try:
        metric = registry.metric(spec)
        rows = {
            name: metric.measure(EvalSet.of(SOURCES), outputs)
            for name, outputs in {"written": OUTPUTS, "two": ["", *OUTPUTS[1:-1], " "], "none": [""] * 3}.items()
        }
    except (MissingExtra, DataUnavailable) as missing:
        pytest.skip(str(missing))
    if metric.better == "neither":
        pytest.skip("it claims no direction")
    sign = -1 if metric.better == "lower" else 1
    written, two, none = (sign * float(metric.score(of.sum(axis=0))[0]) for of in rows.values())
    assert none <= two <= written


def test_all_parts_of_an_empty_output_are_zero(toy: str) -> None:
    parts = _segments(f"quality(model={toy})", ["", OUTPUTS[1], OUTPUTS[2]])
    assert {name: values[0] for name, values in parts.items()} == dict.fromkeys(parts, 0.0)
    unread = _segments(f"quality(model={toy})", ["", "word", "word"], ["", " ", "word"])["quality"]
    assert np.isnan(unread).tolist() == [True, True, False], "no source, no score"


def test_items_without_a_value_give_a_warning() -> None:
    result = plainly.score(sources=SOURCES, outputs=["", OUTPUTS[1], ""], metrics=["fkgl", "sle"], intervals=False)
    (warning,) = [entry for entry in result.json()["warnings"] if entry["code"] == "undefined-items"]
    assert warning["where"] == "fkgl"
    assert "2 of the outputs" in warning["message"]
    complete = plainly.score(sources=SOURCES, outputs=OUTPUTS, metrics=["fkgl"], intervals=False)
    assert "undefined-items" not in {entry["code"] for entry in complete.json()["warnings"]}


# --- texts longer than the window ---


def _size(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


LONG = "One two three four. Five six! Seven eight nine ten eleven twelve thirteen. Fourteen."


@pytest.mark.parametrize("longest", [2, 3, 5, 8, 100])
def test_pieces_fit_and_leave_nothing_out(longest: int) -> None:
    cut = windows(LONG, size=_size, longest=longest)
    assert " ".join(cut).split() == LONG.split()
    assert max(_size(cut)) <= longest
    for source, output in ((LONG, "A b c. D e."), ("A b c d e f g.", LONG), (LONG, LONG), (LONG, "Word.")):
        pairs = pieces(source, output, size=_size, longest=longest)
        assert all(sum(_size(pair)) <= longest for pair in pairs)
        assert set(" ".join(left for left, _ in pairs).split()) == set(source.split())
        assert set(" ".join(right for _, right in pairs).split()) == set(output.split())


def test_pieces_of_a_pair_go_together() -> None:
    source = "A b c d. E f g h. I j k l."
    output = "A b. E f. I j."
    assert pieces(source, output, size=_size, longest=6) == [
        ("A b c d.", "A b."),
        ("E f g h.", "E f."),
        ("I j k l.", "I j."),
    ]
    assert units("Aaaa bbbb.", size=lambda texts: [len(text) for text in texts], longest=3) == ["Aaa", "a", "bbb", "b."]


def test_long_texts_are_read_whole_and_counted(toy: str) -> None:
    sources = [" ".join(f"{source} Number {at} is another." for at in range(20)) for source in SOURCES]
    short = [sources[0], sources[1], SOURCES[2]]
    spec = f"quality(model={toy})"
    outputs = [*sources[:1], *OUTPUTS[1:]]
    changed = [sources[0].removesuffix("another.") + "entirely different matter.", *OUTPUTS[1:]]
    first, second = _segments(spec, outputs, short), _segments(spec, changed, short)
    assert first["meaning"][0] != second["meaning"][0], "the end of a long text counts"
    assert first["meaning"][0] > 95, "a copy, piece by piece"
    for metric in (spec, "meaning(variant=tokens)"):  # sle reads sentences, none of which is too long
        result = plainly.score(sources=short, outputs=outputs, metrics=[metric], intervals=False)
        (note,) = [note.message for note in result.notes() if "longer than the model's window" in note.message]
        assert note.endswith("read in pieces (2 of the outputs)."), metric
    model = encoder.load()
    assert model.readings([sources[0], SOURCES[0]]).pieces.tolist() == [3.0, 1.0]
    again = model.estimates([sources[0] + " " + "Simple words are here. " * 60])
    assert again[0, 0] > model.estimates([sources[0]])[0, 0] + 0.3


# --- the same text, the same score ---


def test_a_score_does_not_depend_on_batch_order_or_threads(toy: str) -> None:
    texts = [" ".join([*(OUTPUTS * 4)][:count]) for count in range(1, 9)] * 2
    sources = [SOURCES[at % 3] for at in range(len(texts))]
    metric = Quality(model=toy)
    together = metric.score(metric.measure(EvalSet.of(sources), texts))
    alone = [metric.score(metric.measure(EvalSet.of([s]), [t]))[0] for s, t in zip(sources, texts, strict=True)]
    np.testing.assert_allclose(together, alone, atol=1e-4)
    for threads in (1, 3):
        estimates = encoder.load(threads=threads).estimates(texts[::-1])[::-1]
        np.testing.assert_allclose(encoder.load().estimates(texts), estimates, atol=1e-6)


# --- the shipped weights ---


@pytest.fixture(scope="module")
def shipped() -> str:
    try:
        encoder.directory(encoder.JUDGE)
    except DataUnavailable as missing:
        pytest.skip(str(missing))
    return "quality"


PAIRS = (
    (
        "The museum, which had been shuttered for renovations since the autumn, welcomed visitors again on Friday.",
        "The museum was closed for repairs since autumn. It opened again on Friday.",
    ),
    (
        "Physicians recommend that adults consume a minimum of two litres of water daily during intense heat.",
        "Doctors say adults should drink at least two litres of water a day when it is very hot.",
    ),
    (
        "Having forfeited their livelihoods, numerous inhabitants of the valley relocated to the capital.",
        "Many people in the valley lost their jobs and moved to the capital.",
    ),
)


@pytest.mark.parametrize("harm", ["other", "refusal", "shuffled", "cut", "repeated", "empty"])
def test_damage_lowers_quality(shipped: str, harm: str) -> None:
    sources, outputs = map(list, zip(*PAIRS, strict=True))
    rng = np.random.default_rng(3)
    harmed = {
        "other": [*outputs[1:], outputs[0]],
        "refusal": ["I'm sorry, but I can't help with that."] * 3,
        "shuffled": [" ".join(rng.permutation(output.split())) for output in outputs],
        "cut": [" ".join(output.split()[: len(output.split()) // 2]) for output in outputs],
        "repeated": [" ".join([output] * 5) for output in outputs],
        "empty": [""] * 3,
    }[harm]
    intact, broken = (_segments(shipped, texts, sources)["quality"] for texts in (outputs, harmed))
    assert (broken < intact).all()


def test_the_shipped_model_gives_the_same_scores_alone_and_in_a_batch(shipped: str) -> None:
    sources, outputs = map(list, zip(*PAIRS, strict=True))
    together = _segments(shipped, outputs * 3, sources * 3)
    for at, (source, output) in enumerate(PAIRS):
        alone = _segments(shipped, [output], [source])
        for name, values in together.items():
            np.testing.assert_allclose(values[at::3], alone[name][0], atol=1e-4)


# --- the score cache ---


def _score(toy: str) -> Any:
    result = plainly.score(sources=SOURCES, outputs=OUTPUTS, metrics=[f"quality(model={toy})"], intervals=False)
    return result[f"quality(model={toy})"].segments["quality"]


def test_the_next_process_finds_cached_scores(toy: str, cache_file: Path, read: list[int]) -> None:
    first = _score(toy)
    score_cache.forget()  # as a new process would begin
    read.clear()
    np.testing.assert_array_equal(_score(toy), first)
    assert read == []
    assert not any(text.encode() in cache_file.read_bytes() for text in (*SOURCES, *OUTPUTS)), "no text is kept"


def test_it_can_be_switched_off(toy: str, cache_file: Path, read: list[int], monkeypatch: Any) -> None:
    monkeypatch.setenv(score_cache.SWITCH, "off")
    np.testing.assert_array_equal(_score(toy), _score(toy))
    assert sum(read) == 18, "each run reads three pairs, sources and outputs"
    assert not cache_file.exists()


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""])
def test_a_damaged_file_is_replaced(toy: str, cache_file: Path, read: list[int], damage: bytes) -> None:
    first = _score(toy)
    score_cache.forget()
    cache_file.write_bytes(damage)
    np.testing.assert_array_equal(_score(toy), first)
    score_cache.forget()
    read.clear()
    np.testing.assert_array_equal(_score(toy), first)
    assert read == []


def test_damage_inside_is_found(toy: str, cache_file: Path, read: list[int]) -> None:
    first = _score(toy)
    score_cache.forget()
    with sqlite3.connect(cache_file) as connection:
        connection.execute("UPDATE scores SET row = zeroblob(length(row))")
    connection.close()
    content = cache_file.read_bytes()
    read.clear()
    np.testing.assert_array_equal(_score(toy), first)
    assert sum(read) == 9, "a row that is not what was written counts for nothing"
    rng = np.random.default_rng(8)
    for start in (0, 16, 100, 2000, 5000):
        for _ in range(4):
            score_cache.forget()
            cache_file.write_bytes(content[:start] + rng.bytes(len(content) - start))
            np.testing.assert_array_equal(_score(toy), first)
            assert score_cache.trouble() == ""


def test_a_cache_that_cannot_be_written_is_only_noted(toy: str, cache_file: Path) -> None:
    cache_file.parent.parent.mkdir(exist_ok=True)
    cache_file.parent.write_text("a file where the directory should be", encoding="utf-8")
    result = plainly.score(sources=SOURCES, outputs=OUTPUTS, metrics=[f"quality(model={toy})"], intervals=False)
    assert np.isfinite(float(result[f"quality(model={toy})"]))
    (note,) = [note for note in result.notes() if note.code == "score-cache"]
    assert note.kind == "about", "no warning, and no exit status"


def test_the_cache_stays_within_its_limit(cache_file: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv(score_cache.SWITCH, "1")
    for block in range(12):
        texts = [f"{block} {at}" for at in range(2000)]
        score_cache.cached_rows("model", texts, 4, lambda missing: np.ones((len(missing), 4)))
    assert 200_000 < cache_file.stat().st_size < 2_000_000
    score_cache.forget()
    computed: list[str] = []

    def compute(missing: list[str]) -> Any:
        computed.extend(missing)
        return np.ones((len(missing), 4))

    score_cache.cached_rows("model", texts, 4, compute)
    assert computed == [], "the newest are kept"


def _many(number: int) -> float:
    texts = [str(at) for at in range(300)]
    values = score_cache.cached_rows("m", texts, 1, lambda missing: np.array([[float(text)] for text in missing]))
    return float(values.sum())


def test_several_processes_share_it(cache_file: Path) -> None:
    _many(0)  # The connection of the parent must not be used by its children.
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert set(pool.map(_many, range(16))) == {sum(range(300))}
    assert score_cache.trouble() == ""


# --- progress ---


def test_progress_is_reported_inside_a_metric(toy: str) -> None:
    amounts: list[int] = []
    sources, outputs = [f"{SOURCES[0]} {at}" for at in range(90)], [f"{OUTPUTS[0]} {at}" for at in range(90)]
    with report_work(amounts.append, 90):
        quality.read_pairs(quality.load_judge(toy), EvalSet.of(sources), outputs)
        assert 30 < sum(amounts) < 90
        assert len(amounts) > 3
    assert sum(amounts) == 90
