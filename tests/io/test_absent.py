"""Items that a system does not have: which they are, and the texts without them."""

from __future__ import annotations

from plainly.io.texts import TextArguments, Texts


def _texts() -> Texts:
    outputs = {"A": ["x", None, "z"], "B": ["1", "2", None]}
    return TextArguments(sources=["a", "b", "c"], outputs=outputs, incomplete="skip").read()  # type: ignore[arg-type]


def test_the_items_of_one_system() -> None:
    texts = _texts()
    assert texts.present("A").tolist() == [True, False, True]
    alone = texts.shared("A")
    assert (alone.evalset.ids, alone.evalset.sources, alone.outputs) == (("1", "3"), ("a", "c"), {"A": ("x", "z")})


def test_the_items_that_all_systems_have() -> None:
    shared = _texts().shared()
    assert (shared.evalset.ids, shared.outputs) == (("1",), {"A": ("x",), "B": ("1",)})
    assert shared.is_complete
    assert not _texts().is_complete
    assert shared.shared() is shared
