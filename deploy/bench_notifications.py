"""deploy/dev bench notifications [--small]: an event that reaches many people at once.

It fills the tables of `notifications` by SQL with people who have a device each, writes events into the outbox of `streaks`, from which they
go through the bus as all events do, and has the pushes handed to the stand-in for Expo's service. It measures

  reminders   10,000 StreaksAtRisk in one minute: until all of them were handed over, with the limit of 500 pushes a second
  event       100,000 SnapCounted, of 100,000 readers: until all entries and pushes are queued, entries a second, CPU of each process
              for an entry, memory of `notifications` before, meanwhile and after; then pushes handed over a second, with that limit
  midnight    100,000 StreakBroken, of two readers each: the same
  hand-over   the pushes that are left, with the limit lifted (notifications.push-rate)

BENCH_PEOPLE  with a device (1000000)      BENCH_READERS  of the event (100000)      BENCH_BREAKS   at midnight (100000)
BENCH_DUE     reminders (10000)            BENCH_TIMEOUT  longest to wait for anything, in seconds (600)
--small makes a hundredth of it: a smoke run.
"""
import datetime, json, os, shutil, signal, subprocess, sys, tempfile, time

from bench_database import Session

TICK = os.sysconf("SC_CLK_TCK")
AUTHOR = "00000000-0000-7000-9000-000000000001"


