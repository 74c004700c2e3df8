"""plainly from Python, as the README shows it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import plainly
from plainly.core.errors import BadInput, BadSpec
from plainly.stats.resample import Estimate

SOURCES = ["He was obliged to leave.", "The cat sat on the mat."]
OUTPUTS = ["He had to go.", "The cat sat."]
REFERENCES = [["He had to leave.", "He had to go."], ["The cat sat down."]]


def test_one_system_is_keyed_by_metric() -> None:
    result = plainly.score(
        sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, metrics=["sari", "bleu"], intervals=False
    )
    assert isinstance(result["sari"].value, float)
    assert set(result) == {"sari", "bleu"}
    assert result["sari"].parts["add"] == result["sari"].corpus["add"]
    assert result["sari"].segments["sari"].shape == (2,)
    assert "sari" in repr(result)
    assert "<table>" in result._repr_html_()


def test_intervals_make_the_value_an_estimate() -> None:
    result = plainly.score(sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, metrics=["sari"])
    value = result["sari"].value
    assert isinstance(value, Estimate)
    assert value.low <= float(value) <= value.high
    again = plainly.score(sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, metrics=["sari"])
    assert again["sari"].value == value


def test_several_systems_are_keyed_by_system() -> None:
    result = plainly.score(
        sources=SOURCES, outputs={"A": OUTPUTS, "B": SOURCES}, references=REFERENCES, metrics=["sari"], intervals=False
    )
    assert result["A"]["sari"].value > result["B"]["sari"].value
    frame = result.to_pandas()
    assert set(frame["system"]) == {"A", "B"}
    assert result.to_polars().height == len(frame)
    with pytest.raises(KeyError, match="There are: A, B"):
        result["C"]


def test_subsets_need_no_second_measurement() -> None:
    whole = plainly.score(sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, metrics=["sari"], intervals=False)
    alone = plainly.score(
        sources=SOURCES[1:], outputs=OUTPUTS[1:], references=REFERENCES[1:], metrics=["sari"], intervals=False
    )
    part = whole["sari"].subset(np.array([False, True]))
    assert part.corpus == alone["sari"].corpus
    assert "subset:1" in part.signature.remarks


def test_metrics_are_values() -> None:
    sari = plainly.metric("sari(variant=hf)")
    assert repr(sari) == "sari(variant=hf)"
    assert plainly.metric(sari) is sari
    assert sari == plainly.metric(" sari( variant = hf ) ")
    assert pickle.loads(pickle.dumps(sari)) == sari
    result = plainly.score(sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, metrics=[sari], intervals=False)
    assert set(result) == {"sari(variant=hf)"}


def test_a_metric_of_ones_own() -> None:
    class Shorter:
        name, needs, better, outputs = "shorter", frozenset({"source"}), "higher", ("shorter",)

        def measure(self, evalset: plainly.EvalSet, outputs: list[str]) -> np.ndarray:
            shorter = [len(o) < len(s) for s, o in zip(evalset.sources, outputs, strict=True)]
            return np.array([[float(x), 1.0] for x in shorter])

        def score(self, totals: np.ndarray) -> np.ndarray:
            return totals[..., :1] / totals[..., 1:]

        def __repr__(self) -> str:
            return "shorter"

    result = plainly.score(sources=SOURCES, outputs=OUTPUTS, metrics=[Shorter()])  # type: ignore[list-item]
    assert float(result["shorter"]) == 1.0


def test_without_references_the_default_needs_none() -> None:
    result = plainly.score(sources=SOURCES, outputs=OUTPUTS, intervals=False)
    assert set(result) == {"fkgl", "edits", "splits"}


def test_an_evaluation_set_survives_pickling_and_indexing() -> None:
    evalset = plainly.EvalSet.of(SOURCES, references=REFERENCES, groups=["a", "b"], columns={"level": ["1", "2"]})
    copy = pickle.loads(pickle.dumps(evalset))
    assert copy == evalset
    assert copy.fingerprint == evalset.fingerprint != evalset[:1].fingerprint
    assert evalset[[1]].columns["level"] == ("2",)
    assert evalset[np.array([True, False])].groups == ("a",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outputs": "one text"}, "outputs .* not str"),
        ({"outputs": {}}, "No outputs"),
        ({"outputs": OUTPUTS[:1]}, "1 output for 2 items"),
        ({"outputs": OUTPUTS, "references": [["a", "b"]]}, r"list\(zip\(\*references\)\)"),
        ({"outputs": OUTPUTS, "references": ["a", "b"]}, "is a string"),
        ({"outputs": OUTPUTS, "references": [["a"], ["", " "]], "metrics": ["sari"]}, "Item '2' .* has no references"),
        ({"outputs": OUTPUTS, "metrics": ["sari"]}, "none were given"),
        ({"outputs": OUTPUTS, "metrics": []}, "metrics= names no metric"),
        ({"outputs": OUTPUTS, "evalset": plainly.EvalSet.of(SOURCES)}, "not both"),
    ],
)
def test_mistakes_say_what_to_do(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        plainly.score(sources=SOURCES, **arguments)  # type: ignore[call-overload]


def test_a_thing_that_is_no_metric_is_refused() -> None:
    with pytest.raises(BadSpec, match="measure and score"):
        plainly.score(sources=SOURCES, outputs=OUTPUTS, metrics=[object()])  # type: ignore[list-item]


RECORDS = [
    {"id": "a", "source": SOURCES[0], "references": REFERENCES[0], "output": OUTPUTS[0]},
    {"id": "b", "source": SOURCES[1], "references": REFERENCES[1], "output": OUTPUTS[1]},
]
LONG = [{**record, "system": system} for system in ("A", "B") for record in RECORDS]


def _frames(records: list[dict[str, object]]) -> dict[str, object]:
    """The same records in every shape that people keep them in."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    columns = {name: [record[name] for record in records] for name in records[0]}

    class Dataset:  # as Hugging Face's: columns by slice, names and features
        column_names, features = list(columns), dict.fromkeys(columns)

        def __getitem__(self, index: slice) -> dict[str, list[object]]:
            return {name: values[index] for name, values in columns.items()}

    return {
        "records": records,
        "columns": columns,
        "pandas": pandas.DataFrame(records),
        "polars": polars.DataFrame(records),
        "arrow": pyarrow.table(columns),
        "dataset": Dataset(),
    }


