"""A paid study from the first command to the report, in a real browser: six people from a platform, one of them bad."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from plainly.cli import main
from studio.conftest import Server, free_port

pytestmark = [pytest.mark.system, pytest.mark.long]

ITEMS = 12


def rate(page: Any, how: Any, most: int = 10**6) -> int:
    """Answer with the keyboard until there is nothing left, or so many times."""
    for done in range(most):
        page.locator(".item[data-settled], #end").first.wait_for()
        if page.locator("#end").count():
            return done
        number = int(re.findall(r"\d+", page.locator(".sentence").first.inner_text())[0])
        for key in how(number):
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        page.locator(".item[data-settled]").wait_for(state="detached")
    return most


def press_for(places: list[int]) -> list[str]:
    """Return the keys for these places on two scales from 1 to 5 and two from -2 to 2."""
    return [*"".join(str(place if at < 2 else place - 3) for at, place in enumerate(places))]


def good(number: int) -> list[str]:
    return press_for([1 + (number + at) % 5 for at in range(4)])


def bad(number: int) -> list[str]:
    return press_for([5 - (number + at) % 5 for at in range(4)])


def test_a_whole_paid_study(tmp_path: Path, chromium: Any, capsys: Any) -> None:
    (tmp_path / "source.txt").write_text("".join(f"Hard sentence number {at}.\n" for at in range(ITEMS)))
    (tmp_path / "a.txt").write_text("".join(f"Easy one {at}.\n" for at in range(ITEMS)))
    study = tmp_path / "study.toml"
    study.write_text(
        '[project]\nname = "Paid study"\nprotocol = "sulem-2018"\nconsent = "We keep your answers."\n'
        '[data]\nsource = "source.txt"\noutputs = ["A=a.txt"]\n'
        f"[assignment]\noverlap = 5\nahead = 1\nper_rater = {ITEMS}\n"
        '[crowd]\ncompletion_code = "PAID"\nreturned_code = "BACK"\ncompletion_url = "https://platform.example/?cc={code}"\n'
    )
    assert main(["studio", "create", str(study), "--json"]) == 0
    owner_path = json.loads(capsys.readouterr().out)["owner_path"]
    server = Server(study, f"sqlite:///{tmp_path}/study.db", free_port()).start()
    opened = []

    def somebody() -> Any:
        context = chromium.new_context(viewport={"width": 1100, "height": 800})
        context.set_default_timeout(20_000)
        opened.append(context)
        return context.new_page()

    try:
        boss = somebody()
        boss.goto(f"{server.url}{owner_path}")
        boss.click("button.primary")
        boss.goto(f"{server.url}/owner/people")
        boss.select_option("#kind", "crowd")
        boss.click("button.primary")
        link = boss.locator("#link").inner_text()

        def join(name: str, says: str = f"{ITEMS} items") -> Any:
            page = somebody()
            page.goto(f"{link}?PROLIFIC_PID={name}&STUDY_ID=s&SESSION_ID=x{name}")
            assert says in page.locator("#workload").inner_text()
            page.check("input[name=consent]")
            page.click("button.primary")
            return page

        for name in ("p1", "p2", "p3", "p4"):
            page = join(name)
            assert rate(page, good) == ITEMS
            assert page.locator("#code").inner_text() == "PAID"
            assert (
                page.get_by_role("link", name="Back to the platform").get_attribute("href")
                == "https://platform.example/?cc=PAID"
            )
        liar = join("liar")
        assert rate(liar, bad, ITEMS - 1) == ITEMS - 1
        boss.goto(f"{server.url}/owner")
        flagged = boss.locator("tr", has_text="rates against the others")
        flagged.wait_for()
        name = flagged.locator("td").first.inner_text()
        boss.goto(f"{server.url}/owner/people")
        assert "liar" in boss.locator(f"tr#{name}").inner_text()
        boss.click(f"#of-{name} summary")
        boss.fill(f"#of-{name} form[action$=exclude] input[name=why]", "rates against the others")
        boss.get_by_role("button", name=f"Exclude {name}").click()
        boss.locator(f"tr#{name}", has_text="excluded: rates against the others").wait_for()
        liar.reload()
        liar.locator("#end[data-state=ended]").wait_for()
        assert liar.locator("#code").inner_text() == "BACK", "excluded before the end; the owner decides about the pay"
        sixth = join("p6")
        assert rate(sixth, good) == ITEMS, "the excluded one's items went to somebody else"
        assert sixth.locator("#code").inner_text() == "PAID"
        late = somebody()
        late.goto(f"{link}?PROLIFIC_PID=p7")
        assert "This study is full" in late.locator("#workload").inner_text()
        assert late.locator("button.primary").count() == 0
        boss.goto(f"{server.url}/owner/people")
        boss.click(f"#of-{name} summary")
        boss.select_option(f"#of-{name} select[name=decision]", "reject")
        boss.fill(f"#of-{name} form[action$=decide] input[name=why]", "answers at random")
        boss.get_by_role("button", name=f"Decide {name}").click()
        boss.locator(f"tr#{name}", has_text="reject: answers at random").wait_for()
        lists = {}
        for wanted in ("prolific-approve.csv", "prolific-reject.csv"):
            with boss.expect_download() as download:
                boss.get_by_role("link", name=wanted).click()
            lists[wanted] = Path(download.value.path()).read_text().split()
        assert lists == {"prolific-approve.csv": ["p1", "p2", "p3", "p4", "p6"], "prolific-reject.csv": ["liar"]}
        boss.goto(f"{server.url}/owner")
        with boss.expect_download() as download:
            boss.get_by_role("link", name="csv", exact=True).click()
        table = tmp_path / "export.csv"
        table.write_bytes(Path(download.value.path()).read_bytes())
    finally:
        for context in opened:
            context.close()
        server.stop()
    for ratings in (str(table), str(study)):
        assert main(["meta", ratings, "--agreement", "--resamples", "20", "--json"]) == 0
        reply = json.loads(capsys.readouterr().out)
        for row in reply["agreement"]:
            (alpha,) = (one["value"] for one in row["coefficients"] if one["name"] == "Krippendorff's alpha, ordinal")
            assert alpha == pytest.approx(1.0), "without the excluded one all agree"
    report = tmp_path / "report.html"
    command = [
        "report",
        "--source",
        str(tmp_path / "source.txt"),
        "--ratings",
        str(study),
        "-m",
        "fkgl",
        "-o",
        str(report),
    ]
    assert main([*command, "--", f"A={tmp_path / 'a.txt'}"]) == 0
    assert "grammaticality" in report.read_text()
