"""Rating in the browser: five keys an item, no key lost, and nothing entered ever gone."""

from __future__ import annotations

import json
from typing import Any

from tests.studio.conftest import Make, join, rating_project, saved, simple_items


def test_four_scales_and_submit_in_five_keys(make: Make, serve: Any, context: Any) -> None:
    place = make(rating_project(), simple_items(5))
    server = serve(place)
    page = context.new_page()
    join(page, server.url, place.link())
    page.wait_for_selector("fieldset.current")
    for key in ("4", "5", "2", "1", "Enter"):
        page.keyboard.press(key)
    saved(page, 1)
    (payload,) = [row.payload for row in place.query("SELECT payload FROM entry")]
    assert json.loads(payload)["values"] == {
        "grammaticality": 4,
        "meaning": 5,
        "simplicity": -1,
        "structural_simplicity": -2,
    }