def test_frames_in_every_shape_give_what_lists_give() -> None:
    options = {"metrics": ["sari", "bleu"], "sampling": plainly.Sampling(resamples=20)}
    expected = plainly.score(sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, ids=["a", "b"], **options)
    for name, frame in _frames(RECORDS).items():
        assert plainly.score(frame, **options).json() == expected.json(), name
    both = plainly.score(
        sources=SOURCES, outputs={"A": OUTPUTS, "B": OUTPUTS}, references=REFERENCES, ids=["a", "b"], **options
    )
    for name, frame in _frames(LONG).items():
        assert plainly.score(frame, **options).json() == both.json(), name


def test_long_frames_join_by_id_and_say_what_is_missing() -> None:
    expected = plainly.score(LONG, metrics=["sari"], intervals=False).json()
    shuffled = plainly.score([LONG[0], LONG[1], LONG[3], LONG[2]], metrics=["sari"], intervals=False)
    assert shuffled.json() == expected
    with pytest.raises(BadInput, match="B has no output for the item with id 'b'"):
        plainly.score(LONG[:3])
    with pytest.raises(BadInput, match="second output"):
        plainly.score([*LONG, LONG[0]])
    with pytest.raises(BadInput, match="Cannot read texts from int"):
        plainly.score(3)


def test_compare_is_the_function_after_every_module_was_imported() -> None:
    """No module or package at the top carries the name of a public function."""
    import importlib
    import pkgutil
    from types import ModuleType

    for module in pkgutil.walk_packages(plainly.__path__, "plainly."):
        if not any(part in module.name for part in (".adapters", ".learn", ".integrations", "__main__")):
            importlib.import_module(module.name)
    for name in plainly.__all__:
        assert not isinstance(getattr(plainly, name), ModuleType), name
    assert not {name for _, name, _ in pkgutil.iter_modules(plainly.__path__)} & set(plainly.__all__)
    result = plainly.compare(sources=SOURCES, outputs={"A": OUTPUTS, "B": SOURCES}, references=REFERENCES, trials=99)
    assert {pair.metric for pair in result.comparisons} == {"sari", "bleu", "fkgl"}
    assert "sari" in repr(result)
    assert "<table>" in result._repr_html_()
