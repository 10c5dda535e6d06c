#!/usr/bin/env python3
"""Makes the fixture that `UpgradeTests` start newer code on: a small world that this release has lived a month in.

    python3 Tests/EndToEndTests/Fixtures/releases/make.py BINARIES VERSION

BINARIES is the folder with the release's executables (`deploy/build --show-bin-path`), VERSION names the fixture, VERSION.tar.xz beside this
file: the database as SQL, blobs and secrets, what everybody was answered (replies.json), and what was under way at the instant of the dump
(world.json). The broker's streams are not in it: it drops messages of a week ago by the machine's clock, and services emit anew
from their outboxes what was not consumed. Run it at a release, as root or as a user who may run PostgreSQL, and commit the file.
"""

import datetime
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
import zoneinfo
import zlib

HERE = pathlib.Path(__file__).resolve().parent
PASSWORD = "correct horse battery"
START = "2031-03-01T09:00:00Z"
DAYS = 31
# Whose replies the test asks for again, by person. {streak}, {habit} and so on are filled in by `paths`.
EVERYBODY = """
    /api/users/me /api/users/me/stats /api/users/me/achievements /api/users/me/calendar /api/friends /api/friends/requests /api/blocks
    /api/circles /api/streaks /api/photos/feed /api/prompts/today /api/mobile/streaks/status /api/mobile/streaks/history?days=30
    /api/mobile/streaks/leaderboard?scope=global /api/mobile/streaks/milestones /api/mobile/tracking /api/mobile/xp /api/mobile/badges
    /api/mobile/unlocks /api/streaks/typed /api/streaks/power-ups /api/habits /api/habits/today /api/habits/categories
    /api/habits/statistics?period=week /api/habits/settings /api/posts?mine=true /api/places/cities /api/notifications?limit=100
    /api/notifications/unread-count /api/users/me/notification-preferences /api/billing/entitlements /api/recovery/balance /api/wallet
    /api/store/catalog
""".split()


DIFFERENT = object()


class Refused(Exception):
    """The API refused a call."""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def png(number):
    """A small picture of its own for each number: equal bytes are the same snap (PH-3)."""

    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    row = b"\0" + bytes([number & 255, number * 7 & 255, number >> 8 & 255]) * 32
    header = (32).to_bytes(4, "big") + (24).to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(row * 24)) + chunk(b"IEND", b"")


class Home:
    """The system that is played with."""

    def __init__(self, binaries):
        self.binaries, self.folder = binaries, pathlib.Path(tempfile.mkdtemp(prefix="streaksnap-release-"))
        self.folder.chmod(0o755)
        self.data, self.port, self.database_port = self.folder / "data", free_port(), free_port()
        self.pictures = 0
        self.process = None

    def start(self):
        ready = self.folder / "ready"
        environment = {**os.environ, "STREAKSNAP_AUTH_ADMIN_SECOND_FACTOR": "enrolled", "STREAKSNAP_BILLING_WEBHOOK_SECRET": "release-fixture-secret"}
        self.process = subprocess.Popen(
            [
                self.binaries / "streaksnap", "up", "--dev-clock", "--bcrypt-cost", "4", "--port", str(self.port), "--postgres-port",
                str(self.database_port), "--data", self.data, "--ready-file", ready, "--log-level", "error",
            ],
            env=environment, start_new_session=True,
        )
        while not ready.exists():
            if self.process.poll() is not None:
                raise Refused(f"streaksnap ended with {self.process.returncode}")
            time.sleep(0.1)

    def hold_consumers(self, services):
        """Lets these services answer requests, but consume no event until the connection that is returned ends."""
        tables = ", ".join(f"{service}.inbox" for service in services)
        command = ["psql", *self.place(), "-X", "-q", "-A", "-t"]
        holder = subprocess.Popen(command, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        holder.stdin.write(f"BEGIN; LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE; SELECT 'held';\n")
        holder.stdin.flush()
        if holder.stdout.readline().strip() != "held":
            raise Refused("the inboxes cannot be locked")
        return holder

    def sql(self, text):
        return self.psql(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text])

    def environment(self):
        return {**os.environ, "PGPASSWORD": (self.data / "secrets/postgres-admin").read_text().strip()}

    def place(self):
        return ["-h", "127.0.0.1", "-p", str(self.database_port), "-U", "postgres", "-d", "streaksnap"]

    def psql(self, arguments, program="psql"):
        return subprocess.run([program, *self.place(), *arguments], env=self.environment(), check=True, capture_output=True, text=True).stdout

    def call(self, verb, path, token=None, body=None, form=None, headers=()):
        headers = dict(headers)
        data = None
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if form is not None:
            boundary = uuid.uuid4().hex
            headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
            parts = []
            for name, value in form.items():
                kind = f'; filename="{name}.png"\r\nContent-Type: image/png' if isinstance(value, bytes) else ""
                content = value if isinstance(value, bytes) else str(value).encode()
                parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{kind}\r\n\r\n'.encode() + content + b"\r\n")
            data = b"".join(parts) + f"--{boundary}--\r\n".encode()
        elif verb != "GET":
            headers["Content-Type"] = "application/json"
            data = json.dumps(body or {}).encode()
        if verb != "GET":
            headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data, headers=headers, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=150) as reply:
                text = reply.read()
        except urllib.error.HTTPError as error:
            raise Refused(f"{verb} {path}: {error.code} {error.read().decode()[:600]}") from None
        return json.loads(text) if text else None

    def now(self):
        return self.call("GET", "/api/dev/clock")["data"]["now"]

    def travel_to(self, text):
        self.call("POST", "/api/dev/clock", body={"set": text})

    def picture(self):
        self.pictures += 1
        return png(self.pictures)


