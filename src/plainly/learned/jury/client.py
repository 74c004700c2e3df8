"""The HTTP client: sends what the cache does not have, several requests at a time, and survives what servers do.

Answers are stored as they arrive, so that a run that ends for any reason can be resumed without paying twice.
"""

import asyncio
import contextlib
import datetime
import email.utils
import json
import random
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plainly.core.calls import CallRun, CostLimit, Usage, current_run
from plainly.core.errors import BadInput, require_package
from plainly.core.progress import Tell, report_steps
from plainly.learned.jury.answers import Answer, AnswerCache, Request, open_record, read_record
from plainly.learned.jury.settings import JudgeSettings, find_judge, read_judges

if TYPE_CHECKING:
    import httpx

_LONGEST_WAIT = 60.0  # seconds between two attempts, where the server does not ask for more
_LONGEST_ASKED = 600.0  # seconds that a server may ask for
_ATTEMPTS_TO_CONNECT = 3  # if no call has succeeded yet, the address is probably wrong
_AGAIN = {408, 409, 425, 429}  # statuses after which the same request may succeed, beside 5xx
_REFUSED = {400, 413, 422}  # statuses that may be about this text alone: too long, or stopped by a filter of content
_REFUSED_IN_A_ROW = 10  # after so many, the parameters are wrong or the account is empty
_CHARACTERS_A_TOKEN = 4  # for estimates only; the usual rule of thumb for English
_TOKENS_A_VALUE = 12  # of an answer: a key, its value and punctuation
_TOKENS_OF_FORM = 30  # around the messages of a request


def find_settings(name: str) -> JudgeSettings:
    """Return the judge with a name: from the record that is replayed, else from ``judges.toml``."""
    run = current_run()
    return find_judge(_read_replayed(run.replay)[0] if run.replay else read_judges(run.judges), name)


def ask(judge: JudgeSettings, requests: Mapping[str, Request], values: int) -> dict[str, Answer]:
    """Return the answers by key; ``values`` is how many an answer has. In a dry run, those that the cache has."""
    run = current_run()
    if run.replay is not None:
        return _replay(run.replay, requests)
    with AnswerCache.open() as cache:
        answers = cache.get(list(requests))
        missing = {key: request for key, request in requests.items() if key not in answers}
        if missing and not judge.has_prices:
            run.without_prices.add(judge.name)
        if run.dry_run:
            run.cached += sum(run.is_first(f"cached {key}") for key in answers)
            for key, request in missing.items():
                if run.is_first(f"estimated {key}"):
                    run.estimate(judge.name, _estimate(judge, request, values))
            return answers
        with open_record(run, judge) as record, report_steps(len(requests)) as tell:
            tell(len(answers))

            def keep(key: str, answer: Answer) -> None:
                answers[key] = answer
                if not answer.is_refused:
                    cache.put(key, requests[key], answer)
                if record is not None:
                    record.add(key, requests[key], answer)

            if record is not None:
                for key, answer in answers.items():
                    record.add(key, requests[key], answer)
            if missing:
                _run(Client(judge, run, keep, tell, has_answered=bool(answers)).send_all(missing))
    return answers


def _replay(path: Path, requests: Mapping[str, Request]) -> dict[str, Answer]:
    recorded = _read_replayed(path)[1]
    for key in requests:
        if key not in recorded:
            raise BadInput(
                f"A request is not in {path}: texts, rubric or parameters differ from those of the recorded run. "
                "Record the run again."
            )
    return {key: recorded[key] for key in requests}


def _read_replayed(path: Path) -> tuple[dict[str, JudgeSettings], dict[str, Answer]]:
    try:
        state = path.stat()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    return _read_unchanged(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _read_unchanged(path: Path, changed: int, size: int) -> tuple[dict[str, JudgeSettings], dict[str, Answer]]:
    return read_record(path)


def _estimate(judge: JudgeSettings, request: Request, values: int) -> Usage:
    characters = sum(len(message["content"]) for message in request.body["messages"])
    tokens_in = characters // _CHARACTERS_A_TOKEN + _TOKENS_OF_FORM
    tokens_out = min(_TOKENS_A_VALUE * values, judge.most_tokens or judge.max_tokens)
    return Usage(1, tokens_in, tokens_out, judge.cost(tokens_in, tokens_out))


def _most(judge: JudgeSettings, request: Request) -> float:
    """Return the most that a request can cost: a token is at least one byte, and an answer has at most max_tokens.

    Without such a limit it is not known; a run with a limit of cost does not begin then.
    """
    read = sum(len(message["content"].encode("utf-8", "surrogatepass")) for message in request.body["messages"])
    schema = len(json.dumps(request.body.get("response_format", "")))
    return judge.cost(read + schema + _TOKENS_OF_FORM, judge.most_tokens or judge.max_tokens)


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run asynchronous work in a thread of its own, and cancel it if this one is interrupted.

    A notebook has a loop here already, and a loop would log what a signal raises in one of its callbacks, and go on.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)

    def run() -> None:
        with contextlib.closing(loop):
            loop.run_until_complete(task)

    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(run)
        try:
            future.result()
        except BaseException:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(task.cancel)
            raise


