"""Settings in files: valid ones are read as they were written, errors name the file, the key and what is allowed."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Literal

import pytest

from plainly.core.errors import BadInput
from plainly.core.settings import Number, Settings, convert_settings, read_settings


class Scale(Settings, frozen=True):
    name: str
    minimum: Number = 1
    level: Literal["ordinal", "interval"] = "ordinal"
    until: datetime.date | None = None

    def __post_init__(self) -> None:
        if self.minimum > 5:
            raise ValueError("minimum must be at most 5.")


class Study(Settings, frozen=True):
    name: str
    overlap: int = 2
    ties: bool = False
    systems: tuple[str, ...] = ()
    scales: tuple[Scale, ...] = ()
    first: Scale = Scale("simplicity")


def test_values_are_kept_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('name = "x"\nsystems = ["A", "B"]\n[[scales]]\nname = "s"\nminimum = 0\nuntil = 2030-01-31\n')
    study = read_settings(path, Study)
    assert study == Study("x", systems=("A", "B"), scales=(Scale("s", 0, until=datetime.date(2030, 1, 31)),))
    assert isinstance(study.scales[0].minimum, int)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("'name'", "missing", "text")),
        ("name = 3", ("name must be text", "not 3")),
        ('name = "x"\noverlapp = 3', ("'overlapp'", "Did you mean 'overlap'", "Allowed: first, name, overlap")),
        ('name = "x"\noverlap = true', ("overlap must be a whole number", "not True")),
        ('name = "x"\noverlap = 1.5', ("overlap must be a whole number", "not 1.5")),
        ('name = "x"\nties = 1', ("ties must be true or false",)),
        ('name = "x"\nsystems = "A"', ("systems must be a list", "not 'A'")),
        ('name = "x"\nsystems = ["A", 2]', ("systems[2] must be text", "not 2")),
        ('name = "x"\nfirst = 3', ("first must be a table",)),
        ('name = "x"\n[first]\nname = "s"\nlevel = "nominal"', ("first.level", "'interval', 'ordinal'", "'nominal'")),
        ('name = "x"\n[[scales]]\nname = "s"\nminimum = "1"', ("scales[1].minimum must be a number",)),
        ('name = "x"\n[[scales]]\nname = "s"\nuntil = "2030-01-31"', ("scales[1].until must be a date",)),
        ('name = "x"\n[[scales]]\nname = "s"\n[[scales]]\nname = "t"\nminimum = 9', ("scales[2]", "at most 5")),
        ('name = "x"\noverlap = x\n', ("not TOML", "line 2")),
    ],
)
def test_what_is_wrong_is_named(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(BadInput) as error:
        read_settings(path, Study)
    assert all(word in str(error.value) for word in ("study.toml", *words)), str(error.value)


def test_what_is_not_a_file_or_a_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no file .*absent\.toml"):
        read_settings(tmp_path / "absent.toml", Study)
    (tmp_path / "latin.toml").write_bytes(b'name = "caf\xe9"')
    with pytest.raises(BadInput, match=r"latin\.toml is not TOML"):
        read_settings(tmp_path / "latin.toml", Study)
    with pytest.raises(BadInput, match="the upload"):
        convert_settings([1], Study, where="the upload")
