"""``judges.toml``: which servers may be asked, with which model and parameters.

The file is read only from a path that the user names or from the user's configuration folder, never from the current
directory, so that a cloned repository cannot send texts or keys anywhere. It names the environment variable that holds
a key; the key itself is read when a request is sent and is never stored.
"""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from plainly.core.errors import BadInput, DataUnavailable, UnknownName
from plainly.core.settings import Number, Settings, read_settings

# Fields of a request that a server may not know.
OPTIONAL_FIELDS = ("temperature", "seed", "max_tokens")
# Fields of a request that have settings of their own, or on which reading the answer depends.
_OWN_FIELDS = {*OPTIONAL_FIELDS, "model", "messages", "response_format", "stream", "n"}


class JudgeSettings(Settings, frozen=True, kw_only=True):
    """One ``[[judge]]`` of the file. Prices are for a million tokens; times are in seconds."""

    name: str
    base_url: str
    model: str
    key_env: str = ""
    temperature: Number = 0
    seed: int = 0
    max_tokens: int = 200
    price_in: Number | None = None
    price_out: Number | None = None
    concurrency: int = 8
    timeout: Number = 60
    attempts: int = 8
    first_wait: Number = 0.5
    schema: bool = True
    omit: tuple[str, ...] = ()
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        address = urlsplit(self.base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("base_url must be an address such as https://host/v1.")
        if address.username or address.password or address.query:
            raise ValueError(
                "base_url must not contain a user, a password or a query. Name the key's variable: key_env."
            )
        if self.key_env and not (self.key_env.isidentifier() and self.key_env.isascii()):  # perhaps the key itself
            raise ValueError("key_env must be the name of an environment variable, not a key.")
        if not self.name.replace("-", "").replace("_", "").replace(".", "").isalnum():
            raise ValueError("name must consist of letters, digits, hyphens, underscores and full stops.")
        if (self.price_in is None) != (self.price_out is None):
            raise ValueError("price_in and price_out must be given together.")
        if unknown := [name for name in self.omit if name not in OPTIONAL_FIELDS]:
            raise ValueError(f"omit names {unknown[0]!r}; it may name {', '.join(OPTIONAL_FIELDS)}.")
        if own := sorted(_OWN_FIELDS & set(self.extra)):
            raise ValueError(f"extra must not name {own[0]!r}, which is set elsewhere.")
        if any(word in name.casefold() for name in self.extra for word in ("key", "secret", "password", "auth")):
            raise ValueError("extra must not contain a key. Name the key's variable: key_env.")
        try:
            json.dumps(self.extra, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError("extra must contain what JSON can express: no dates and no infinite numbers.") from None
        for name in ("max_tokens", "concurrency", "attempts", "timeout"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than 0.")
        for name in ("price_in", "price_out", "first_wait", "temperature"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} must not be negative.")

    @property
    def url(self) -> str:
        """The address to which requests are sent."""
        return f"{self.base_url.rstrip('/')}/chat/completions"

    @property
    def host(self) -> str:
        """The host, with its port where the address has one."""
        return urlsplit(self.base_url).netloc

    @property
    def is_unencrypted(self) -> bool:
        """Whether texts and key can be read on their way: another machine is called by http."""
        address = urlsplit(self.base_url)
        return address.scheme == "http" and address.hostname not in ("localhost", "127.0.0.1", "::1")

    @property
    def parameters(self) -> dict[str, object]:
        """The fields of a request that are the same for all texts."""
        fields = {name: getattr(self, name) for name in OPTIONAL_FIELDS if name not in self.omit}
        return {"model": self.model, **fields, **self.extra}

    @property
    def most_tokens(self) -> int | None:
        """The most tokens that an answer can have, None where nothing limits it."""
        limit = self.extra.get("max_completion_tokens") if "max_tokens" in self.omit else self.max_tokens
        return limit if type(limit) is int and limit > 0 else None

    @property
    def has_prices(self) -> bool:
        """Whether the cost of calls is known."""
        return self.price_in is not None

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return the price of these tokens; 0 where the file has no prices."""
        return (tokens_in * (self.price_in or 0) + tokens_out * (self.price_out or 0)) / 1e6

    def read_key(self) -> str:
        """Return the key from the environment; errors name the variable, never its value."""
        if not self.key_env:
            return ""
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise BadInput(
                f"The judge {self.name!r} needs a key in the environment variable {self.key_env}; it is not set."
            )
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise BadInput(
                f"The environment variable {self.key_env} does not hold a key: it has characters that no key has."
            )
        return key


class JudgesFile(Settings, frozen=True):
    """The whole file."""

    judge: tuple[JudgeSettings, ...]

    def __post_init__(self) -> None:
        names = [judge.name for judge in self.judge]
        if double := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two judges are called {double[0]!r}.")


def default_path() -> Path:
    """Return the path of the file in the user's configuration folder."""
    import platformdirs

    return Path(platformdirs.user_config_dir("plainly", appauthor=False)) / "judges.toml"


def read_judges(path: Path | None) -> dict[str, JudgeSettings]:
    """Read the judges by name, from a path or from the user's configuration folder."""
    if path is None and not default_path().is_file():
        raise DataUnavailable(
            f"There is no file {default_path()}, which describes the judges. Create it or pass another one (judges=). "
            "docs/jury.md shows what it contains."
        )
    return {judge.name: judge for judge in read_settings(path or default_path(), JudgesFile).judge}


def find_judge(judges: dict[str, JudgeSettings], name: str) -> JudgeSettings:
    """Return the judge with a name; the only one where the name is empty."""
    if not name and len(judges) == 1:
        return next(iter(judges.values()))
    if name not in judges:
        if not name:
            raise BadInput(f"Which judge? Write judge(model=NAME); the names are {', '.join(judges)}.")
        raise UnknownName("judge", name, judges, see="judges.toml")
    return judges[name]
