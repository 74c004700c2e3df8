"""Paragraphs beside each other: no text is lost or moved, and counterparts stand in one row."""

from __future__ import annotations

import random

from plainly_studio.paragraphs import align_paragraphs


def test_counterparts_stand_in_one_row() -> None:
    source = "The committee met in Berlin.\n\nIt decided to increase the annual fee.\n\nThe weather was pleasant."
    output = "People met in Berlin.\n\nThey were a committee.\n\nThe annual fee goes up."
    assert align_paragraphs(source, output) == (
        (("The committee met in Berlin.",), ("People met in Berlin.", "They were a committee.")),
        (("It decided to increase the annual fee.",), ("The annual fee goes up.",)),
        (("The weather was pleasant.",), ()),
    )
    lines = align_paragraphs("A first line here.\nThe second one.", "The second one.")
    assert lines == ((("A first line here.",), ()), (("The second one.",), ("The second one.",)))
    assert align_paragraphs("One paragraph.", "Two.\n\nOf them.") is None
    assert align_paragraphs("Two.\n\nOf them.", "") == ((("Two.",), ()), (("Of them.",), ()))


def test_each_side_is_the_whole_text_in_its_order() -> None:
    rng = random.Random(7)
    vocabulary = [f"word{number}" for number in range(60)]

    def write(count: int) -> list[str]:
        sentences = [" ".join(rng.choices(vocabulary, k=rng.randint(1, 12))).capitalize() + "." for _ in range(count)]
        return [" ".join(sentences[at : at + 2]) for at in range(0, count, 2)]

    for _ in range(50):
        left, right = write(rng.randint(3, 20)), write(rng.randint(1, 20))
        rows = align_paragraphs("\n\n".join(left), "\n \n".join(right))
        assert rows is not None
        assert [text for texts, _ in rows for text in texts] == left
        assert [text for _, texts in rows for text in texts] == right
