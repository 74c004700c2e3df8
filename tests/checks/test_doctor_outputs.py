"""What language models write: every way of breaking an output is seen, and sound but odd ones are left alone."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import plainly
from plainly.cli import main
from plainly.io.faults.output_faults import CHECKS, faults, repair

PAGE = tomllib.loads(Path(__file__).with_name("doctor_outputs.toml").read_text(encoding="utf-8"))


def _codes(case: dict[str, Any]) -> set[str]:
    return {fault.code for fault in faults(case.get("source", PAGE["source"]), case["output"])}


def test_the_page_has_as_many_of_each_and_every_code() -> None:
    assert len(PAGE["broken"]) == len(PAGE["sound"]) == 34
    assert {case["code"] for case in PAGE["broken"]} == set(CHECKS)


@pytest.mark.parametrize("case", PAGE["broken"], ids=lambda case: f"{case['code']}: {case['output'][:30]!r}")
def test_every_broken_output_is_seen(case: dict[str, Any]) -> None:
    assert case["code"] in _codes(case)


def test_at_most_one_sound_output_is_called_broken() -> None:
    alarms = [(case["output"], _codes(case)) for case in PAGE["sound"] if _codes(case)]
    assert len(alarms) <= 1, alarms


def test_a_list_is_a_fault_of_a_sentence_but_not_of_a_letter() -> None:
    output = "Please bring:\n\n- your passport\n- a photo\n\nWe look forward to your visit."
    letter = "Dear Sir or Madam,\n\nA passport and a photograph are required at your visit.\n\nYours faithfully"
    assert "markdown" not in {fault.code for fault in faults(letter, output)}
    assert "markdown" in {fault.code for fault in faults("A passport and a photo are required.", output)}
    assert "markdown" in {fault.code for fault in faults(letter, output.replace("- a photo", "- **a photo**"))}


def test_a_fault_names_its_words() -> None:
    output = "Sure! Here is a simpler version: The dog ran."
    (fault,) = faults("The canine departed.", output)
    assert output[fault.start : fault.stop].startswith("Sure!")
    assert fault.words.startswith("Sure!")


@pytest.mark.parametrize(
    "written",
    [
        "Sure! Here is a simpler version: The dog ran.",
        "**Simplified:** The dog ran.",
        '{"simplified": "The dog ran."}',
        "<output>The dog ran.</output>",
        "```\nThe dog ran.\n```",
        '"The dog ran."',
        "The dog ran. I hope this helps!",
        "The dog ran. Let me know if you need anything else.",
        "# The dog ran.",
        'Here is the simplified text:\n\n{"output": "**The dog ran.**"}',
        "<think>Okay, a simpler version.\n\nLet me see.</think>\n\nThe dog ran.",
        "Okay, a simpler version.\n</think>\nThe dog ran.",
        '<think>Hm.</think>\n```json\n{"simplified": "The dog ran."}\n```',
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>The dog ran.<|return|>",
        "<|im_start|>assistant\nThe dog ran.<|im_end|>",
        "Assistant: The dog ran.",
        "Of course! Here you go:\n\nThe dog ran.",
        "Hello! Here is a simpler version: The dog ran.",
        "Sure, I can help with that! Here's a simplified version of the sentence:\n\n**The dog ran.**",
        "I'd be happy to help you simplify this sentence. Here's a simpler version:\n\nThe dog ran.",
        "Thank you for the text. Here is the simplified version: The dog ran.",
        "Let me simplify that for you: The dog ran.",
        "In simpler terms, the dog ran.",
        "## Simplified Version\n\nThe dog ran.",
        "**Simplified Text**\n\nThe dog ran.",
        "Final answer: The dog ran.",
        "```text\nThe dog ran.\n```",
        "```The dog ran.```",
        "```\nThe dog ran.",
        "~~~\nThe dog ran.\n~~~",
        "````markdown\nThe dog ran.\n````",
        "Here's the simplified version:\n```plaintext\nThe dog ran.\n```\nI hope this helps!",
    ],
)
def test_what_stands_around_an_answer_can_be_taken_away(written: str) -> None:
    text, removals = repair(written, source="The canine departed.")
    assert text == "The dog ran."
    assert removals


@pytest.mark.parametrize("case", PAGE["sound"], ids=lambda case: case["output"][:30])
def test_mending_leaves_sound_outputs_alone(case: dict[str, Any]) -> None:
    if not _codes(case):
        assert repair(case["output"], source=case.get("source", PAGE["source"])) == (case["output"], [])


def test_fix_writes_copies_and_every_change_and_leaves_the_originals(tmp_path: Path) -> None:
    (tmp_path / "src.txt").write_text("The canine departed.\nThe feline slumbered.\n", encoding="utf-8")
    written = "Sure! Here is a simpler version: The dog left.\nThe cat slept.\n"
    (tmp_path / "out.txt").write_text(written, encoding="utf-8")
    arguments = ["doctor", "--source", str(tmp_path / "src.txt"), str(tmp_path / "out.txt")]
    assert main([*arguments, "--fix", str(tmp_path / "clean")]) == 1
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == written
    rows = [json.loads(line) for line in (tmp_path / "clean" / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["output"] for row in rows] == ["The dog left.", "The cat slept."]
    (change,) = [json.loads(line) for line in (tmp_path / "clean" / "changes.jsonl").read_text().splitlines()]
    assert (change["item"], change["codes"], change["after"]) == ("1", ["preamble"], "The dog left.")
    assert main([*arguments, "--fix", str(tmp_path / "clean")]) == 2, "nothing is overwritten unasked"
    assert main(["doctor", "--source", str(tmp_path / "src.txt"), str(tmp_path / "clean" / "out.jsonl")]) == 0


def test_fix_leaves_out_what_a_system_does_not_have_and_keeps_reasoning_without_an_answer(tmp_path: Path) -> None:
    outputs = {
        "A": ["The dog left.", None, "<think>It never ends, so there is no answer."],
        "B": ["", "It slept.", None],
    }
    diagnosis = plainly.doctor(
        sources=["The canine departed.", "The feline slumbered.", "The avian sang."],
        outputs=outputs,
        incomplete="skip",
        fix=tmp_path / "clean",
    )
    codes = [(note.code, note.where) for note in diagnosis.warnings]
    assert codes[:2] == [("missing-outputs", "A"), ("missing-outputs", "B")]
    assert {("reasoning", "A"), ("empty-outputs", "B")} <= set(codes)
    for system, texts in outputs.items():
        rows = [json.loads(line) for line in (tmp_path / "clean" / f"{system}.jsonl").read_text().splitlines()]
        assert [(row["id"], row["output"]) for row in rows] == [
            (str(item), text) for item, text in enumerate(texts, 1) if text is not None
        ]
    assert diagnosis.changes == ()


def test_every_change_is_logged_and_only_changes_are(tmp_path: Path) -> None:
    written = [case["output"] for case in PAGE["broken"]]
    sources = [case.get("source", PAGE["source"]) for case in PAGE["broken"]]
    diagnosis = plainly.doctor(sources=sources, outputs={"A": written}, fix=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "A.jsonl").read_text(encoding="utf-8").splitlines()]
    changed = {row["id"]: row["output"] for row, text in zip(rows, written, strict=True) if row["output"] != text}
    assert changed == {change.item: change.after for change in diagnosis.changes}
    assert all(row["output"].strip() for row in rows)


def test_answers_of_other_items_are_seen() -> None:
    sources = [f"The authority of district {word} resolved to close the road." for word in ("one", "two", "three")]
    same = plainly.doctor(sources=sources, outputs=["They closed the road there."] * 3)
    assert [note.code for note in same.warnings] == ["same-output"]
    leak = plainly.doctor(sources=sources, outputs=["They closed it.", sources[0], "They shut the third road."])
    assert "other-source" in [note.code for note in leak.warnings]
