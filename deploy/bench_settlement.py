"""deploy/dev bench settlement: how fast streaks that are due at one midnight are settled, and that what is not due costs nothing.

It starts a private PostgreSQL and NATS and the `streaks` executable, once or twice, on loopback; fills the tables by SQL with streaks
whose date ended a day ago; and measures, from the first settled streak on:

  settled    until nothing is due any more
  totals     until the totals of all people concerned are counted anew
  published  until the broker has every event (bounded by BENCH_PUBLISHED seconds; what is left then is printed)
  wait       longest that a request for a streak waits for a batch, of one try every 50 ms
  CPU        µs of user and system time for each streak until nothing was due, the events that left meanwhile included

BENCH_STREAKS  how many are due (1000000)         BENCH_DATES  dates since each streak's checkpoint, both have posted on (5)
BENCH_CROWD    how many are not (10000000)        BENCH_FEW    how many are due among those (10000)
BENCH_PUBLISHED  seconds to wait for events (900)  BENCH_RUNS   which: one two mix few crowd check-ins (all)

`check-ins` is a midnight of BENCH_STREAKS check-in streaks of which a third missed the date: of those a third has a freeze, a third a shield,
and a third breaks.

PostgreSQL runs with its defaults (fsync, synchronous commits) but for shared_buffers 1 GB and max_wal_size 8 GB. A million streaks
take 4 GB of disk below TMPDIR, ten million 15 GB.
"""
import os, random, shutil, signal, socket, subprocess, sys, tempfile, threading, time, urllib.request

from bench_database import POSTGRES, Session

TICK = os.sysconf("SC_CLK_TCK")
ZONES = ["UTC", "Europe/London", "America/New_York", "America/Los_Angeles", "America/Sao_Paulo", "Asia/Tokyo", "Asia/Kolkata",
         "Australia/Sydney"]


CHECK_IN = 2