class Person:
    def __init__(self, home, name, zone, **further):
        self.home, self.name, self.zone = home, name, zoneinfo.ZoneInfo(zone)
        self.email = f"{name}@example.com"
        reply = home.call("POST", "/api/auth/register", body={
            "email": self.email, "password": PASSWORD, "username": name, "display_name": name.capitalize(), "time_zone": zone, **further,
        })["data"]
        self.id, self.token = reply["user"]["id"], reply["access_token"]
        self.post("/api/users/me/terms", {"version": "2026-01"})

    def sign_in(self):
        reply = self.home.call("POST", "/api/auth/login", body={"email": self.email, "password": PASSWORD})["data"]
        self.token, self.refresh = reply["access_token"], reply["refresh_token"]

    def get(self, path):
        return self.home.call("GET", path, self.token)

    def post(self, path, body=None, **more):
        return self.home.call("POST", path, self.token, body, **more)["data"]

    def put(self, path, body=None):
        return self.home.call("PUT", path, self.token, body)["data"]

    def befriend(self, other):
        friendship = self.post("/api/friends/request", {"username": other.name})["friendship_id"]
        return other.put(f"/api/friends/{friendship}/respond", {"action": "accept"})

    def snap(self, caption=""):
        return self.post("/api/photos/upload", form={"photo": self.home.picture(), "streak_ids": "all", "caption": caption})

    def check_in(self, **fields):
        return self.post("/api/mobile/streaks/check-in", {"mood_score": 8, "energy_level": 7, "check_in_time": self.home.now(), **fields})


