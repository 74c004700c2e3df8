"""What holds for every metric, the day it appears: the tests run over the whole registry."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT, english_pipeline
from judge_server import run_server, write_judges
from plainly.core import registry
from plainly.core.calls import call_options
from plainly.core.errors import BadInput, DataUnavailable, MissingExtra
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric, PairwiseMetric
from plainly.scoring.evaluate import evaluate
from plainly.scoring.scores import Signature, reference_range

# Metrics that need more than text (a model file, a command) say what a contract test can use instead.
SPECS: dict[str, str] = {
    "judge": "judge(model=toy)",
    "command": f"command(run={sys.executable} {ROOT / 'tests' / 'length_command.py'})",
    "regressor": "regressor(model=not-there)",
    "jury": "jury(judges=toy+other)",
    # Pipelines go by several names; without one, the default's error is the reason to skip.
    "samsa": f"samsa(parser={english_pipeline() or 'en_core_web_sm'})",
}
EXTRA_SPECS = (
    "sari(delete=precision)",
    "sari(average=paper)",
    "sari(variant=star)",
    "sari(variant=xu)",
    "sari(variant=xu-modified)",
    "sari(variant=hf)",
    "sari(variant=t2t)",
    "sari(variant=joshua)",
    "sari(variant=d-sari)",
    "sari(variant=d-sari-paper)",
    "bleu(lowercase=true)",
    "bleu(tokenize=moses)",
    "bleu(variant=multi-bleu)",
    "fkgl(variant=easse)",
    "chrf(word_order=2)",
    "tbleu(against=references)",
    "meaning(variant=tokens)",
    "meaning(variant=tokens,against=references)",
    "meaning(variant=judge)",
    "fkbleu(direction=printed)",
    "judge(model=toy,rubric=facts+simplicity,separate=true,repeat=2)",
)
# Metrics that compare systems measure no single one.
_NAMES = [name for name in registry.METRICS if not issubclass(registry.metric_class(name), PairwiseMetric)]
ALL_SPECS = (*(SPECS.get(name, name) for name in _NAMES), *EXTRA_SPECS)

SOURCES = (
    "The committee, having deliberated at length, postponed its decision until March.",
    "He was obliged to leave.",
    "Photosynthesis converts light into chemical energy (e.g. glucose).",
    "كانت المدينة قديمة جدًا وفيها أسواق كثيرة.",
    "这座城市非常古老，有很多市场。",
    "Crème brûlée 🍮 is a dessert; e\u0301 combines.",
)
REFERENCES = (
    ("The committee talked for long. It will decide in March.", "The committee put off its decision."),
    ("He had to leave.", "He had to go.", "He left."),
    ("Photosynthesis turns light into energy.",),
    ("المدينة قديمة. فيها أسواق.",),
    ("这座城市很老。有很多市场。", "城市很老。"),
    ("Crème brûlée 🍮 is sweet.",),
)
OUTPUTS = (
    "The committee talked. It decided later.",
    "He had to leave.",
    "Photosynthesis turns light into energy.",
    "المدينة قديمة.",
    "城市很老。",
    "It is a dessert 🍮.",
)


@pytest.fixture(scope="module", autouse=True)
def judges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A server for the metrics that call one."""
    with run_server() as server:
        path = write_judges(tmp_path_factory.mktemp("judges") / "judges.toml", server.port, "toy", "other", model="m")
        with call_options(judges=path):
            yield


def _metric(text: str) -> Metric:
    try:
        metric = registry.metric(text)
        metric.measure(_evalset()[:1], OUTPUTS[:1])
    except (MissingExtra, DataUnavailable) as missing:  # published weights are not shipped with the package
        pytest.skip(str(missing))
    return metric


def _evalset() -> EvalSet:
    return EvalSet.of(SOURCES, references=REFERENCES)


@pytest.fixture(params=ALL_SPECS)
def metric(request: pytest.FixtureRequest) -> Metric:
    return _metric(request.param)


def test_the_spec_round_trips(metric: Metric) -> None:
    assert registry.metric(repr(metric)) == metric
    assert registry.metric(metric.spec(full=True)) == metric
    evalset = _evalset()
    signature = Signature.of(metric, data=evalset.fingerprint, references=reference_range(evalset))
    assert str(signature).startswith(metric.spec(full=True))
    assert Signature.parse(str(signature)) == signature


def test_the_declarations_are_complete(metric: Metric) -> None:
    assert metric.better in ("higher", "lower", "neither")
    assert metric.needs <= {"source", "references"}
    assert len(set(metric.outputs)) == len(metric.outputs) > 0
    assert dataclasses.is_dataclass(metric)
    with pytest.raises(dataclasses.FrozenInstanceError):
        metric.name = "other"  # type: ignore[misc]
    assert (type(metric).__doc__ or "").strip()
    assert isinstance(metric.evidence, str)
    assert set(metric.main_outputs) <= set(metric.outputs)
    assert set(metric.needs_of) < set(metric.outputs)
    assert all(needs < metric.needs for needs in metric.needs_of.values())