def number(name, default):
    return int(os.environ.get(name, default))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Servers:
    """PostgreSQL and NATS in a folder of their own."""

    def __init__(self, binary):
        self.binary = binary
        self.folder = tempfile.mkdtemp(prefix="streaksnap-settlement-")
        os.chmod(self.folder, 0o755)
        self.children = []
        self.postgres = None
        data = f"{self.folder}/postgres"
        os.mkdir(data, 0o755)
        # PostgreSQL refuses to run as root.
        self.account = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
        if self.account:
            shutil.chown(data, "postgres", "postgres")
        log = open(f"{self.folder}/postgres.log", "w")
        subprocess.run([f"{POSTGRES}/initdb", "-D", f"{data}/cluster", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"],
                       check=True, stdout=log, stderr=log, cwd="/", **self.account)
        settings = {"listen_addresses": "", "unix_socket_directories": data, "shared_buffers": "1GB", "max_wal_size": "8GB",
                    "timezone": "UTC", "max_connections": "100"}
        self.postgres = subprocess.Popen([f"{POSTGRES}/postgres", "-D", f"{data}/cluster"]
                                         + [word for key, value in settings.items() for word in ("-c", f"{key}={value}")],
                                         stdout=log, stderr=log, cwd="/", **self.account)
        self.socket = data
        self.until("PostgreSQL", lambda: subprocess.run([f"{POSTGRES}/pg_isready", "-q", "-h", data]).returncode == 0)
        self.command("postgres", "CREATE DATABASE seeded")
        self.command("seeded", "CREATE SCHEMA streaks")

    def until(self, what, is_true, seconds=120):
        end = time.monotonic() + seconds
        while not is_true():
            if time.monotonic() > end:
                sys.exit(f"{what} did not get there in {seconds} s; see {self.folder}")
            time.sleep(0.05)

    def command(self, database, statement):
        subprocess.run([f"{POSTGRES}/psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-h", self.socket, "-U", "postgres", "-d", database, "-c",
                        statement], check=True)

    def start(self, database, replicas):
        """A fresh broker, and `streaks` on this database."""
        shutil.rmtree(f"{self.folder}/nats", ignore_errors=True)
        port = free_port()
        log = open(f"{self.folder}/nats.log", "a")
        self.children.append(("nats", subprocess.Popen(["nats-server", "-js", "-sd", f"{self.folder}/nats", "-a", "127.0.0.1", "-p", str(port)],
                                                       stdout=log, stderr=log)))
        self.until("NATS", lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
        subprocess.run([f"{os.path.dirname(self.binary)}/streaksnap", "streams"], check=True, stdout=log, stderr=log,
                       env={"PATH": os.environ["PATH"], "STREAKSNAP_NATS_URL": f"nats://127.0.0.1:{port}"})
        admins = []
        for replica in range(replicas):
            admins.append(free_port())
            log = open(f"{self.folder}/streaks-{replica}.log", "a")
            environment = {
                "PATH": os.environ["PATH"], "STREAKSNAP_NATS_URL": f"nats://127.0.0.1:{port}", "STREAKSNAP_LOG_LEVEL": "warning",
                "STREAKSNAP_ADMIN_PORT": str(admins[-1]), "STREAKSNAP_BLOB_FOLDER": f"{self.folder}/blobs",
                "STREAKSNAP_DATABASE_URL": f"host={self.socket} dbname={database} user=postgres"}
            self.children.append(("streaks", subprocess.Popen([self.binary], env=environment, stdout=log, stderr=log)))
        for admin in admins:
            self.until("streaks", lambda: self.answers(f"http://127.0.0.1:{admin}/readyz"))

    @staticmethod
    def answers(url):
        try:
            return urllib.request.urlopen(url, timeout=5).status == 200
        except OSError:
            return False

    def stop_services(self):
        for _, child in reversed(self.children):
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.children = []

    def stop(self):
        self.stop_services()
        if self.postgres:
            self.postgres.send_signal(signal.SIGINT)
            self.postgres.wait(120)
        shutil.rmtree(self.folder, ignore_errors=True)

    def cpu(self):
        """Seconds of user and system time so far, by program."""
        used = {"postgres": 0, "streaks": 0, "nats": 0}
        children = open(f"/proc/{self.postgres.pid}/task/{self.postgres.pid}/children").read().split()
        for name, pid, fields in ([("postgres", self.postgres.pid, 4)] + [("postgres", pid, 2) for pid in children]
                                  + [(name, child.pid, 2) for name, child in self.children]):
            try:
                stat = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            # Of the first of PostgreSQL's processes also what its children used that are gone.
            used[name] += sum(map(int, stat[11:11 + fields])) / TICK
        return used


def seed(servers, due, crowd, dates, covered):
    """Streaks that missed the same date; `crowd` more that are due in two days; every `covered`-th is kept by a token."""
    session = Session.of_folder(servers.socket, "seeded", "streaks")
    tables = "streak, streak_member, contribution, streak_checkpoint, streak_cover, streak_freeze, streak_pause, streak_identity, mutual_streak, zone_change, user_stats, reminder_schedule, outbox, stale_totals, streak_prompts"
    session.ask(f"TRUNCATE {tables} CASCADE")
    # Rows that fit together: what the constraints would check one by one.
    session.ask("SET session_replication_role = replica")
    session.ask("SET synchronous_commit = off")
    total = due + crowd
    missed = "((now() AT TIME ZONE 'UTC')::date - 2)"
    ids = "('00000000-0000-{}-8000-' || lpad(to_hex({}), 12, '0'))::uuid"
    zones = "(ARRAY['" + "','".join(ZONES) + "'])"
    # People lie elsewhere in their indexes than their streaks do; in a crowd every user has ten streaks, with ten friends.
    share = 1 if crowd == 0 else 10
    pairs = max(1, total // share)
    place = f"((n::bigint * 7919) % {pairs})"
    one, two = ids.format("7001", f"{place} * 2"), ids.format("7001", f"(({place} + (n - 1) / {pairs}) % {pairs}) * 2 + 1")
    user_a, user_b = f"least({one}, {two})", f"greatest({one}, {two})"
    streak = ids.format("7000", "n")
    # Ten million rows are sorted into an index faster than they are put into it one by one.
    indexes = session.ask("SELECT indexdef FROM pg_indexes WHERE tablename = 'streak' AND indexname <> 'streak_pkey'")
    for index in indexes:
        session.ask(f"DROP INDEX {index.split(' INDEX ')[1].split(' ')[0]}")
    step = 1_000_000
    for first in range(1, total + 1, step):
        n = f"generate_series({first}, {min(total, first + step - 1)}) AS n"
        session.ask(f"""
            INSERT INTO streak (id, kind, members, newest_dates, started_at, status, current_count, longest_count, last_completed_date, open_date,
                deadline_at, at_risk_from, next_due, contribution_count, settled_at)
            SELECT {streak}, 1, ARRAY[{user_a}, {user_b}], ARRAY[{missed} - 1, {missed} - 1], {missed} - {50 + dates} + interval '20 hours',
                1, {50 + dates}, {50 + dates}, {missed} - 1, {missed}, due, due - interval '6 hours', due,
                {2 * (50 + dates)}, {missed} + interval '1 hour'
            FROM (SELECT n, CASE WHEN n <= {due} THEN {missed} + 1 + interval '12 hours' ELSE now() + interval '2 days' END AT TIME ZONE 'UTC' AS due
                  FROM {n}) AS streaks""")
    session.ask("SET maintenance_work_mem = '512MB'")
    for index in indexes:
        session.ask(index)
    session.ask(f"""INSERT INTO streak_member (streak_id, user_id, joined_at)
        SELECT id, person, started_at FROM streak, unnest(members) AS person ORDER BY 1, 2""")
    due_streaks = f"generate_series(1, {due}) AS n"
    session.ask(f"""
        INSERT INTO streak_checkpoint (streak_id, settled_through, current_count, longest_count, last_completed_date, run_start, freezes,
            closed_from, closed_until)
        SELECT {streak}, {missed} - 1 - {dates}, 50, 50, {missed} - 1 - {dates}, {missed} - {50 + dates}, 0, '{{}}', '{{}}'
        FROM {due_streaks}""")
    # One of the two has posted on the missed date of every other streak.
    session.ask(f"""
        INSERT INTO contribution SELECT {streak}, u, day::date, day + interval '12 hours', day + interval '12 hours', {streak}
        FROM {due_streaks}, generate_series({missed} - {dates}, {missed}, interval '1 day') AS day,
            LATERAL (VALUES ({user_a}), ({user_b})) AS people (u)
        WHERE day < {missed} OR (n % 2 = 0 AND u = {user_a})""")
    if covered:
        session.ask(f"""
            INSERT INTO streak_cover SELECT {streak}, {missed} + interval '30 minutes', 1, {user_b}, {missed}, {missed} + 3, NULL, {streak}
            FROM {due_streaks} WHERE n % {covered} = 0""")
    people = f"generate_series(0, {2 * pairs - 1}) AS n"
    person = ids.format("7001", "n")
    session.ask(f"INSERT INTO zone_change SELECT {person}, '2026-01-01Z', {zones}[1 + n / 2 % {len(ZONES)}] FROM {people}")
    session.ask(f"INSERT INTO user_stats (user_id, version, total_photos) SELECT {person}, 1, 100 FROM {people}")
    session.ask("RESET session_replication_role")
    session.ask("VACUUM ANALYZE")
    session.ask("CHECKPOINT")
    session.close()


def seed_check_ins(servers, count):
    """Check-in streaks of `count` people: every third has missed the date whose end was settled last, the others have checked in since."""
    session = Session.of_folder(servers.socket, "seeded", "streaks")
    session.ask("TRUNCATE streak, streak_member, contribution, streak_checkpoint, streak_cover, streak_freeze, streak_pause, streak_identity,"
                " mutual_streak, streak_protection, zone_change, user_stats, reminder_schedule, solo_reminder, outbox, stale_totals,"
                " streak_prompts, check_in_milestone, freeze_use, board_change CASCADE")
    session.ask("SET session_replication_role = replica")
    session.ask("SET synchronous_commit = off")
    missed = "((now() AT TIME ZONE 'UTC')::date - 1)"
    streak, person = (f"('00000000-0000-{kind}-8000-' || lpad(to_hex({n}), 12, '0'))::uuid"
                      for kind, n in [("7000", "n"), ("7001", f"n::bigint * 7919 % {count}")])
    people = f"generate_series(1, {count}) AS n"
    done = f"({missed} + CASE WHEN n % 3 = 0 THEN -1 ELSE 1 END)"
    # Counts between which no freeze is earned (CI-2: every seventh date), so that who has none breaks.
    settled, count_then = f"({missed} - 6)", 57
    count_now = f"({count_then} + ({done} - {settled}))"
    session.ask(f"""
        INSERT INTO streak (id, kind, members, newest_dates, started_at, status, current_count, longest_count, last_completed_date, open_date,
            deadline_at, at_risk_from, next_due, contribution_count, settled_at, run_start)
        SELECT {streak}, {CHECK_IN}, ARRAY[{person}], ARRAY[{done}], {settled} - {count_then - 1} + interval '1 hour', 1, {count_now}, {count_now},
            {done}, {done} + 1, over, over - interval '6 hours', over, {count_now}, {missed} + interval '1 hour', {settled} - {count_then - 1}
        FROM {people}, LATERAL (SELECT ({done} + 2)::timestamp AT TIME ZONE 'UTC') AS open (over)""")
    session.ask("INSERT INTO streak_member (streak_id, user_id, joined_at) SELECT id, members[1], started_at FROM streak")
    session.ask(f"INSERT INTO streak_identity (kind, key, streak_id) SELECT {CHECK_IN}, members[1]::text, id FROM streak")
    session.ask(f"""
        INSERT INTO streak_checkpoint (streak_id, settled_through, current_count, longest_count, last_completed_date, run_start, freezes,
            closed_from, closed_until)
        SELECT {streak}, {settled}, {count_then}, {count_then}, {settled}, {settled} - {count_then - 1}, (n % 9 = 0)::int, '{{}}', '{{}}'
        FROM {people}""")
    session.ask(f"""
        INSERT INTO contribution SELECT {streak}, {person}, day::date, day + interval '12 hours', day + interval '12 hours', {streak}
        FROM {people}, generate_series({settled} + 1, {done}, interval '1 day') AS day""")
    session.ask(f"""
        INSERT INTO streak_protection (streak_id, kind, held_at, held_until, operation_id)
        SELECT {streak}, 2, {missed} - 3, NULL, {streak} FROM {people} WHERE n % 9 = 3""")
    session.ask(f"INSERT INTO zone_change SELECT {person}, '2026-01-01Z', 'UTC' FROM {people}")
    session.ask(f"INSERT INTO user_stats (user_id, version, total_photos) SELECT {person}, 1, 0 FROM {people}")
    session.ask("RESET session_replication_role")
    session.ask("VACUUM ANALYZE")
    session.ask("CHECKPOINT")
    session.close()


class Waits(threading.Thread):
    """What a request for a streak waits for its row: one try every 50 ms."""

    def __init__(self, servers, database, count):
        super().__init__(daemon=True)
        self.session, self.count, self.longest, self.over = Session.of_folder(servers.socket, database, "streaks"), count, 0.0, False

    def run(self):
        while not self.over:
            streak = f"00000000-0000-7000-8000-{random.randint(1, self.count):012x}"
            start = time.monotonic()
            self.session.ask(f"SELECT 1 FROM streak WHERE id = '{streak}' FOR UPDATE")
            self.longest = max(self.longest, time.monotonic() - start)
            time.sleep(0.05)

    def finish(self):
        self.over = True
        self.join(30)
        self.session.close()
        return self.longest


def measure(servers, title, replicas, due, covered=0, is_last=False, timeout=1800, check_ins=False):
    """One run on a copy of what was seeded; the last one on it itself."""
    database = "seeded" if is_last else "run"
    if not is_last:
        servers.command("postgres", "CREATE DATABASE run TEMPLATE seeded STRATEGY file_copy")
    try:
        session = Session.of_folder(servers.socket, database, "streaks")
        session.ask("CHECKPOINT")
        before = servers.cpu()
        servers.start(database, replicas)
        waits = Waits(servers, database, due)
        waits.start()
        end = time.monotonic() + timeout
        open_ones = f"""SELECT count(*) FROM (SELECT 1 FROM streak
            WHERE kind = {CHECK_IN if check_ins else 1} AND next_due <= now() - interval '60 seconds' ORDER BY next_due LIMIT 1) AS due"""

        def until(statement, limit):
            while session.number(statement) > 0:
                if time.monotonic() > limit:
                    return False
                time.sleep(0.1)
            return True

        if not until(open_ones, end):
            sys.exit(f"{title}: not settled within {timeout} s; see {servers.folder}")
        settled_at = session.number("SELECT extract(epoch FROM clock_timestamp())")
        after, wait = servers.cpu(), waits.finish()
        published = session.number("SELECT count(*) FROM outbox WHERE published_at IS NOT NULL")
        until("SELECT count(*) FROM (SELECT 1 FROM stale_totals LIMIT 1) AS waiting", end)
        totals_at = session.number("SELECT extract(epoch FROM clock_timestamp())")
        is_published = until("SELECT count(*) FROM (SELECT 1 FROM outbox WHERE published_at IS NULL LIMIT 1) AS waiting",
                        time.monotonic() + number("BENCH_PUBLISHED", 900))
        published_at = session.number("SELECT extract(epoch FROM clock_timestamp())")
        # A check-in streak begins anew instead of being broken.
        is_broken = "current_count = 0" if check_ins else "status = 2"
        start, broken, kept = map(float, session.ask(f"""
            SELECT extract(epoch FROM min(settled_at)), count(*) FILTER (WHERE {is_broken}), count(*) FILTER (WHERE NOT {is_broken})
            FROM streak WHERE settled_at > now() - interval '10 hours'""")[0].split("|"))
        subject = "SoloStreakBroken" if check_ins else "StreakBroken"
        wrong = session.number(f"SELECT count(*) FROM outbox WHERE subject = 'evt.streaks.v1.{subject}'") - broken
        expected = due // 3 if check_ins else due - (due // covered if covered else 0)
        if broken != expected or broken + kept != due or wrong:
            sys.exit(f"{title}: {broken:.0f} broken and {kept:.0f} kept of {due}, {wrong:.0f} events too many")
        events, waiting = map(float, session.ask("SELECT count(*), count(*) FILTER (WHERE published_at IS NULL) FROM outbox")[0].split("|"))
        cpu = {name: (after[name] - before[name]) / due * 1e6 for name in after}
        print(f"{title:34}{settled_at - start:9.1f}{(settled_at - start) / due * 1e6:9.1f}{sum(cpu.values()):9.0f}{cpu['postgres']:10.0f}"
              f"{cpu['streaks']:9.0f}{cpu['nats']:6.0f}{wait * 1e3:9.0f}{totals_at - start:10.1f}"
              f"{published_at - start if is_published else float('nan'):14.1f}   {events:.0f} events, {published:.0f} of them published by then"
              + (f", {waiting:.0f} never" if waiting else ""), flush=True)
        session.close()
    finally:
        servers.stop_services()
        if not is_last:
            servers.command("postgres", "DROP DATABASE run WITH (FORCE)")


def settlement(binaries):
    streaks, crowd, few, dates = (number(*pair) for pair in
                                  [("BENCH_STREAKS", 1_000_000), ("BENCH_CROWD", 10_000_000), ("BENCH_FEW", 10_000), ("BENCH_DATES", 5)])
    runs = os.environ.get("BENCH_RUNS", "one two mix few crowd check-ins").split()
    servers = Servers(f"{binaries}/streaks")
    try:
        # Makes its tables.
        servers.start("seeded", 1)
        servers.stop_services()
        print(f"settlement, {dates} dates of both since each checkpoint, people in {len(ZONES)} zones")
        print(f"{'':34}{'settled':>9}{'µs each':>9}{'CPU, µs':>9}{'postgres':>10}{'streaks':>9}{'nats':>6}{'wait, ms':>9}"
              f"{'totals, s':>10}{'published, s':>14}", flush=True)
        if {"one", "two"} & set(runs):
            seed(servers, streaks, 0, dates, 0)
            for name, replicas in [("one", 1), ("two", 2)]:
                if name in runs:
                    measure(servers, f"{streaks} break, {replicas} replica{'s' if replicas > 1 else ''}", replicas, streaks)
        if "mix" in runs:
            seed(servers, streaks, 0, dates, 2)
            measure(servers, f"{streaks}, every other one kept", 1, streaks, covered=2, is_last=True)
        if "check-ins" in runs:
            # So many that each share of a third is whole.
            total = streaks // 9 * 9
            seed_check_ins(servers, total)
            measure(servers, f"{total} check-in streaks, a third missed", 1, total // 3, is_last=True, check_ins=True)
        for name, others in [("few", 0), ("crowd", crowd)]:
            if name in runs:
                seed(servers, few, others, dates, 0)
                measure(servers, f"{few} due among {others + few}", 1, few, is_last=True)
    finally:
        servers.stop()
