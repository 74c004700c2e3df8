"""``plainly check``: prose of files with exact positions, verdicts, rules, and formats."""

from __future__ import annotations

import json
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from html import escape
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import html
from markdown_it import MarkdownIt

import plainly
from plainly.checks.document_checks import check_documents, format_text
from plainly.checks.documents import CODE, Document, Kind, parse_document, read_document, read_documents
from plainly.checks.prose import analyse
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.reporting.check_page import check_page

HARD = (
    "Notwithstanding the aforementioned considerations, the implementation of the regulatory provisions, which had "
    "been promulgated by the administration in accordance with the recommendations of the commission, necessitated the "
    "reconsideration of numerous organisational arrangements whose ramifications had not been anticipated by those in "
    "charge of the department.\n"
)
PLAIN = "The dog ran home. It was cold. The man gave it some food. Then they went to sleep.\n"

PAGE = """---
title: Front matter
---
# A *title* with `code` ##

Some **bold text. Next** one &amp; [a link](http://target.example "a title") here.
Second line\\* of <http://auto.example>, ![picture](image.png).

> - a quoted *item*
>   goes on
lazily

| cell | cell |
|---|---|
| cell | cell |

```
code block
```
<div>raw</div>

Setext
heading
===
"""


def texts(document: Document) -> list[tuple[str, str]]:
    return [(unit.kind, unit.text) for unit in document.units]


def test_the_prose_of_markdown() -> None:
    assert texts(parse_document(PAGE, "markdown")) == [
        ("heading", "A title with Code"),
        ("paragraph", "Some bold text. Next one & a link here. Second line* of Code, ."),
        ("item", "a quoted item goes on lazily"),
        ("heading", "Setext heading"),
    ]


def test_the_prose_of_html() -> None:
    page = (
        "<html><head><title>t</title></head><body><nav><a>Home</a></nav><h1>Big &amp; <b>bold</b></h1>"
        "<p>Hello   <code>x=1</code> world<br>next&nbsp;line <p>Unclosed<ul><li>one<li>two<ul><li>deep</ul></ul>"
        "<table><tr><td>cell</table><p hidden>secret</p>tail<script>1</script></body>"
    )
    assert texts(parse_document(page, "html")) == [
        ("heading", "Big & bold"),
        ("paragraph", "Hello Code world next line"),
        ("paragraph", "Unclosed"),
        ("item", "one"),
        ("item", "two"),
        ("item", "deep"),
        ("paragraph", "tail"),
    ]


def test_plain_text_has_paragraphs_and_long_lines() -> None:
    long = "word " * 40
    document = parse_document(f"One line\nand another.\r\n\r\nSecond.\n{long}\n{long}\n")
    assert [unit.text for unit in document.units] == ["One line and another.", "Second.", long.strip(), long.strip()]