def test_rows_are_finite_numbers_that_add_up(metric: Metric) -> None:
    rows = metric.measure(_evalset(), OUTPUTS)
    assert rows.dtype == np.float64
    assert rows.ndim == 2
    assert len(rows) == len(OUTPUTS)
    assert np.isfinite(rows).all()
    assert metric.score(rows.sum(axis=0)).shape == (len(metric.outputs),)
    assert metric.score(rows).shape == (len(rows), len(metric.outputs))
    stacked = metric.score(np.stack([rows, rows]))
    assert stacked.shape == (2, len(rows), len(metric.outputs))
    np.testing.assert_array_equal(stacked[0], metric.score(rows))


def test_a_batch_equals_its_singles(metric: Metric) -> None:
    evalset = _evalset()
    together = metric.measure(evalset, OUTPUTS)
    singles = np.concatenate([metric.measure(evalset[[i]], OUTPUTS[i : i + 1]) for i in range(len(OUTPUTS))])
    np.testing.assert_allclose(together, singles, rtol=1e-9, atol=_tolerance(metric))


def test_the_order_of_items_does_not_matter(metric: Metric) -> None:
    order = [3, 0, 5, 1, 4, 2]
    straight = metric.measure(_evalset(), OUTPUTS)
    turned = metric.measure(_evalset()[order], [OUTPUTS[i] for i in order])
    np.testing.assert_allclose(turned, straight[order], rtol=1e-9, atol=_tolerance(metric))


def test_measuring_twice_gives_the_same(metric: Metric) -> None:
    evalset = _evalset()
    np.testing.assert_array_equal(metric.measure(evalset, OUTPUTS), metric.measure(evalset, OUTPUTS))


def test_no_items_give_no_rows_and_an_undefined_score(metric: Metric) -> None:
    rows = metric.measure(_evalset()[:0], [])
    assert rows.shape == metric.measure(_evalset()[:1], OUTPUTS[:1])[:0].shape
    assert np.isnan(metric.score(rows.sum(axis=0))[0])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda source: "", id="empty"),
        pytest.param(lambda source: "word", id="one-word"),
        pytest.param(lambda source: source, id="copy"),
        pytest.param(lambda source: "   \t ", id="blank"),
        pytest.param(lambda source: ". , ; !", id="punctuation"),
        pytest.param(lambda source: "\x00 a\u2028b\x0b", id="control-characters"),
        pytest.param(lambda source: "line one\nline two-\nbroken", id="line-breaks"),
        pytest.param(lambda source: "👩‍👩‍👧‍👦 ‏עברית e\u0301\u0301", id="marks"),
        pytest.param(lambda source: source * 200, id="very-long"),
        pytest.param(lambda source: "x" * 10_000, id="one-very-long-word"),
    ],
)
def test_strange_outputs_do_not_break_it(metric: Metric, change: Callable[[str], str]) -> None:
    outputs = [change(source)[:10_000] for source in SOURCES[:2]] + list(OUTPUTS[2:])
    rows = metric.measure(_evalset(), outputs)
    assert np.isfinite(rows).all()
    scores = metric.score(rows)
    assert not np.isinf(scores).any()


def test_the_references_themselves_are_good_outputs(metric: Metric) -> None:
    if "references" not in metric.needs or metric.better != "higher":
        pytest.skip("compares with no references")
    evalset = _evalset()
    perfect = metric.score(metric.measure(evalset, [row[0] for row in REFERENCES]).sum(axis=0))[0]
    wrong = metric.score(metric.measure(evalset, ["nothing of it"] * len(evalset)).sum(axis=0))[0]
    assert perfect > wrong


def test_what_it_needs_is_asked_for(metric: Metric) -> None:
    name = repr(metric)
    bare = EvalSet.of(items=len(OUTPUTS))
    if metric.needs and not metric.needs_of:
        with pytest.raises(BadInput, match=r"sources=|references="):
            evaluate(bare, {"": OUTPUTS}, [name])
    else:
        assert evaluate(bare, {"": OUTPUTS}, [name], sampling=None)[""][name].rows.shape[0] == len(OUTPUTS)
    with pytest.raises(BadInput, match=r"short.*\b5\b.*\b6\b"):
        evaluate(_evalset(), {"short": OUTPUTS[:5]}, [name])


@given(st.permutations(range(6)), st.integers(0, 6))
@settings(max_examples=25, deadline=None)
def test_parts_of_any_split_add_up(order: list[int], cut: int) -> None:
    evalset = _evalset()
    for text in ("sari", "sari(variant=hf)", "bleu", "fkgl", "ibleu"):
        metric = registry.metric(text)
        whole = metric.measure(evalset, OUTPUTS).sum(axis=0)
        parts = np.zeros_like(whole)
        for items in (order[:cut], order[cut:]):
            parts = parts + metric.measure(evalset[items], [OUTPUTS[i] for i in items]).sum(axis=0)
        np.testing.assert_allclose(parts, whole, rtol=1e-12, atol=1e-12)


def _tolerance(metric: Metric) -> float:
    # A neural network's sums depend on the batch it runs in; the docs of such a metric say by how much.
    return metric.batch_tolerance or 1e-9