def live(home):
    """The month. - Returns: the people whose replies are compared."""
    home.travel_to(START)
    names = [
        ("ada", "Europe/Berlin"), ("ben", "America/New_York"), ("cleo", "Asia/Kathmandu"), ("dan", "UTC"), ("eve", "Europe/London"),
        ("fay", "Pacific/Auckland"), ("gil", "America/Los_Angeles"), ("hana", "Asia/Tokyo"),
    ]
    people = {name: Person(home, name, zone) for name, zone in names}
    ada, ben, cleo, dan, eve, fay, gil, hana = people.values()
    home.sql(f"UPDATE auth.account SET is_admin = true WHERE id = '{fay.id}'")
    webhook(home, hana.id, "INITIAL_PURCHASE", product_id="premium_annual", entitlement_ids=["premium"], days=365)
    for person in people.values():
        person.sign_in()
    ada.befriend(ben)
    cleo.befriend(dan)
    ada.befriend(dan)
    circle = eve.post("/api/circles", {"name": "Early birds"})
    for person in [fay, gil]:
        person.post("/api/circles/join", {"code": circle["invite"]["code"]})
    eve.put("/api/mobile/tracking/goals", {"steps": 8000})
    ada.put("/api/users/me/push-token", {"push_token": "ExponentPushToken[release-ada]", "platform": "ios"})
    ben.put("/api/users/me/notification-preferences", {"quiet_hours": True, "quiet_start_hour": 23, "quiet_end_hour": 6})
    habits = [
        {"name": "Read", "target_value": 10, "unit": "pages", "schedule": {"type": "daily"}},
        {"name": "Run", "schedule": {"type": "times_per_week", "times": 3}},
        {"name": "Swim", "schedule": {"type": "weekdays", "weekdays": [1, 3, 5]}},
        {"name": "Water plants", "schedule": {"type": "every_n_days", "every": 3}},
        {"name": "Rent", "schedule": {"type": "days_of_month", "days": [1, 15]}},
    ]
    ids = [hana.post("/api/habits", habit)["id"] for habit in habits]
    for day in range(DAYS):
        date = datetime.date(2031, 3, 1) + datetime.timedelta(days=day)
        # Noon in London is one date everywhere but in Auckland and Los Angeles' night.
        home.travel_to(f"{date}T12:30:00Z")
        for person in people.values():
            person.sign_in()
        ada.snap("Good morning" if day % 5 == 0 else "")
        ben.snap()
        if day < 20:
            cleo.snap()
        dan.snap()
        if day not in (11, 12, 25):
            eve.check_in(steps=8000 + day)
        if day < 27:
            fay.check_in()
        gil.post("/api/streaks/typed/recipe_creation/activity")
        if day % 2 == 0:
            gil.post("/api/streaks/typed/healthy_eating/activity")
        for person in [eve, fay] if day % 3 else [eve, fay, gil]:
            person.post(f"/api/circles/{circle['circle_id']}/check-in")
        hana.post(f"/api/habits/{ids[0]}/completions", {"value": 4 + day % 8})
        if day % 7 in (0, 2, 4):
            hana.post(f"/api/habits/{ids[1]}/completions", {"note": "Along the river"} if day % 4 == 0 else {})
        if day % 3 == 0:
            hana.post(f"/api/habits/{ids[3]}/completions")
        if day == 3:
            place(home, ada, ben, dan)
        if day == 9:
            eve.post("/api/mobile/streaks/pause", {"resume_date": "2031-03-13", "reason": "illness"})
        if day == 15:
            hana.post(f"/api/habits/{ids[2]}/archive")
            ben.post("/api/reports", {"subject_type": "user", "subject_id": gil.id, "reason": "spam"})
            gil.post("/api/blocks", {"user_id": dan.id})
            webhook(home, ada.id, "NON_RENEWING_PURCHASE", product_id="tokens_3")
    return people, circle["circle_id"], ids


def place(home, ada, ben, dan):
    post = ada.post("/api/posts", form={"photo": home.picture(), "latitude": "52.52", "longitude": "13.405", "caption": "Brandenburg Gate"})
    for person, vote in [(ben, "up"), (dan, "down")]:
        person.put(f"/api/posts/{post['post']['id'] if 'post' in post else post['id']}/vote", {"vote": vote})


def webhook(home, user, kind, product_id, entitlement_ids=(), days=0):
    now = datetime.datetime.fromisoformat(home.now().replace("Z", "+00:00")).timestamp() * 1000
    event = {
        "id": str(uuid.uuid4()), "type": kind, "app_user_id": user, "original_app_user_id": user, "product_id": product_id,
        "entitlement_ids": list(entitlement_ids), "event_timestamp_ms": int(now), "purchased_at_ms": int(now), "environment": "PRODUCTION",
        "store": "APP_STORE", "transaction_id": str(uuid.uuid4().int)[:12], "original_transaction_id": str(uuid.uuid4().int)[:12], "period_type": "NORMAL",
        "expiration_at_ms": int(now) + days * 86_400_000 if days else None,
    }
    home.call("POST", "/api/webhooks/revenuecat", body={"api_version": "1.0", "event": event}, headers={"Authorization": "release-fixture-secret"})


