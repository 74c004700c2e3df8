"""Every error about files and tables says what to do; here it is done, and then the command works."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.io import TextArguments, check_references, read_evalset, read_lines, read_outputs, read_table

Files = dict[str, "str | bytes"]
SET: Files = {"s.txt": "The cat sat.\nDogs bark a lot.\n", "r.txt": "A cat sat.\nDogs bark.\n"}
LINES = "--source s.txt --references r.txt"
HEAD = "source,reference,output\n"
ROW = "The cat sat.,A cat sat.,Cat sat.\n"

# What is wrong, the advice, and what was done: files and arguments before and after.
CASES: list[tuple[Files, str, str, Files, str]] = [
    # Columns
    ({"a.csv": f"src,orig,output\n{ROW}"}, "a.csv", "--columns source=COLUMN", {}, "a.csv --columns source=src"),
    (
        {"a.csv": f"document,doc,output\n{ROW}"},
        "a.csv",
        "--columns group=COLUMN",
        {},
        "a.csv --columns group=doc",
    ),
    (
        {"a.csv": "source,ref1,simp.0,output\na b,a c,a d,a\n"},
        "a.csv",
        "--columns references=COLUMN,COLUMN",
        {},
        "a.csv --columns references=ref1,simp.0",
    ),
    (
        {"a.csv": HEAD + ROW},
        "a.csv --columns sorce=source",
        "Did you mean 'source'?",
        {},
        "a.csv --columns source=source",
    ),
    ({"a.csv": HEAD + ROW}, "a.csv --columns source=*r*", "source is one column", {}, "a.csv --columns source=source"),
    (
        {"a.csv": "source,output_A,output.A\na,b,c\n"},
        "a.csv",
        "in 'output_A' and 'output.A'. Rename one",
        {"a.csv": "source,output_A,output.B\na,b,c\n"},
        "a.csv",
    ),
    (
        {"a.jsonl": '{"source": "a", "outputs": {"A": "b"}, "output_A": "c"}\n'},
        "a.jsonl",
        "the outputs of system 'A' twice. Remove one",
        {"a.jsonl": '{"source": "a", "outputs": {"A": "b"}}\n'},
        "a.jsonl",
    ),
    (
        {"a.csv": "source,references,output\na b,\"['a', 'b']\",a\n"},
        "a.csv",
        "json.dumps(references)",
        {"a.csv": 'source,references,output\na b,"[""a"", ""b""]",a\n'},
        "a.csv",
    ),
    (
        {"a.csv": "source,references,output\na b,[1] note,a\n"},
        "a.csv",
        "a column of single references is called 'reference'",
        {"a.csv": "source,reference,output\na b,[1] note,a\n"},
        "a.csv",
    ),
    (
        {"a.jsonl": '{"source": "a", "reference": 3, "output": "c"}\n'},
        "a.jsonl",
        "as text, or as a list of texts",
        {"a.jsonl": '{"source": "a", "reference": ["3"], "output": "c"}\n'},
        "a.jsonl",
    ),
    (
        {"a.jsonl": '{"source": "a", "outputs": "c"}\n'},
        "a.jsonl",
        "go in a column called 'output'",
        {"a.jsonl": '{"source": "a", "output": "c"}\n'},
        "a.jsonl",
    ),
    (
        {"a.jsonl": '{"source": null, "output": "c"}\n'},
        "a.jsonl",
        'Write text; "" if there is none',
        {"a.jsonl": '{"source": "", "output": "c"}\n'},
        "a.jsonl",
    ),
    (
        {"a.jsonl": '{"id": null, "source": "a", "output": "c"}\n'},
        "a.jsonl",
        "Give every row one",
        {"a.jsonl": '{"id": 1, "source": "a", "output": "c"}\n'},
        "a.jsonl",
    ),
    (
        {"a.csv": "x,y\na,b\n"},
        "--table a.csv",
        "--columns source=COLUMN",
        {},
        "--table a.csv --columns source=x output=y",
    ),
    ({"a.csv": "x,y\na,b\n"}, "--table a.csv", "Rename them", {"a.csv": "source,output\na,b\n"}, "--table a.csv"),
    (
        {"o.csv": "x\na\nb\n"},
        f"o.csv {LINES}",
        "--columns output=COLUMN",
        {},
        f"o.csv {LINES} --columns output=x",
    ),
    ({"o.csv": "x\na\nb\n"}, f"o.csv {LINES}", "Rename one to 'output'", {"o.csv": "output\na\nb\n"}, ""),
    (
        {"o.txt": "a\nb\n", "q.csv": "x\na\nb\n"},
        "o.txt --source s.txt --references q.csv",
        "--columns references=COLUMN",
        {},
        "o.txt --source s.txt --references q.csv --columns references=x",
    ),
    (
        {"o.txt": "a\nb\n", "q.csv": "x\na\nb\n"},
        "o.txt --source q.csv",
        "--columns source=COLUMN",
        {},
        "o.txt --source q.csv --columns source=x",
    ),
    (
        {"o.txt": "a\nb\n", "q.csv": "x\na\nb\n"},
        "o.txt --source s.txt --references q.csv",
        "Rename one to 'references'",
        {"q.csv": "references\na\nb\n"},
        "",
    ),
    # Files beside each other
    ({"o.txt": "a\nb\n\n"}, f"o.txt {LINES}", "blank: delete it", {"o.txt": "a\nb\n"}, ""),
    (
        {"o.txt": "a\nb\n", "s.txt": "a\n\nb\n", "r.txt": "a\n\nb\n"},
        "o.txt --source s.txt",
        "with a line for every item, blank or not",
        {"o.txt": "a\n\nb\n"},
        "",
    ),
    (
        {"s.txt": "a\u2028b\nc\n", "o.txt": "a\nb\nc\n"},
        "o.txt --source s.txt",
        "Replace it with a space in s.txt and create o.txt again",
        {"s.txt": "a b\nc\n", "o.txt": "a b\nc\n"},
        "",
    ),
    (
        {"o.txt": "a\nb\n"},
        "o.txt --source s.txt --references r.txt r.txt",
        "is given twice",
        {},
        "o.txt --source s.txt --references r.txt",
    ),
    (
        {"o.txt": "a\nb\n", "p.txt": "a\nc\n"},
        "X=o.txt X=p.txt",
        "Give each its own name: NAME=PATH",
        {},
        "X=o.txt Y=p.txt",
    ),
    ({"o.txt": "a\n", "p.txt": "a\n"}, "X=[op].txt", "or no name", {}, "[op].txt"),
    ({"o.txt": "a\n"}, "=o.txt", "the name is missing", {}, "X=o.txt"),
    (
        {"o.txt": "a\nb\n", "g.csv": "id\n1\n2\n"},
        f"o.txt {LINES} --groups g.csv",
        "files with one per line",
        {"g": "1\n2\n"},
        f"o.txt {LINES} --groups g",
    ),
    (
        {"a.csv": HEAD + ROW, "b.csv": "source,output\nDogs bark.,x\n"},
        "a.csv b.csv",
        "leave the column out",
        {"b.csv": "output\nx\n"},
        "",
    ),
    (
        {"a.csv": HEAD + ROW, "b.csv": "source,output\nDogs bark.,x\n"},
        "a.csv b.csv",
        "Give outputs for the same items",
        {"b.csv": "source,output\nThe cat sat.,x\n"},
        "",
    ),
    ({"o.txt": "a\n"}, "o.txt --columns output=x", "only tables have columns", {}, "o.txt"),
    (
        {"o.txt": "a b. c d.\n"},
        "o.txt --unit sentence",
        "--source FILE for --unit sentence",
        {"i.txt": "a b. c d.\n"},
        "o.txt --unit sentence --source i.txt",
    ),
    # Encodings and formats
    ({"o.txt": b"a\nun caf\xe9 noir, ce matin\n"}, "o.txt", "iconv", {"$": b""}, "utf8.txt"),
    ({"o.txt": "a\nb\n".encode("utf-16-le") * 20}, "o.txt", "iconv", {"$": b""}, "utf8.txt"),
    ({"o.txt.gz": "plain\n"}, "o.txt.gz", "Rename it if it is plain text", {"o.txt": "plain\n"}, "o.txt"),
    ({"a.csv": f"{HEAD}\n{ROW}"}, "a.csv", "Delete it", {"a.csv": HEAD + ROW}, ""),
    ({"a.csv": f"{HEAD}a b,a c,a, b\n"}, "a.csv", "Quote a field", {"a.csv": f'{HEAD}a b,a c,"a, b"\n'}, ""),
    (
        {"a.csv": f'{HEAD}a b,"He said "yes".",a\n'},
        "a.csv",
        '"He said ""yes""."',
        {"a.csv": f'{HEAD}a b,"He said ""yes"".",a\n'},
        "",
    ),
    ({"a.csv": "output,output\na,b\n"}, "a.csv", "Rename one", {"a.csv": "output,other\na,b\n"}, ""),
    (
        {"a.csv": "a,a\nb,c\n"},
        "a.csv",
        "write a line above it that names the columns",
        {"a.csv": "source,output\na,a\nb,c\n"},
        "",
    ),
    (
        {"a.jsonl": '["a"]\n'},
        "a.jsonl",
        '{"source": "…", "output": "…"}',
        {"a.jsonl": '{"source": "a", "output": "b"}\n'},
        "",
    ),
    (
        {"a.jsonl": '[\n{"output": "a"}\n]\n'},
        "a.jsonl",
        "name it .json",
        {"a.json": '[\n{"output": "a"}\n]\n'},
        "a.json",
    ),
    (
        {"a.json": '{"output": {"0": "a"}}'},
        "a.json",
        "an object with a list for each column",
        {"a.json": '{"output": ["a"]}'},
        "",
    ),
    ({"a.json": '{"output": {"0": "a"}}'}, "a.json", "orient='records'", {"a.json": '[{"output": "a"}]'}, ""),
    (
        {"a.json": '{"output": ["a"], "id": []}'},
        "a.json",
        "Give one for every row",
        {"a.json": '{"output": ["a"], "id": [1]}'},
        "",
    ),
]


@pytest.mark.parametrize(("files", "arguments", "advice", "corrected", "then"), CASES)
def test_the_advice_of_a_message_works(
    files: Files,
    arguments: str,
    advice: str,
    corrected: Files,
    then: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (SET | files).items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    command = ["score", "-m", "length", "--no-intervals"]
    assert main([*command, *arguments.split()]) == 2
    message = capsys.readouterr().err
    assert advice in message
    if "$" in corrected:  # the command that the message contains
        subprocess.run(message.partition("Convert it: ")[2], shell=True, check=True)
    for name, text in corrected.items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert main([*command, *(then or arguments).split()]) == 0, capsys.readouterr().err


def _refused(call: Any, *values: Any, **options: Any) -> str:
    with pytest.raises(BadInput) as caught:
        call(*values, **options)
    return str(caught.value)


def test_the_advice_of_messages_in_python_works(tmp_path: Path) -> None:
    by_reference = [["a", "b", "c"], ["d", "e", "f"]]
    assert "list(zip(*references))" in _refused(check_references, by_reference, 3)
    assert check_references(list(zip(*by_reference, strict=True)), 3) == (("a", "d"), ("b", "e"), ("c", "f"))
    references = ["a", "b"]
    assert "[[r] for r in references]" in _refused(check_references, references, 2)
    assert check_references([[r] for r in references], 2)
    assert "an empty one where there is none" in _refused(check_references, [["a"]], 2)
    assert check_references([["a"], []], 2) == (("a",), ())
    assert "None for no reference" in _refused(EvalSet.of, ["a"], references=[[3]])
    assert EvalSet.of(["a"], references=[[None]]).references == ((),)
    assert "Give every item one" in _refused(EvalSet.of, ["a", "b"], ids=[None, 1])
    assert EvalSet.of(["a", "b"], ids=["x", 1]).ids == ("x", "1")
    path = tmp_path / "table"
    path.write_text("output\na\n")
    message = _refused(read_table, path)
    assert "Pass format= (csv" in message
    assert len(read_table(path, format="csv")) == 1
    assert "one of the suffixes .csv" in message
    assert len(read_table(path.rename(tmp_path / "table.csv"))) == 1
    assert "Give a file of sources, files of references or a table" in _refused(read_evalset)
    assert "sources= and references=, not both" in _refused(TextArguments(sources=["a"]).read, {"output": ["a"]})
    bare = EvalSet.of(["a", "b"], references=[["a"], []])
    assert "leave them out or give them references" in _refused(bare.require_references, "sari")
    bare[bare.reference_counts > 0].require_references("sari")
    lines = tmp_path / "two.txt"
    lines.write_text("a\nb\n")
    assert "Give at least one file" in _refused(read_outputs, [])
    assert read_outputs(lines) == {"two": tuple(read_lines(lines))}