class Numbers:
    """How much of everything."""

    def __init__(self, is_small):
        def number(name, default):
            return max(1, int(os.environ.get(name, default // 100 if is_small else default)))

        self.people, self.readers = number("BENCH_PEOPLE", 1_000_000), number("BENCH_READERS", 100_000)
        self.breaks, self.due = number("BENCH_BREAKS", 100_000), number("BENCH_DUE", 10_000)
        self.timeout = int(os.environ.get("BENCH_TIMEOUT", 600))
        if self.people < self.due + self.readers or self.people < 2 * self.breaks:
            sys.exit("BENCH_PEOPLE must be at least BENCH_DUE + BENCH_READERS, and twice BENCH_BREAKS")


class Expo:
    """The stand-in for Expo's push service that the tests use, in a process of its own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="streaksnap-expo-")
        # Without its limit: that is what is measured.
        with open(f"{self.folder}/control.json", "w") as file:
            json.dump({"rate": 1 << 40}, file)
        self.process = subprocess.Popen([sys.executable, "Tests/Support/Expo/serve.py", self.folder, "0"])
        end = time.monotonic() + 30
        while not os.path.exists(f"{self.folder}/port"):
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit("the stand-in for Expo's push service did not start")
            time.sleep(0.02)
        self.url = "http://127.0.0.1:" + open(f"{self.folder}/port").read().strip()

    def cpu(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def taken(self):
        """How many pushes it has taken."""
        try:
            with open(f"{self.folder}/pushes.jsonl", "rb") as file:
                return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
        except FileNotFoundError:
            return 0

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def midday():
    """A zone, as minutes and by name, in which no quiet hours are near: it is between 11 and 13 o'clock there."""
    hours = 12 - datetime.datetime.now(datetime.timezone.utc).hour
    return hours * 60, f"{'-' if hours < 0 else '+'}{abs(hours):02}:00"


def person(n):
    """SQL: the id of the n-th person, as text."""
    return f"('00000000-0000-7000-8000-' || lpad(to_hex({n}), 12, '0'))"


def seed(session, people, zone):
    session.ask(f"""INSERT INTO profile_replica (user_id, version, username, display_name, avatar_key, time_zone, time_zone_since, status)
        SELECT {person('n')}::uuid, 1, 'bench' || n, 'Bench ' || n, '', '{zone}', '2026-01-01Z'::timestamptz, 1
        FROM generate_series(0, {people - 1}) AS n
        UNION ALL SELECT '{AUTHOR}'::uuid, 1, 'author', 'Author', '', '{zone}', '2026-01-01Z'::timestamptz, 1""")
    session.ask(f"""INSERT INTO device (id, token, user_id, platform, app_version, locale, registered_at)
        SELECT gen_random_uuid(), 'ExponentPushToken[bench' || n || ']', {person('n')}::uuid, 1 + n % 2, '1.0.0',
            CASE n % 4 WHEN 0 THEN 'de' ELSE 'en' END, now()
        FROM generate_series(0, {people - 1}) AS n""")
    session.ask("VACUUM ANALYZE profile_replica, device")
    session.ask("CHECKPOINT")


def text(field, value):
    """SQL: a field of a protobuf message that is a string of 36 characters, an id."""
    return f"'\\x{field << 3 | 2:02x}24'::bytea || convert_to({value}, 'UTF8')"


def day(field, value):
    """SQL: the same for a date."""
    return f"'\\x{field << 3 | 2:02x}0a'::bytea || convert_to('{value}', 'UTF8')"


def varint(number):
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def timestamp(field, seconds):
    """SQL: a google.protobuf.Timestamp."""
    content = b"\x08" + varint(seconds)
    return f"'\\x{(bytes([field << 3 | 2, len(content)]) + content).hex()}'::bytea"


def event_id(series, n):
    """SQL: the id of the n-th event of a series."""
    return f"('01990000-0000-7{series:03x}-8000-' || lpad(to_hex({n}), 12, '0'))::uuid"


def emit(session, series, kind, aggregate, body, count):
    """Writes events into the outbox of `streaks`; `aggregate` and `body` are SQL over n = 0…. When it returns they are committed."""
    event = event_id(series, "n")
    session.ask(f"""INSERT INTO streaks.outbox (id, aggregate, subject, trace, request_id, body)
        SELECT {event}, {aggregate}, 'evt.streaks.v1.{kind}', '', '', {body} FROM generate_series(0, {count - 1}) AS n ORDER BY n""")


class Run:
    """What is measured of one system."""

    def __init__(self, system, expo, numbers):
        self.system, self.expo, self.numbers = system, expo, numbers
        self.session = Session.of_system(system, "notifications")
        self.largest = 0

    def cpu(self):
        return self.system.cpu() | {"stand-in": self.expo.cpu()}

    def memory(self):
        """Resident and private megabytes of `notifications`."""
        resident, private = self.system.memory()["notifications"]
        self.largest = max(self.largest, private)
        return f"{resident / 1024:.1f} resident, {private / 1024:.1f} private"

    def count(self, table, condition="true"):
        return self.session.number(f"SELECT count(*) FROM {table} WHERE {condition}")

    def until(self, what, is_true):
        """- Returns: the seconds it took."""
        start = time.monotonic()
        while not is_true():
            if time.monotonic() - start > self.numbers.timeout:
                sys.exit(f"{what}: not within {self.numbers.timeout} s; see {self.system.folder}")
            self.memory()
            time.sleep(0.1)
        return time.monotonic() - start

    def costs(self, before, count, unit):
        after = self.cpu()
        used = {name: (after[name] - before.get(name, 0)) / count * 1e6 for name in after}
        shown = sorted((name for name in used if used[name] >= 1), key=lambda name: -used[name])
        print(f"  CPU in µs {unit}: {sum(used.values()):.0f}: " + ", ".join(f"{name} {used[name]:.0f}" for name in shown), flush=True)

    def reminders(self, date):
        count = self.numbers.due
        end = int(time.time()) + 3 * 3_600
        streak = person("n + 16777216")
        risk = f"{text(1, streak)} || {text(2, chr(39) + AUTHOR + chr(39))} || '\\x1809'::bytea"
        # Two ids of 38 bytes each with their heads, and a count of two: 78 bytes.
        body = f"{text(1, person('n'))} || {day(2, date)} || {timestamp(3, end)} || '\\x224e'::bytea || {risk}"
        before = self.cpu()
        emit(self.session, 1, "StreaksAtRisk", person("n"), body, count)
        queued = self.until("reminders are queued", lambda: self.count("delivery") >= count)
        sent = queued + self.until("reminders are handed over", lambda: self.count("delivery", "state = 1") >= count)
        print(f"\n{count} due reminders were queued in {queued:.1f} s and handed over {sent:.1f} s after they were due; the stand-in has "
              f"{self.expo.taken()}", flush=True)
        self.costs(before, count, "for each")
        if self.expo.taken() != count:
            sys.exit("that is another number than were due")
        if sent > 60:
            print("  MORE THAN A MINUTE")

    def flood(self, title, series, kind, body, count, readers):
        """Events of which each has so many readers."""
        entries = self.count("notification")
        total = count * readers
        print(f"\n{title}: notifications, MB: {self.memory()} before", flush=True)
        self.largest = 0
        before = self.cpu()
        emit(self.session, series, kind, person(f"n + {series << 28}"), body, count)
        # Looking for the last event costs nothing; counting all entries again and again would be measured too.
        last = f"event_id = {event_id(series, count - 1)} AND feature = 'log'"
        took = self.until(f"the last event of {title}", lambda: self.count("inbox", last) == 1)
        # Those that were put aside, if there are any.
        took += self.until(f"{title} is queued", lambda: self.count("notification") >= entries + total)
        private = self.largest / 1024
        print(f"  {count} events, {total} entries: queued in {took:.1f} s, {total / took:.0f} entries a second; "
              f"MB: {self.memory()} after, {private:.1f} private at most", flush=True)
        self.costs(before, total, "for each entry")
        time.sleep(1)
        if self.count("notification") != entries + total:
            sys.exit(f"{self.count('notification') - entries} entries were made of {total}")

    def handed_over(self, seconds):
        """Pushes a second, from now on."""
        sent, start = self.count("delivery", "state > 0"), time.monotonic()
        before = self.cpu()
        end = start + seconds
        left = "SELECT count(*) FROM (SELECT 1 FROM delivery WHERE state = 0 AND due_at <= now() LIMIT 1) AS due"
        while time.monotonic() < end and self.session.number(left) > 0:
            time.sleep(0.2)
            self.memory()
        took, more = time.monotonic() - start, self.count("delivery", "state > 0") - sent
        if more == 0:
            print("  no push was left to hand over")
            return
        print(f"  {more} pushes were handed over in {took:.1f} s: {more / took:.0f} a second", flush=True)
        self.costs(before, more, "for each push")


def notifications(make_system, is_small):
    """`make_system(settings)` starts a system with these variables of the environment."""
    numbers = Numbers(is_small)
    offset, zone = midday()
    date = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=offset)).date().isoformat()
    author = f"'{AUTHOR}'"
    expo, system = Expo(), None
    try:
        settings = {"STREAKSNAP_NOTIFICATIONS_PUSH_URL": expo.url}
        system = make_system(settings)
        run = Run(system, expo, numbers)
        seed(run.session, numbers.people, zone)
        print(f"{numbers.people} people with a device each; {os.cpu_count()} processors", flush=True)
        run.reminders(date)
        # Spread over the tables, and none who has had a reminder: 7919 is prime.
        reader = person(f"{numbers.due} + n::bigint * 7919 % {numbers.people - numbers.due}")
        streak = person(f"n + {2 << 28}")
        snap = f"{text(1, streak)} || {text(2, author)} || {text(3, reader)} || {day(4, date)} || '\\x3005'::bytea"
        run.flood("an event", 2, "SnapCounted", snap, numbers.readers, 1)
        print("  with the limit of 500 a second:")
        run.handed_over(5 if is_small else 20)
        streak = person(f"n + {3 << 28}")
        broken = f"{text(1, streak)} || {text(2, person('2 * n'))} || {text(3, person('2 * n + 1'))} || '\\x2009'::bytea || {day(6, date)}"
        run.flood("midnight", 3, "StreakBroken", broken, numbers.breaks, 2)
        run.session.close()
        system.restart(settings | {"STREAKSNAP_NOTIFICATIONS_PUSH_RATE": "100000"})
        run.session = Session.of_system(system, "notifications")
        print("\nwithout the limit:")
        run.handed_over(60)
        run.session.close()
    finally:
        if system:
            system.stop()
        expo.stop()