def ask(people, circle, habits):
    """What everybody is answered."""
    replies = {}
    for name, person in people.items():
        person.sign_in()
        paths = list(EVERYBODY)
        for streak in person.get("/api/streaks")["data"]["streaks"]:
            key = streak.get("streak_id") or streak["id"]
            paths += [f"/api/streaks/{key}", f"/api/streaks/{key}/calendar?month=2031-03", f"/api/photos/history/{key}"]
        if name in ("eve", "fay", "gil"):
            paths += [f"/api/circles/{circle}", f"/api/circles/{circle}/streak", f"/api/mobile/streaks/leaderboard?scope=circle&circle_id={circle}"]
        if name == "hana":
            paths += [f"/api/habits/{one}{end}" for one in habits for end in ("", "/calendar", "/statistics", "/completions")]
        if name == "fay":
            paths += ["/api/admin/moderation/reports", "/api/admin/analytics/streaks"]
        replies[name] = {}
        for path in paths:
            try:
                replies[name][path] = person.get(path)["data"]
            except Refused as refusal:
                print(f"left out for {name}: {refusal}", file=sys.stderr)
    return replies


def steady(first, second):
    """What two answers of different times have in common; links without the signature that ends."""
    if isinstance(first, dict) and isinstance(second, dict):
        pairs = {key: steady(value, second[key]) for key, value in first.items() if key in second}
        return {key: value for key, value in pairs.items() if value is not DIFFERENT}
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [None if value is DIFFERENT else value for value in map(steady, first, second)]
    if isinstance(first, str) and isinstance(second, str) and "?" in first and first.partition("?")[0] == second.partition("?")[0]:
        return first.partition("?")[0]
    return first if first == second else DIFFERENT


def quiet(home):
    """Waits until every event has left its outbox and nothing more is consumed."""
    seen = None
    while True:
        services = ["auth", "social", "streaks", "media", "notifications", "billing"]
        left = sum(int(home.sql(f"SELECT count(*) FROM {one}.outbox WHERE published_at IS NULL")) for one in services)
        handled = [home.sql(f"SELECT count(*) FROM {one}.inbox") for one in services]
        if left == 0 and handled == seen:
            return
        seen = handled
        time.sleep(1)


def leave_under_way(home):
    """What no service has finished when everything is killed, and what must come of it."""
    rex, sam, tom = (Person(home, name, "UTC") for name in ("rex", "sam", "tom"))
    for person in (rex, sam, tom):
        person.sign_in()
    rex.befriend(sam)
    quiet(home)
    # From here on their events wait.
    holder = home.hold_consumers(["streaks", "notifications"])
    request = rex.post("/api/friends/request", {"username": "tom"})["friendship_id"]
    tom.post("/api/posts", form={"photo": home.picture(), "latitude": "48.85", "longitude": "2.35", "caption": "Louvre"})
    sam.put("/api/users/me", {"display_name": "Samuel", "time_zone": "Asia/Kathmandu"})
    return holder, {
        "password": PASSWORD, "friendship_id": request, "people": {person.name: person.id for person in (rex, sam, tom)},
        "expected": {"tom is notified": "friend_request", "sam's zone in streaks": "Asia/Kathmandu"},
    }


def main():
    binaries, version = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    home = Home(binaries)
    try:
        home.start()
        people, circle, habits = live(home)
        home.travel_to("2031-03-31T13:00:00Z")
        quiet(home)
        before = ask(people, circle, habits)
        home.travel_to("2031-03-31T13:20:00Z")
        quiet(home)
        replies = steady(before, ask(people, circle, habits))
        holder, under_way = leave_under_way(home)
        instant = home.now()
        out = home.folder / version
        out.mkdir()
        dump = home.psql(["--no-comments"], program="pg_dump")
        holder.kill()
        holder.wait()
        (out / "database.sql").write_text(dump.replace("CREATE SCHEMA ", "CREATE SCHEMA IF NOT EXISTS "))
        (out / "replies.json").write_text(json.dumps(replies, indent=0, sort_keys=True))
        people_file = {"now": instant, "password": PASSWORD, "people": {name: {"id": one.id, "email": one.email} for name, one in people.items()}}
        (out / "world.json").write_text(json.dumps({**people_file, "under_way": under_way}, indent=1))
        for name in ("secrets", "blobs"):
            shutil.copytree(home.data / name, out / name)
        target = HERE / f"{version}.tar.xz"
        subprocess.run(["tar", "--sort=name", "--owner=0", "--group=0", "-C", out, "-cf", target, "--use-compress-program=xz -9e", "."], check=True)
        print(f"{target}: {target.stat().st_size} bytes")
    finally:
        if home.process:
            try:
                os.killpg(home.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if "KEEP" not in os.environ:
            shutil.rmtree(home.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
