"""Private StreakSnap systems for tests, as a pytest plugin of one file. Standard library and
pytest only, Python 3.10 or later.

Put this file beside your tests (or on PYTHONPATH) and name it in the topmost conftest.py:

    pytest_plugins = ["streaksnap_testing"]

Then a test that takes `world` has a whole StreakSnap of its own:

    @pytest.mark.world(clock="2030-03-04T08:00:00Z")
    def test_both_post(world):
        ada, ben = world.friends()
        ada.snap()
        ben.snap()
        assert ada.streak_with(ben)["current_count"] == 1

`streaksnap test-environment` is started once for all tests and ends with pytest, however that
ends. The executable is looked for in the folder STREAKSNAP_BIN, then on PATH. With
STREAKSNAP_TEST_CONTROL and STREAKSNAP_TEST_TOKEN it is not started: these are the address and the
token of one that runs already. With pytest-xdist all workers share one. In the folder
STREAKSNAP_TEST_DATA, if set, its servers keep their data, so that the next start is faster.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import pytest

SERVICES = ("auth", "social", "streaks", "media", "notifications", "billing")

_Found = TypeVar("_Found")
_START_SECONDS = 120
_CALL_SECONDS = 120


class TestKitError(Exception):
    """The test kit could not do what a test asked of it.

    `code` is test-environment's (`VALIDATION_ERROR`, `NOT_FOUND` …) or the kit's own
    (`NOT_STARTED`, `NEVER_HAPPENED` …); `field` names what is wrong in the request; `status` is
    that of the reply, if there was one.
    """

    __test__ = False

    def __init__(
        self, code: str, message: str, field: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(f"{code}: {field + ': ' if field else ''}{message}")
        self.code, self.message, self.field, self.status = code, message, field, status


# Reasons of a 401 for which signing in again helps.
_TOKEN_REASONS = {"TOKEN_EXPIRED", "INVALID_TOKEN", "SESSION_REVOKED"}


class Refused(Exception):
    """The API refused a call: `status`, `code` (`ALREADY_POSTED`), `reason` (the same, but where the
    code is `UNAUTHORIZED`: there it says why), `message`, `details` with one entry per bad field,
    `request_id`.
    """

    def __init__(self, status: int, body: Any) -> None:
        error = body.get("error") if isinstance(body, dict) else None
        error = error if isinstance(error, dict) else {}
        meta = body.get("meta") if isinstance(body, dict) else None
        self.status = status
        self.code: str = error.get("code", "")
        self.reason: str = error.get("reason", self.code)
        self.message: str = error.get("message", "")
        self.details: list[dict[str, Any]] = error.get("details") or []
        self.request_id: str | None = (meta or {}).get("request_id")
        super().__init__(f"{status} {self.code}: {self.message} {self.details or ''}".rstrip())


@dataclass(frozen=True)
class Response:
    """An HTTP reply. `json` is None when the body is not JSON."""

    status: int
    headers: dict[str, str]
    body: bytes
    json: Any


def _send(
    verb: str,
    url: str,
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
    seconds: float = _CALL_SECONDS,
) -> Response:
    """Sends one request, without a proxy, and gives the reply whatever its status."""
    request = urllib.request.Request(url, data=body, headers=headers or {}, method=verb)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=seconds) as reply:
            status, fields, content = reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            status, fields, content = error.code, error.headers, error.read()
    try:
        value = json.loads(content) if content else None
    except ValueError:
        value = None
    return Response(status, {name.lower(): text for name, text in fields.items()}, content, value)


def eventually(what: str, condition: Callable[[], _Found], within: float = 10) -> _Found:
    """Waits until `condition` gives something true, and returns that. Asks at least once; what it
    raises ends the wait.
    """
    end = time.monotonic() + within
    pause = 0.01
    while True:
        is_last = time.monotonic() >= end
        found = condition()
        if found:
            return found
        if is_last:
            raise TestKitError("NEVER_HAPPENED", f"never happened within {within} s: {what}")
        time.sleep(pause)
        pause = min(pause * 2, 0.1)


def photo(number: int) -> bytes:
    """A small PNG of its own for each number: the server knows equal bytes as the same snap
    (PH-3).
    """
    width, height = 64, 48

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    row = b"\0" + struct.pack("<I", number & 0xFFFFFF)[:3] * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(row * height))
        + chunk(b"IEND", b"")
    )


def rfc3339(instant: datetime) -> str:
    """An aware datetime as the API writes it."""
    if instant.tzinfo is None:
        raise TestKitError("VALIDATION_ERROR", f"{instant} must have a time zone", field="instant")
    return (
        instant.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
    )


def _instant(text: str) -> datetime:
    """A time of the API: always UTC, with any number of decimals."""
    whole, _, decimals = text.removesuffix("Z").partition(".")
    micros = int((decimals + "000000")[:6])
    return datetime.fromisoformat(whole).replace(tzinfo=timezone.utc, microsecond=micros)


@dataclass(frozen=True)
class Push:
    """A push that Expo's push service was handed and took. `kind` is what it is about:
    `friend_request`.
    """

    to: str
    title: str
    body: str
    data: dict[str, Any]

    @property
    def kind(self) -> str | None:
        """What it is about, such as `friend_request`."""
        return self.data.get("type")


@dataclass(frozen=True)
class Mail:
    """A mail that the mail server took. `text` is its plain text part, `raw` the whole message."""

    sender: str
    to: str
    subject: str
    text: str
    raw: str = field(repr=False)

    @property
    def link_token(self) -> str | None:
        """The token in its link, to verify an address or to set a password; None without one."""
        found = re.search(r"/(?:verify|reset)/([A-Za-z0-9_-]+)", self.text)
        return found[1] if found else None


class Environment:
    """A running test-environment: it makes worlds."""

    def __init__(
        self, control: str, token: str, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        self.control, self.token = control, token
        self._process = process

    @classmethod
    def start(
        cls, program: str | None = None, worlds_kept_warm: int = 2, data: str | None = None
    ) -> Environment:
        """Starts `streaksnap test-environment`. It ends when this process does, for it reads from
        a pipe that nothing else holds.
        """
        program = program or cls._find()
        command = [program, "test-environment", "--worlds-kept-warm", str(worlds_kept_warm)]
        data = data or os.environ.get("STREAKSNAP_TEST_DATA")
        if data:
            command += ["--data", data]
        with tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
                )
            except OSError as error:
                raise TestKitError(
                    "NOT_STARTED", f"{program} cannot be started: {error}"
                ) from error
            watchdog = threading.Timer(_START_SECONDS, process.kill)
            watchdog.start()
            assert process.stdout
            line = process.stdout.readline()
            watchdog.cancel()
            try:
                ready = json.loads(line)
                return cls(ready["control"], ready["token"], process)
            except (ValueError, KeyError, TypeError):
                process.terminate()
                process.wait()
                errors.seek(0)
                reason = errors.read()[-8192:].decode(errors="replace").strip()
                raise TestKitError(
                    "NOT_STARTED", f"{program} test-environment did not become ready. {reason}"
                ) from None

    @staticmethod
    def _find() -> str:
        folder = os.environ.get("STREAKSNAP_BIN")
        found = shutil.which("streaksnap", path=folder) if folder else shutil.which("streaksnap")
        if not found:
            place = (
                f"in the folder STREAKSNAP_BIN ({folder})"
                if folder
                else "on PATH; set STREAKSNAP_BIN"
            )
            raise TestKitError("NOT_STARTED", f"there is no streaksnap {place}")
        return found

    def end(self) -> None:
        """Ends it, and with it all its worlds, if this object has started it."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin and process.stdout
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def world(self, clock: str | None = None, settings: dict[str, str] | None = None) -> World:
        """Makes a world. The caller ends it.

        `clock` is what its clock shows at first, such as 2030-03-04T08:00:00Z; None for the
        present. `settings` are settings of the services by key, {"streaks.snap-window":
        "enforce"}; such a world takes about a second.
        """
        body: dict[str, Any] = {}
        if clock:
            body["clock"] = clock
        if settings:
            body["settings"] = settings
        return World(self, self.call("POST", "/worlds", body))

    def call(
        self,
        verb: str,
        path: str,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Any:
        """Calls a route of the control API; raises TestKitError for a refusal."""
        url = self.control + path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"Authorization": f"Bearer {self.token}"}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        reply = _send(verb, url, headers, content)
        if 200 <= reply.status < 300:
            return reply.json
        error = reply.json.get("error", {}) if isinstance(reply.json, dict) else {}
        message = error.get("message", f"{verb} {path} was answered with status {reply.status}")
        raise TestKitError(
            error.get("code", "BAD_REPLY"), message, error.get("field"), reply.status
        )