WORDS = st.sampled_from(
    ["alpha", "beta.", "Gamma,", "*em*", "**strong words**", "`code`", "[link](http://x.example)", "a\\*b", "&amp;",
     "é", "_x_", "<b>raw</b>", "*", "[", "]", "!", "<", "&", "_", "**", "~", "ﬁ", "שלום", "1.", "(", "\\", "#", "##",
     "\x0b", "\x0c", "\x85", "\u2028", "\u3000", "\u00a0", "\t", "-", ">", "===", "<!-- c -->", "|", "```"]
)  # fmt: skip
LINES = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
BLOCKS = st.one_of(
    LINES,
    st.lists(LINES, min_size=2, max_size=3).map("\n".join),
    st.lists(WORDS, min_size=1, max_size=8).map("\n".join),
    LINES.map("## {} ##".format),
    st.lists(LINES, min_size=1, max_size=3).map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    st.lists(LINES, min_size=1, max_size=2).map(lambda lines: "\n".join(f"> {line}" for line in lines)),
    st.just("```\ncode\n```"),
    st.just("| a | b |\n|---|---|\n| c | d |"),
)
MARKDOWN = st.tuples(st.lists(BLOCKS, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"])).map(
    lambda parts: "\n\n".join(parts[0]).replace("\n", parts[1])
)


def standard_text(children: list) -> str:  # type: ignore[type-arg]
    """What the untouched parser renders: text, a space for a break, a word for code."""
    parts = {"softbreak": " ", "hardbreak": " ", "code_inline": CODE}
    return "".join(parts.get(child.type, child.content if child.type == "text" else "") for child in children)


@settings(max_examples=300, deadline=None)
@given(MARKDOWN)
@example("\\ \\\nalpha")
@example("\x0b\n</b>One")
@example("> \u2028\n> One. Two.")
@example("# # ##")
@example("-\t\u3000\n\t\tone\ntwo")
def test_the_reported_slice_of_markdown_renders_to_the_text_that_was_judged(content: str) -> None:
    document = parse_document(content, "markdown")
    for unit in document.units:
        start, stop = unit.slice(0, len(unit.text))
        again = parse_document(f"x {' '.join(content[start:stop].split())}", "markdown")
        if not any(mark in content[start:stop] for mark in "\r\n>"):
            assert [other.text for other in again.units] == [f"x {unit.text}"]
        for at, character in enumerate(unit.text):
            written = content[unit.starts[at] : unit.stops[at]]
            assert written == character or character == " " or written[0] in "\\&`<"
    parser = MarkdownIt("commonmark").enable("table")
    tables, rendered = 0, []
    for token in parser.parse(content):
        tables += token.nesting if token.type in ("table_open", "table_close") else 0
        if token.type == "inline" and not tables:
            rendered.append(" ".join(standard_text(token.children or []).split()))
    assert [unit.text for unit in document.units] == [text for text in rendered if text]


HTML_PARTS = st.sampled_from(
    ["word", "two words.", "<b>bold</b>", "<i>open", "</b>", "&amp;", "&lt", "&#233;", "<br>", "<p>", "</p>", "<li>",
     "<h2>", "</h2>", "<div>", "<code>x</code>", "<!-- c -->", "  ", "\n", "<", "a < b", "<script>s</script>", "ü",
     "&#", "&#12ab;", "&;", "&shy;", "</", "<!", "<!--", "-->", "<![x y]>", "<![", "<?x", "<a href='x>", "<a 'b>", ">",
     "<code>", "<nav>", "</nav>", "<p hidden>", "<table>", "</table>", "One. Two."]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(HTML_PARTS, max_size=25).map("".join))
def test_the_reported_slice_of_html_renders_to_the_text_that_was_judged(content: str) -> None:
    document = parse_document(content, "html")
    for unit in document.units:
        start, stop = unit.slice(0, len(unit.text))
        assert [other.text for other in parse_document(content[start:stop], "html").units] == [unit.text]
        for at, character in enumerate(unit.text):
            written = content[unit.starts[at] : unit.stops[at]]
            assert written == character or character == " " or written[0] in "&<"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("AT&#T is big.<nav>Home</nav><p>R&D and Q&A.", ["AT&#T is big.", "R&D and Q&A."]),
        ("<title>Name</title><form><p>Fill it in.</form>", ["Fill it in."]),
        ("<p hidden>secret<p>seen", ["seen"]),
        ("<![foo bar]><p>Text<!-- not <b>closed</b>", ["Text"]),
        ("<p>One<p 'x>Two</p><div class='a''>Three</div><a href='", ["One", "Two", "Three"]),
    ],
)
def test_broken_html_is_read_as_browsers_do(content: str, expected: list[str]) -> None:
    assert [unit.text for unit in parse_document(content, "html").units] == expected