class _Refusal(BadInput):
    """The server does not accept a request, perhaps because of its text."""


@dataclass
class Client:
    """Requests to one server in one measurement."""

    judge: JudgeSettings
    run: CallRun
    keep: Callable[[str, Answer], None]
    tell: Tell
    key: str = field(default="", repr=False)
    reserved: float = 0.0  # the most that the requests under way can cost
    under_way: int = 0
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    resume_at: float = 0.0  # by the monotonic clock: the server asked to wait until then
    has_answered: bool = False  # some request of this measurement, now or earlier
    first_refusal: BadInput | None = None
    refused_in_a_row: int = 0
    failure: Exception | None = None

    async def send_all(self, requests: Mapping[str, Request]) -> None:
        """Send all requests, ``concurrency`` at a time; after a failure, those under way are awaited."""
        with require_package("A judge", extra="jury"):
            import httpx
        judge = self.judge
        self.key = judge.read_key()
        if self.run.max_cost is not None and not judge.has_prices:
            raise BadInput(
                f"max_cost= needs the prices of the judge {judge.name!r}: price_in and price_out in judges.toml (0 for "
                "a server of your own)."
            )
        if self.run.max_cost is not None and judge.most_tokens is None:
            raise BadInput(
                f"max_cost= needs a limit for the answers of the judge {judge.name!r}, which omits max_tokens. In "
                "judges.toml: extra = {max_completion_tokens = 2000}"
            )
        variable = f"the key in {judge.key_env}" if judge.key_env else "no key"
        unsafe = " and without encryption" if judge.is_unencrypted else ""
        self.run.announce(f"judge {judge.name}: texts are sent to {judge.host} with {variable}{unsafe}")
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        waiting = iter(requests.items())
        context = httpx.create_ssl_context()
        async with contextlib.AsyncExitStack() as stack:
            workers = []
            for _ in range(min(judge.concurrency, len(requests))):
                # A client for each: in a pool that they share, each request looks at every connection.
                http = httpx.AsyncClient(headers=headers, timeout=float(judge.timeout), verify=context)
                workers.append(self._work(await stack.enter_async_context(http), waiting))
            await asyncio.gather(*workers)
        if self.failure is None and not self.has_answered:
            self.failure = self.first_refusal
        if self.failure is not None:
            raise self.failure

    async def _work(self, http: "httpx.AsyncClient", waiting: Iterator[tuple[str, Request]]) -> None:
        for key, request in waiting:
            if self.failure is not None:
                return
            try:
                answer = await self._send(http, request)
            except _Refusal as error:
                self.first_refusal = self.first_refusal or error
                self.refused_in_a_row += 1
                if self.refused_in_a_row >= _REFUSED_IN_A_ROW:
                    self.failure = self.failure or error
                    return
                answer = Answer.refused(str(error), _now())
            except (BadInput, CostLimit) as error:
                self.failure = self.failure or error
                return
            else:
                self.has_answered, self.refused_in_a_row = True, 0
            self.keep(key, answer)
            self.tell(1)

    async def _send(self, http: "httpx.AsyncClient", request: Request) -> Answer:
        """Return the answer to a request; temporary faults are waited for and tried again."""
        import httpx

        judge, body, most = self.judge, json.dumps(request.body).encode(), _most(self.judge, request)
        fault, attempt = "", 0
        while attempt < judge.attempts:
            await self._pause()
            await self._reserve(most)
            attempt += 1
            wait = None
            try:
                async with asyncio.timeout(float(judge.timeout)):
                    response = await http.post(request.url, content=body)
            except (TimeoutError, httpx.TimeoutException):
                self._settle(most, Usage(0, 0, 0, most))  # the server may have answered, and charge for it
                fault = f"did not answer within {judge.timeout:g} seconds"
            except httpx.ConnectError:
                self._settle(most, Usage())
                fault = "cannot be reached"
                if not self.has_answered and attempt >= _ATTEMPTS_TO_CONNECT:
                    break
            except httpx.TransportError:
                self._settle(most, Usage(0, 0, 0, most))
                fault = "dropped the connection"
            else:
                answer = _read_answer(response, self.key)
                if answer is not None:
                    self._settle(most, self._usage(answer, most))
                    return answer
                self._settle(most, Usage(0, 0, 0, most if response.status_code == 200 else 0.0))
                fault = self._describe(response)
                if response.status_code != 200 and response.status_code not in _AGAIN and response.status_code < 500:
                    kind = _Refusal if response.status_code in _REFUSED else BadInput
                    raise kind(f"The judge {judge.name!r} at {judge.host} {fault}{self._advice(response)}")
                wait = _asked_wait(response)
                if response.status_code == 429:  # for all requests
                    self.resume_at = max(self.resume_at, time.monotonic() + (wait or 0.0))
            if attempt < judge.attempts:
                await asyncio.sleep(self._backoff(attempt) if wait is None else wait)
        raise BadInput(
            f"The judge {judge.name!r} at {judge.host} {fault} ({attempt} attempts). Answers so far are kept: run the "
            "same command again to continue."
        )

    async def _pause(self) -> None:
        while (left := self.resume_at - time.monotonic()) > 0:
            await asyncio.sleep(left)

    def _backoff(self, attempt: int) -> float:
        return min(_LONGEST_WAIT, self.judge.first_wait * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)

    async def _reserve(self, most: float) -> None:
        """Wait until a request can be paid for, whatever those under way cost."""
        limit = self.run.max_cost
        while limit is not None and self.run.used.cost + self.reserved + most > limit:
            if self.under_way:
                self.settled.clear()
                await self.settled.wait()
                continue
            raise CostLimit(
                f"The next call could exceed max_cost={limit:g}; so far the cost is {self.run.used.cost:,.4f}. Answers "
                "are kept: with a higher limit, the same command continues."
            )
        self.under_way += 1
        self.reserved += most

    def _settle(self, most: float, usage: Usage) -> None:
        self.under_way -= 1
        self.reserved -= most
        self.settled.set()
        self.run.spend(usage)

    def _usage(self, answer: Answer, most: float) -> Usage:
        tokens = answer.tokens()
        if tokens is None:
            return Usage(1, 0, 0, most)
        return Usage(1, *tokens, self.judge.cost(*tokens))

    def _describe(self, response: "httpx.Response") -> str:
        """Describe a fault with what the server says about it, without the key if it repeats that."""
        if response.status_code == 200:
            return "sent an answer that is not in the form of the protocol"
        text = " ".join(_without_key(response.text, self.key).split())
        return f"answered {response.status_code}: {text[:300]}" if text else f"answered {response.status_code}"

    def _advice(self, response: "httpx.Response") -> str:
        if "response_format" in response.text or "json_schema" in response.text:
            return " If the server does not support answers by schema, set schema = false in judges.toml."
        if response.status_code == 404:
            return f" Check base_url, to which /chat/completions is added, and the model: {self.judge.model}"
        if response.status_code in (401, 403):
            return (
                f" Check the key in {self.judge.key_env}."
                if self.judge.key_env
                else " Name the key's variable: key_env."
            )
        return ""


def _read_answer(response: "httpx.Response", key: str) -> Answer | None:
    """Return the answer of a response, None unless it is complete and in the form of the protocol.

    A server that repeats the key, in whatever way JSON writes its characters, must not bring it into the cache.
    """
    if response.status_code != 200:
        return None
    try:
        parsed = _without_key(json.loads(response.content), key)
        is_answer = isinstance(parsed["choices"][0]["message"], dict)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None
    return Answer(parsed, _now()) if is_answer else None


def _without_key(value: Any, key: str) -> Any:
    """Return a value of JSON without the key in any of its texts."""
    if isinstance(value, str):
        return value.replace(key, "…") if key else value
    if isinstance(value, dict):
        return {_without_key(name, key): _without_key(part, key) for name, part in value.items()}
    return [_without_key(part, key) for part in value] if isinstance(value, list) else value


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _asked_wait(response: "httpx.Response") -> float | None:
    """Return the seconds that ``Retry-After`` asks for, which may be a number or a date; None without it."""
    text = response.headers.get("Retry-After", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(text)
        except ValueError:
            return None
        seconds = moment.timestamp() - time.time()
    return min(max(seconds, 0.0), _LONGEST_ASKED) if seconds == seconds else None