class Clock:
    """The clock of a world. Between moves it runs as the machine's does; it never goes back.

    When a move returns, nothing is under way: all work that became due up to that time is done,
    and what it has pushed and mailed is there.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> datetime:
        """What it shows."""
        return _instant(self._world._call("GET", "/clock")["now"])

    def set(self, instant: str | datetime) -> datetime:
        """Moves it to an instant; returns what it shows now."""
        return self._move({"now": instant if isinstance(instant, str) else rfc3339(instant)})

    def advance(
        self, *, days: int = 0, hours: int = 0, minutes: int = 0, seconds: int = 0
    ) -> datetime:
        """Moves it forward. Days have 24 hours."""
        return self._move({"advance_seconds": ((days * 24 + hours) * 60 + minutes) * 60 + seconds})

    def advance_to(self, wall_time: str, zone: str = "UTC") -> datetime:
        """Moves it to the next time at which a clock on the wall in `zone` shows `wall_time`, such
        as 21:00.
        """
        found = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)", wall_time)
        if not found:
            raise TestKitError(
                "VALIDATION_ERROR", f"“{wall_time}” must be between 00:00 and 23:59", field="wall_time"
            )
        local = self.now().astimezone(ZoneInfo(zone))
        target = local.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
        return self.set(target if target > local else target + timedelta(days=1))

    def _move(self, body: dict[str, Any]) -> datetime:
        return _instant(self._world._call("PUT", "/clock", body)["now"])


class World:
    """A private StreakSnap for one test: services, database, broker and stand-ins for what lies
    outside, on a free port.

    `url` is its public API: what the app under test is given as its server. `nats` and `postgres`
    say how to look into its broker and its database, which no test needs to.
    """

    def __init__(self, environment: Environment, reply: dict[str, Any]) -> None:
        self.environment = environment
        self.id: str = reply["id"]
        self.url: str = reply["url"]
        self.nats: dict[str, str] = reply["nats"]
        self.postgres: dict[str, str] = reply["postgres"]
        self.clock = Clock(self)
        self._photos = itertools.count(1)

    def _call(
        self,
        verb: str,
        path: str,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Any:
        return self.environment.call(verb, f"/worlds/{self.id}{path}", body, query)

    def wait_until_quiet(self) -> None:
        """Waits until nothing is under way: everything that was done has had its effects, and what
        it pushes and mails has arrived, as far as it is not due later. So it can be tested that
        something was not sent.

        `people`, `friends`, `snap`, `befriend`, `check_in`, `buy` and moves of the clock wait by
        themselves; after other changes, by `post` and the like or by the app under test, call it.
        While the database is slowed down or away it does not wait.
        """
        self._call("POST", "/quiet")

    def end(self) -> None:
        """Ends it and everything in it. What has ended already stays so."""
        try:
            self._call("DELETE", "")
        except TestKitError as error:
            if error.status != 404:
                raise

    # The public API

    def request(
        self,
        verb: str,
        path: str,
        json_body: Any = None,
        *,
        token: str | None = None,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> Response:
        """Calls the public API and gives the whole reply, whatever its status. Changes get an
        Idempotency-Key (PF-4).
        """
        fields = {"Accept": "application/json"}
        if token:
            fields["Authorization"] = f"Bearer {token}"
        if verb != "GET":
            fields["Idempotency-Key"] = str(uuid.uuid4())
        if json_body is not None:
            fields["Content-Type"] = "application/json"
            body = json.dumps(json_body).encode()
        return _send(verb, self.url + path, fields | (headers or {}), body)

    def call(self, verb: str, path: str, json_body: Any = None, **options: Any) -> Any:
        """Calls the public API without a user, or with `token`. Returns `data` of the reply;
        raises Refused.
        """
        return _data(self.request(verb, path, json_body, **options))

    # People

    def people(
        self,
        count: int = 1,
        *,
        friends: bool = False,
        accept_terms: bool = True,
        push: bool = False,
        time_zone: str = "UTC",
    ) -> list[Person]:
        """Registers people and signs them in.

        `friends` makes each a friend of every other, so that each pair has a streak (at most 20
        people then); `accept_terms` lets them post (AU-9); `push` registers a device. Numbers go
        on: the first of the next call is the next one.

        It returns when nothing is under way: the mails that verify addresses are there, and no
        push is, because devices are registered when the people are friends already.
        """
        body = {
            "count": count,
            "friends": friends,
            "terms": accept_terms,
            "push": push,
            "time_zone": time_zone,
        }
        return [Person(self, person) for person in self._call("POST", "/people", body)["people"]]

    def person(
        self, *, accept_terms: bool = True, push: bool = False, time_zone: str = "UTC"
    ) -> Person:
        """Registers one person."""
        return self.people(accept_terms=accept_terms, push=push, time_zone=time_zone)[0]

    def friends(self, *, push: bool = False, time_zone: str = "UTC") -> tuple[Person, Person]:
        """Registers two friends, who have a streak of 0, and no push yet."""
        one, other = self.people(2, friends=True, push=push, time_zone=time_zone)
        return one, other

    def photo(self) -> bytes:
        """A photo that no other call in this world has given."""
        return photo(next(self._photos))

    # Pushes and mails

    def pushes(
        self, to: Person | None = None, *, at_least: int = 0, within: float = 5
    ) -> list[Push]:
        """Pushes to a person's device, or all, oldest first. Waits until there are `at_least` so
        many, then answers with what there is. That none was sent shows when nothing is under way:
        see `wait_until_quiet`.
        """
        if to and to.push_token is None:
            raise TestKitError(
                "VALIDATION_ERROR",
                f"{to.name} has no device: people(push=True) registers one",
                field="to",
            )
        found = self._deliveries("/pushes", to.push_token if to else None, at_least, within)[
            "pushes"
        ]
        return [
            Push(
                push["to"], push.get("title") or "", push.get("body") or "", push.get("data") or {}
            )
            for push in found
        ]

    def push(self, kind: str, to: Person, within: float = 10) -> Push:
        """Waits for a push of one kind, such as streak_at_risk; returns the newest."""
        what = f"a push {kind} to {to.name}"
        return eventually(
            what, lambda: [push for push in self.pushes(to) if push.kind == kind][-1:], within
        )[0]

    def mails(self, to: str | None = None, *, at_least: int = 0, within: float = 5) -> list[Mail]:
        """Mails to an address, or all, oldest first. Waits until there are `at_least` so many,
        then answers with what there is.
        """
        found = self._deliveries("/mails", to, at_least, within)["mails"]
        return [
            Mail(mail["from"], mail["to"], mail["subject"], mail["text"], mail["raw"])
            for mail in found
        ]

    def mail(self, subject: str, to: Person, within: float = 10) -> Mail:
        """Waits for a mail whose subject has these words, in upper or lower case; returns the
        newest.
        """
        what = f"a mail “{subject}” to {to.email}"
        words = subject.lower()
        return eventually(
            what,
            lambda: [mail for mail in self.mails(to.email) if words in mail.subject.lower()][-1:],
            within,
        )[0]

    def delete_pushes(self) -> None:
        """Removes the pushes that were taken so far."""
        self._call("DELETE", "/pushes")

    def delete_mails(self) -> None:
        """Removes the mails that were taken so far."""
        self._call("DELETE", "/mails")

    def _deliveries(self, path: str, to: str | None, at_least: int, within: float) -> Any:
        query: dict[str, Any] = {"at_least": at_least, "within_seconds": int(-(-within // 1))}
        if to:
            query["to"] = to
        return self._call("GET", path, query=query)

    # Faults last until they are ended, at the latest until the world ends.

    def stop(self, service: str) -> None:
        """A service (see SERVICES) goes away: calls of it get UNAVAILABLE."""
        self._call("POST", f"/services/{service}/stop")

    def start(self, service: str) -> None:
        """A service comes back. It answers when this returns."""
        self._call("POST", f"/services/{service}/start")

    def slow_database(self, delay_ms: int) -> None:
        """Every round trip to the database takes so much longer, 0 to 10,000; 0 ends the fault."""
        self._call("PUT", "/database", {"delay_ms": delay_ms})

    def stop_database(self) -> None:
        """The database goes away: connections end, and new ones are refused."""
        self._call("PUT", "/database", {"away": True})

    def start_database(self) -> None:
        """The database is there and fast."""
        self._call("PUT", "/database", {})

    def set_expo(
        self,
        status: int = 200,
        tickets: dict[str, str] | None = None,
        receipts: dict[str, str] | None = None,
    ) -> None:
        """Changes how Expo answers: a status, and errors by push token, at once in tickets or
        later in receipts.
        """
        self._call(
            "PUT",
            "/expo",
            {"status": status, "tickets": tickets or {}, "receipts": receipts or {}},
        )

    def set_mail_server(self, refuses: str = "no") -> None:
        """Changes how the mail server answers: it refuses "no" mail, or all "temporarily" (451) or
        "permanently" (550).
        """
        self._call("PUT", "/mail", {"refuses": refuses})

    # What lies outside

    def buy(
        self,
        product: str,
        person: Person,
        *,
        event: str | None = None,
        expires_at: str | datetime | None = None,
        transaction_id: str | None = None,
    ) -> dict[str, str]:
        """Buys as a user would in the app's store: RevenueCat reports it to the server. It returns
        when that has taken effect (BI-1).

        `product` is one of the store, such as premium_monthly or recovery_token_pack_3; `event`
        RevenueCat's type. Returns `event_id` and `transaction_id`.
        """
        body: dict[str, Any] = {"user_id": person.id, "product_id": product}
        if event:
            body["type"] = event
        if expires_at:
            body["expires_at"] = expires_at if isinstance(expires_at, str) else rfc3339(expires_at)
        if transaction_id:
            body["transaction_id"] = transaction_id
        made: dict[str, str] = self._call("POST", "/purchases", body)
        return made

    def apple_token(self, subject: str, email: str | None = None, nonce: str | None = None) -> str:
        """What an iPhone gives the app after Sign in with Apple, for POST /api/auth/apple."""
        body = (
            {"subject": subject}
            | ({"email": email} if email else {})
            | ({"nonce": nonce} if nonce else {})
        )
        return str(self._call("POST", "/apple-tokens", body)["identity_token"])


class Person:
    """A registered user of a world, who stays signed in however far the clock is moved.

    `id` is the account: what the API calls `id` in profiles, and `user_id` wherever another thing
    is named beside it. `get`, `post`, `put`, `patch` and `delete` return `data` of the reply and
    raise Refused.
    """

    def __init__(self, world: World, reply: dict[str, Any]) -> None:
        self.world = world
        self.id: str = reply["user_id"]
        self.username: str = reply["username"]
        self.name: str = reply["name"]
        self.email: str = reply["email"]
        self.password: str = reply["password"]
        self.push_token: str | None = reply.get("push_token")
        self.access_token: str = reply["access_token"]
        self.refresh_token: str | None = reply.get("refresh_token")

    def __repr__(self) -> str:
        return f"<{self.name} {self.id}>"

    def request(self, verb: str, path: str, json_body: Any = None, **options: Any) -> Response:
        """Calls the API as this person and gives the whole reply. After the clock was moved it
        signs in again when it must.
        """
        reply = self.world.request(verb, path, json_body, token=self.access_token, **options)
        # By the reason: it is the same word on every route.
        if Refused(reply.status, reply.json).reason in _TOKEN_REASONS:
            self.sign_in()
            reply = self.world.request(verb, path, json_body, token=self.access_token, **options)
        return reply

    def sign_in(self) -> None:
        """Signs in with e-mail and password."""
        reply = self.world._call(
            "POST", "/tokens", {"email": self.email, "password": self.password}
        )
        self.access_token, self.refresh_token = reply["access_token"], reply.get("refresh_token")

    def get(self, path: str) -> Any:
        """Reads."""
        return _data(self.request("GET", path))

    def post(self, path: str, json_body: Any = None) -> Any:
        """Makes or does something."""
        return _data(self.request("POST", path, json_body))

    def put(self, path: str, json_body: Any = None) -> Any:
        """Changes something."""
        return _data(self.request("PUT", path, json_body))

    def patch(self, path: str, json_body: Any = None) -> Any:
        """Changes parts of something."""
        return _data(self.request("PATCH", path, json_body))

    def delete(self, path: str, json_body: Any = None) -> Any:
        """Removes something."""
        return _data(self.request("DELETE", path, json_body))

    def upload(
        self,
        path: str,
        part: str,
        content: bytes,
        fields: dict[str, str] | None = None,
        name: str = "photo.png",
    ) -> Any:
        """Sends a file and fields as a form."""
        boundary = uuid.uuid4().hex
        pieces = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{text}\r\n'.encode()
            for key, text in (fields or {}).items()
        ]
        file = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="{part}"; filename="{name}"\r\n'
        )
        pieces += [
            file.encode(),
            b"Content-Type: application/octet-stream\r\n\r\n",
            content,
            f"\r\n--{boundary}--\r\n".encode(),
        ]
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return _data(self.request("POST", path, headers=headers, body=b"".join(pieces)))

    # What most tests do

    def snap(self, caption: str | None = None, streaks: str = "all") -> Any:
        """Posts a new photo to all streaks of the person, or to one. It returns when nothing is
        under way (`World.wait_until_quiet`).
        """
        fields = {"streak_ids": streaks} | ({"caption": caption} if caption else {})
        posted = self.upload("/api/photos/upload", "photo", self.world.photo(), fields)
        self.world.wait_until_quiet()
        return posted

    def befriend(self, friend: Person) -> str:
        """Becomes friends with another person; returns the id of the streak that begins, when
        nothing is under way: what it has pushed is there.
        """
        asked = self.post("/api/friends/request", {"user_id": friend.id})
        accepted = friend.put(
            f"/api/friends/{asked['friendship_id']}/respond", {"action": "accept"}
        )
        if not accepted.get("streak"):
            raise TestKitError(
                "NO_STREAK",
                f"{self.name} and {friend.name} have no streak: {accepted.get('streak_reason')}",
            )
        self.world.wait_until_quiet()
        return str(accepted["streak"]["streak_id"])

    def streak_with(self, friend: Person) -> Any:
        """The active streak with a friend; raises TestKitError when there is none. One that broke
        is read by its id.
        """
        for streak in self.get("/api/streaks")["streaks"]:
            if (streak.get("friend") or {}).get("user_id") == friend.id:
                return streak
        raise TestKitError("NO_STREAK", f"{self.name} and {friend.name} have no active streak")

    def streak(self, streak_id: str) -> Any:
        """A streak of the person's, active or not."""
        return self.get(f"/api/streaks/{streak_id}")["streak"]

    def check_in(self, mood: int = 8, energy: int = 7) -> Any:
        """Checks in, at what the world's clock shows. It returns when nothing is under way."""
        time_of_check_in = rfc3339(self.world.clock.now())
        body = {"mood_score": mood, "energy_level": energy, "check_in_time": time_of_check_in}
        reply = self.post("/api/mobile/streaks/check-in", body)
        self.world.wait_until_quiet()
        return reply