@pytest.mark.parametrize(
    ("kind", "content"),
    [("html", "We com&shy;mence it."), ("text", "We com\u200bmence it."), ("markdown", "We com\u00admence it.")],
)
def test_characters_without_width_do_not_cut_words(kind: Kind, content: str) -> None:
    (unit,) = parse_document(content, kind).units
    assert unit.text == "We commence it."
    assert content[slice(*unit.slice(3, 11))] == content[3:-4]


def test_sentences_have_exact_positions() -> None:
    document = parse_document("A **bold start** of it. Then `code` & more.\n\n**One. Two.**", "markdown")
    unit, other = document.units
    start = unit.text.index("Then")
    assert document.content[slice(*unit.slice(0, start - 1))] == "A **bold start** of it."
    assert document.content[slice(*unit.slice(start, len(unit.text)))] == "Then `code` & more."
    assert document.content[slice(*other.slice(0, 4))] == "One."
    assert document.content[slice(*other.slice(0, len(other.text)))] == "**One. Two.**"
    assert document.position(document.content.index("One")) == (3, 3)


def test_word_documents_have_paragraphs_and_offsets(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    file = docx.Document()
    file.add_heading("Title", 1)
    file.add_paragraph("First sentence. " + HARD.strip())
    file.add_paragraph("an item", style="List Bullet")
    file.add_table(1, 1).cell(0, 0).text = "cell"
    file.save(tmp_path / "letter.docx")
    document = read_document(str(tmp_path / "letter.docx"))
    assert [unit.kind for unit in document.units] == ["heading", "paragraph", "item"]
    (check,) = check_documents([tmp_path / "letter.docx"]).documents
    part = check.prose.hardest[0]
    _, _, line, column = check.place(part)
    assert (line, column) == (2, len("First sentence. ") + 1)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("binary.txt", bytes(range(256)) * 20),
        ("nul.md", b"a\0b\0" * 300),
        ("broken.docx", b"PK\x03\x04 no archive"),
        ("big.md", b"word " * 2_100_000),
        ("latin.txt", "Grüße".encode("latin-1")),
        ("none.md", b"```\ncode\n```\n"),
        ("cut.txt", "Grüße".encode("utf-16")[:-1]),
    ],
)
def test_unusable_files_get_a_sentence(
    name: str, data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(data)
    status = main(["check", str(tmp_path / name), "--quick"])
    assert status == (0 if name == "none.md" else 2)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.md", "".join("  " * depth + "- item\n" for depth in range(200))),
        ("quoted.md", ">" * 900 + " text"),
        ("broken.html", "<p>One <b>two<p>three</i></div><a href='x>four</a>" * 50),
        ("open.html", "<a " * 5000 + "<!--" * 5000),
        ("brackets.md", "[" * 3000 + "](" * 3000),
        ("hebrew.txt", "שלום עולם. זה טקסט ארוך יותר בעברית כדי לזהות את השפה."),
        ("zero.md", "Zero\u200bwidth\u200d and \u202eturned\u202c text.\ufeff\n"),
        ("line.txt", "word " * 20_000),
        ("empty-lines.md", "\n" * 5000),
    ],
)
def test_odd_files_get_a_result(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-16" if name == "zero.md" else "utf-8")
    assert main(["check", str(tmp_path / name), "--quick", "--json"]) in (0, 1)


def test_lists_of_depth_200_are_read_whole() -> None:
    content = "".join("  " * depth + f"- item {depth}\n" for depth in range(200))
    assert len(parse_document(content, "markdown").units) == 200


def test_a_hard_text_fails_and_a_plain_one_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hard, plain = tmp_path / "hard text.txt", tmp_path / "plain.md"
    hard.write_text(HARD * 3)
    plain.write_text(PLAIN)
    assert main(["check", str(plain)]) == 0
    assert capsys.readouterr().out.startswith(f"{plain}: PASS. ")
    assert main(["check", str(tmp_path), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["schema"] == "plainly.check/1"
    first, second = result["documents"]
    assert (first["outcome"], second["outcome"]) == ("block", "pass")
    assert first["verdict"]["outcome"] == "block"
    assert first["level"]["low"] < first["level"]["value"] < first["level"]["high"]
    sentence = first["sentences"][0]
    assert (HARD * 3)[sentence["start"] : sentence["stop"]] == sentence["text"]
    assert any("very long" in reason for reason in sentence["reasons"])
    assert any("passive" in reason for reason in sentence["reasons"])
    assert main(["check", str(plain), "--target", "A1", "--fail-on", "review"]) in (0, 1)
    assert main(["check", str(tmp_path / "none.md")]) == 2


def test_formats_for_other_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hard = tmp_path / "hard text.md"
    hard.write_text(f"# Title\n\n{HARD}\nRun `a < b`. Code is here.\n\nPrior to <b>go</b> & to purchase it.\n")
    files = [str(tmp_path / name) for name in ("a.sarif", "a.xml", "a.html")]
    assert main(["check", str(hard), "--sarif", files[0], "--junit", files[1], "--page", files[2], "--github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f"::error file={hard},line=3,col=1,title=plainly check%3A en-plain.VeryLongSentence::" in "\n".join(lines)
    run = json.loads(Path(files[0]).read_text())["runs"][0]
    spans = {
        result["ruleId"]: result["locations"][0]["physicalLocation"]["region"]
        for result in run["results"]
        if "Prior" in result["message"]["text"]
    }
    assert spans == {"en-plain.Wordiness": {"startLine": 7, "startColumn": 1, "endLine": 7, "endColumn": 9}}
    assert all(" " not in r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"])
    suite = ElementTree.parse(files[1]).getroot()[0]
    assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) != "0"
    page = Path(files[2]).read_text()
    assert "data-why=" in page
    assert "Run <code>a &lt; b</code>." in page
    assert "Code is here." in page
    assert "Prior to go &amp; to purchase it." in page


def test_comments_ignore_rules(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(
        "<!-- plainly: ignore Wordiness: the name of a film -->\n\nPrior to go.\n\nPrior to stay.\n\n"
        "Prior to <!-- plainly: ignore en-plain.Wordiness, Passive --> sleep.\n"
    )
    findings = [finding for finding in check_documents([file]).findings if finding.rule == "en-plain.Wordiness"]
    assert [finding.waived for finding in findings] == [
        "the name of a film",
        "",
        "ignored by a comment in the file",
    ]


def test_a_baseline_and_a_branch_leave_old_text_out(tmp_path: Path) -> None:
    file, baseline = tmp_path / "a.md", tmp_path / "known.json"
    file.write_text(f"{HARD}\nA new line.\n")
    assert main(["check", str(file), "--write-baseline", str(baseline)]) == 1
    assert main(["check", str(file), "--baseline", str(baseline)]) == 0
    file.write_text(f"Moved.\n\n{HARD}\n{HARD.replace('commission', 'parliament')}")
    checks = check_documents([file], baseline=baseline)
    assert [f.line_number for f in checks.findings if f.rule == "en-plain.VeryLongSentence" and not f.waived] == [5]
    assert main(["check", str(file), "--baseline", str(file)]) == 2

    def git(*words: str) -> None:
        options = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *options, *words], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", "a.md")
    git("commit", "-q", "-m", "first")
    assert check_documents([file], diff="main").documents == ()
    file.write_text(file.read_text() + "\nThis is new. Prior to go.\n")
    checks = check_documents([file], diff="main")
    assert {f.line_number for f in checks.findings if not f.waived} == {7}
    file.write_text(file.read_text().replace("Moved.", "Edited."))
    (level,) = (finding for finding in check_documents([file], diff="main").findings if finding.rule == "level")
    assert level.waived  # the verdict is not about the first line alone
    (tmp_path / "new.md").write_text(HARD * 3)
    (level,) = (f for f in check_documents([tmp_path / "new.md"], diff="main").findings if f.rule == "level")
    assert not level.waived
    assert main(["check", str(file), "--diff", "no-such-branch"]) == 2


def test_a_source_adds_the_checks_of_pairs(tmp_path: Path) -> None:
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text("# Fees\n\nThe **fee** is 40 euros and has to be paid by 3 May 2024.\n")
    new.write_text("# Fees\n\nThe **fee** is 60 euros. Pay it by 3 May 2024.\n")
    (check,) = check_documents([new], source=old).documents
    (finding,) = [finding for finding in check.findings if finding.rule.startswith("facts.")]
    assert new.read_text()[finding.start : finding.stop].startswith("60")
    assert (finding.outcome, finding.line_number) == ("block", 3)
    assert not check.passed
    with pytest.raises(BadInput, match="one document"):
        check_documents([new, old], source=old)


def test_german_texts_have_rules_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "brief.txt"
    file.write_text(
        "Die Beantragung der Gewährung der Leistung bedarf der Vorlage der Einkommensverhältnisbescheinigung, sofern "
        "nicht unerhebliche Änderungen der Verhältnisse des Antragstellers eingetreten sein könnten.\n"
    )
    (check,) = check_documents([file]).documents
    assert check.prose.language == "de"
    rules = {finding.rule for finding in check.findings}
    assert {"de-plain.Compounds", "de-plain.GenitiveChains", "de-plain.SentenceLength", "level"} <= rules


def test_one_text_in_python_has_its_prose() -> None:
    prose = plainly.check(HARD, preset="easy").prose
    assert prose.verdict.outcome == "block"
    assert prose.hardest[0].reasons
    assert plainly.check(PLAIN, preset="quick").prose.language == "en"


def test_a_style_of_a_team_joins_in(tmp_path: Path) -> None:
    style = tmp_path / "House"
    style.mkdir()
    (style / "Terms.yml").write_text("extends: substitution\nmessage: Use %s\nlevel: error\nswap:\n  foo: bar\n")
    (style / "Spelling.yml").write_text("extends: spelling\nmessage: misspelt\n")
    (style / "Slow.yml").write_text("extends: existence\nmessage: slow\nnonword: true\ntokens: ['(?:a|aa)+$']\n")
    file = tmp_path / "a.md"
    file.write_text(f"# A foo.\n\nThe **foo** is there.\n\n{'a' * 60}c\n")
    checks = check_documents([file], packs=[str(style)], learned=False, language="en")
    house = [finding for finding in checks.findings if finding.rule == "House.Terms"]
    assert [(finding.words, finding.line_number, finding.column) for finding in house] == [
        ("foo", 1, 5),
        ("**foo**", 3, 5),
    ]
    assert house[0].suggestions == ("bar",)
    assert not checks.passed
    assert any("spelling" in problem for problem in checks.problems)
    assert any("House.Slow took more than" in problem for problem in checks.problems)


def test_rules_can_be_switched(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Prior to go, it was seen.\n")
    rules = {finding.rule for finding in check_documents([file], off=["Passive"], language="en").findings}
    assert "en-plain.Passive" not in rules
    with pytest.raises(BadInput, match="no rule 'Pasive'"):
        check_documents([file], off=["Pasive"], language="en")


@pytest.mark.parametrize("preset", ["plain", "easy"])
def test_a_file_and_a_text_get_one_verdict(preset: str, tmp_path: Path) -> None:
    german = "Die Inanspruchnahme der Leistungen setzt die Vorlage der erforderlichen Nachweisunterlagen voraus.\n"
    for text in (HARD, PLAIN, german):
        file = tmp_path / "text.txt"
        file.write_text(text, encoding="utf-8")
        (document,) = check_documents([file], preset=preset).documents
        result = plainly.check(text, preset=preset)
        levels = [finding.outcome for finding in result.findings if finding.rule == "level"]
        assert levels == ([] if document.prose.verdict.outcome == "pass" else [document.prose.verdict.outcome])
        assert result.prose.verdict == document.prose.verdict
    assert plainly.check(HARD, preset=preset).outcome == "block"


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("html", "<div>"),
        ("html", "<p>word"),
        ("markdown", "<!-- plainly: ignore "),
        ("markdown", "[a]("),
        ("html", "<a "),
    ],
)
def test_reading_takes_time_in_proportion_to_the_size(kind: Kind, part: str) -> None:
    def seconds(count: int) -> float:
        used = []
        for _ in range(3):
            start = time.process_time()
            parse_document(part * count, kind)
            used.append(time.process_time() - start)
        return min(used)

    seconds(1)
    assert seconds(16_000) < 12 * seconds(4_000) + 0.05


def test_headings_end_at_the_end_of_any_heading() -> None:
    document = parse_document("<h2>One</h3><p>Two<ul><li>Three<div>Four</div></ul><h2>Five<h3>Six</h3>Seven", "html")
    assert [unit.kind for unit in document.units] == [
        "heading",
        "paragraph",
        "item",
        "item",
        "heading",
        "heading",
        "paragraph",
    ]


def test_the_verdict_says_how_sure_it_is_on_both_sides_of_the_limit() -> None:
    messages = {}
    for target in ("A1", "A2", "B1", "B2", "C1"):
        prose = analyse(parse_document(PLAIN * 3), language="en", target=target)
        assert prose.verdict.outcome == ("pass" if prose.level.value <= prose.verdict.limit else "review")
        is_certain = prose.level.high <= prose.verdict.limit or prose.level.low > prose.verdict.limit
        assert ("probably" in prose.verdict.message.lower()) is not is_certain
        messages[target] = prose.verdict.message
    assert len(set(messages.values())) == 5
    assert "probably" not in messages["C1"].lower()


def test_the_hardest_sentences_are_in_the_order_of_their_levels() -> None:
    prose = analyse(
        parse_document(f"{PLAIN}{HARD}We commence the work prior to noon. It was seen by him."), language="en"
    )
    levels = [part.level.value for part in prose.hardest]
    assert levels == sorted(levels, reverse=True)
    assert prose.is_notable(prose.hardest[0])
    assert not prose.is_notable(prose.hardest[-1])


def test_a_terminal_gets_no_control_characters_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(f"The \x1b]0;title\x07 \x9b2J \u202e{HARD}We go prior to\x1b[2J it.\n")
    checks = check_documents([file], learned=False, language="en")
    assert not set("\x07\x9b\u202e\x1b") & set(format_text(checks, suggestions=True))
    assert "\x1b[2J" not in format_text(checks, is_terminal=True, suggestions=True)


def test_a_file_is_checked_once_however_often_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    for name in ("a.txt", "node_modules/b.md"):
        (tmp_path / name).write_text(PLAIN)
    names = [tmp_path, tmp_path / "a.txt", f"{tmp_path}/./*.txt"]
    assert [document.name for document in read_documents(names)] == [f"{tmp_path}/./a.txt"]


def test_a_baseline_leaves_out_sentences_and_no_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, baseline = tmp_path / "a.md", tmp_path / "known.json"
    old = "Eat prior to that. Stay.\n\nEat prior to that.\n"
    file.write_text(old)
    assert main(["check", "a.md", "--quick", "--language", "en", "--write-baseline", str(baseline)]) == 0

    def new_lines(content: str) -> list[int]:
        file.write_text(content)
        checks = check_documents(["./a.md"], baseline=baseline, learned=False, language="en")
        return [finding.line_number for finding in checks.findings if not finding.waived]

    assert new_lines(old) == []
    assert new_lines(f"A first line.\n\n{old}") == []
    assert new_lines(f"{old}\nSleep prior to it.\n") == [5]
    assert new_lines(f"{old}\nEat prior to that.\n") == [5]
    assert len(check_documents([file], baseline=baseline, learned=False, language="en").findings) == 3


def test_the_page_marks_only_findings_that_count(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(
        "<!-- plainly: ignore Wordiness: quoted -->\n\nGo prior to it.\n\nStay prior to that. Eat prior to noon.\n"
    )
    page = check_page(check_documents([file], learned=False, language="en"))
    (message,) = {f.message for f in check_documents([file]).findings if f.rule == "en-plain.Wordiness"}
    assert page.count(f" · {escape(message)}") == 2


@pytest.mark.parametrize(
    "part",
    ["<!-- plainly: ignore A: b -->\n\nthe the\n\n", "the ", "commence prior to. ", "a\n", "# commence prior to\n"],
)
def test_many_findings_take_time_in_proportion_to_their_number(part: str, tmp_path: Path) -> None:
    def seconds(count: int) -> float:
        file = tmp_path / "a.md"
        file.write_text(part * count)
        start = time.process_time()
        checks = check_documents([file], learned=False, language="en")
        assert checks.findings
        format_text(checks)
        check_page(checks)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(16_000) < 10 * min(seconds(4_000), seconds(4_000)) + 0.2


def test_word_documents_under_revision_and_with_content_controls_are_read_whole(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    def add(element: object, markup: str) -> None:
        element.append(parse_xml(markup.replace(">", f" {nsdecls('w')}>", 1)))  # type: ignore[attr-defined]

    file = docx.Document()
    revised = file.add_paragraph("Before ")._p
    add(revised, "<w:ins><w:r><w:t>new</w:t></w:r></w:ins>")
    add(revised, "<w:del><w:r><w:delText>old</w:delText></w:r></w:del>")
    add(revised, "<w:sdt><w:sdtContent><w:r><w:t> control</w:t></w:r></w:sdtContent></w:sdt>")
    add(revised, "<w:r><w:tab/><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t></w:r>")
    numbered = file.add_paragraph("An item")._p
    add(numbered.get_or_add_pPr(), "<w:numPr><w:numId/></w:numPr>")
    file.add_table(1, 1).cell(0, 0).text = "cell"
    own = file.styles.add_style("Kopf", 1)
    own.base_style = file.styles["Heading 2"]
    file.add_paragraph("A heading", style="Kopf")
    add(file.element.body, "<w:sdt><w:sdtContent><w:p><w:r><w:t>A block</w:t></w:r></w:p></w:sdtContent></w:sdt>")
    file.save(tmp_path / "letter.docx")
    document = read_document(str(tmp_path / "letter.docx"))
    assert texts(document) == [
        ("paragraph", "Before new control a-b"),
        ("item", "An item"),
        ("heading", "A heading"),
        ("paragraph", "A block"),
    ]
    assert [document.position(unit.starts[0]) for unit in document.units] == [(1, 1), (2, 1), (3, 1), (4, 1)]


def test_the_page_lists_paragraphs_and_puts_items_in_lists(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(f"{PLAIN}\n{HARD}\n- {PLAIN}- {PLAIN}\n{PLAIN}\n- last\n")
    checks = check_documents([file])
    tree = html.fromstring(check_page(checks))
    assert [len(items) for items in tree.xpath("//div[@class='text']/ul")] == [2, 1]
    assert not tree.xpath("//div[@class='text']/li")
    lists = tree.xpath("//ol[@class='hard']")
    (check,) = checks.documents
    assert len(lists[1]) == len(check.hardest_paragraphs) == 3
    (target,) = tree.xpath(f"//*[@id='{lists[1][0].find('a').get('href')[1:]}']")
    assert target.text_content() == HARD.strip()


def test_a_comment_that_ignores_no_rule_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    names = "Passive, en-easy.Words, de-plain.Compounds, level, facts.value"
    file.write_text(f"<!-- plainly: ignore {names}, Pasive: a reason -->\n\nIt was seen.\n")
    (problem,) = check_documents([file], learned=False, language="en").problems
    assert f"{file}:1: " in problem
    assert "Pasive" in problem