def _data(reply: Response) -> Any:
    """`data` of a success; the whole body where it has none, as of a file."""
    if not 200 <= reply.status < 300:
        raise Refused(reply.status, reply.json)
    if isinstance(reply.json, dict) and "data" in reply.json:
        return reply.json["data"]
    return reply.json if reply.json is not None else reply.body


# pytest

_workers_environment = pytest.StashKey[Environment]()


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker `world` known."""
    config.addinivalue_line(
        "markers", "world(clock=None, settings=None): how the test's world begins"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """pytest-xdist: starts one environment for all workers, before the first of them."""
    if "STREAKSNAP_TEST_CONTROL" in os.environ:
        return
    if _workers_environment not in node.config.stash:
        node.config.stash[_workers_environment] = Environment.start()
    environment = node.config.stash[_workers_environment]
    node.workerinput["streaksnap"] = (environment.control, environment.token)


def pytest_unconfigure(config: pytest.Config) -> None:
    """pytest-xdist: ends the workers' environment."""
    if _workers_environment in config.stash:
        config.stash[_workers_environment].end()


@pytest.fixture(scope="session")
def streaksnap(pytestconfig: pytest.Config) -> Iterator[Environment]:
    """The test-environment of all tests."""
    shared = getattr(pytestconfig, "workerinput", {}).get("streaksnap")
    if shared:
        yield Environment(*shared)
    elif "STREAKSNAP_TEST_CONTROL" in os.environ:
        yield Environment(
            os.environ["STREAKSNAP_TEST_CONTROL"], os.environ["STREAKSNAP_TEST_TOKEN"]
        )
    else:
        environment = Environment.start()
        yield environment
        environment.end()


@pytest.fixture
def world(request: pytest.FixtureRequest, streaksnap: Environment) -> Iterator[World]:
    """A world of the test's own, which ends after it. `@pytest.mark.world(clock=…, settings=…)`
    says how it begins.
    """
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("world"))):
        options |= marker.kwargs
    own = streaksnap.world(**options)
    yield own
    own.end()
