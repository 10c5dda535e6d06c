"""The rows of deploy/dev bench http about check-in streaks.

It registers users, writes for each a check-in streak of four dates by SQL, as four check-ins would have left it, and many more streaks of
users without an account for the leaderboard. Then it measures at 64 connections

  status       GET /api/mobile/streaks/status of one user
  leaderboard  the first hundred, and the caller's rank: of all, of 50 friends, of a circle of 50
  check-in     POST /api/mobile/streaks/check-in: the first of the present date of another user each time, so that each extends a streak in
               one transaction. The row's CPU includes the consumers of its events. How many streaks have grown is counted afterwards

BENCH_CHECK_INS  users who can check in (20000): they are registered first, some hundred a second
BENCH_BOARD      streaks on the leaderboard besides (100000)
"""
import concurrent.futures, datetime, http.client, json, os, sys, threading, time

from bench_database import Session

CONNECTIONS = 64
CHECK_IN = "/api/mobile/streaks/check-in"
STATUS = "/api/mobile/streaks/status"


def number(name, default):
    return int(os.environ.get(name, default))


def register(system, count, name="walker"):
    """The tokens of new users."""
    return [account["access_token"] for account in accounts(system, count, name)]


def accounts(system, count, name):
    """What new users are answered. One connection a thread."""
    local = threading.local()

    def one(n):
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection("127.0.0.1", system.port, timeout=30)
        body = json.dumps({"email": f"bench.{name}{n}@example.com", "password": "bench password", "username": f"bench.{name}{n}",
                           "time_zone": "UTC"})
        for _ in range(100):
            local.connection.request("POST", "/api/auth/register", body, {"Content-Type": "application/json"})
            reply = local.connection.getresponse()
            text = reply.read()
            if reply.status == 201:
                return json.loads(text)["data"]
            if reply.status not in (429, 503):
                break
            # More at once than passwords are hashed at once.
            time.sleep(0.1)
        sys.exit(f"a registration was refused: {reply.status} {text[:200]}")

    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        return list(threads.map(one, range(count)))


def seed(session, board):
    """Check-in streaks of the users, due tonight, and of so many others."""
    session.ask("SET timezone = 'UTC'")
    # Rows that fit together: what triggers and constraints would check one by one.
    session.ask("SET session_replication_role = replica")
    session.ask("""CREATE TEMP TABLE walker AS SELECT user_id, gen_random_uuid() AS streak_id, current_date AS today
        FROM profile_replica WHERE username LIKE 'bench.walker%'""")
    session.ask("""INSERT INTO streak (id, kind, members, newest_dates, started_at, status, current_count, longest_count,
            last_completed_date, open_date, deadline_at, at_risk_from, next_due, contribution_count, settled_at, run_start)
        SELECT streak_id, 2, ARRAY[user_id], ARRAY[today - 1], today - 4 + interval '12 hours', 1, 4, 4, today - 1, today, today + 1,
            today + interval '18 hours', today + 1, 4, today - interval '12 hours', today - 4 FROM walker""")
    session.ask("INSERT INTO streak_member (streak_id, user_id, joined_at) SELECT streak_id, user_id, today - 4 + interval '12 hours' FROM walker")
    session.ask("INSERT INTO streak_identity (kind, key, streak_id) SELECT 2, user_id::text, streak_id FROM walker")
    session.ask("INSERT INTO streak_freeze (streak_id, at, granted) SELECT streak_id, today - 4 + interval '12 hours', 1 FROM walker")
    session.ask("INSERT INTO zone_change (user_id, since, zone) SELECT user_id, '2026-01-01Z', 'UTC' FROM walker ON CONFLICT DO NOTHING")
    days = "walker, LATERAL generate_series(today - 4, today - 1, interval '1 day') AS day"
    session.ask(f"""INSERT INTO contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
        SELECT streak_id, user_id, day::date, day + interval '12 hours', day + interval '12 hours', gen_random_uuid() FROM {days}""")
    session.ask(f"""INSERT INTO tracking_entry (user_id, on_date, id, mood_score, energy_level, checked_in_at, activities, created_at)
        SELECT user_id, day::date, gen_random_uuid(), 8, 7, day + interval '12 hours', ARRAY['daily_check_in', 'mood_log'],
            day + interval '12 hours' FROM {days}""")
    session.ask(f"""INSERT INTO xp_posting (user_id, key, amount, cause, posted_at)
        SELECT user_id, 'check_in:' || day::date, 10, 'check_in', day + interval '12 hours' FROM {days}
        UNION ALL SELECT user_id, 'milestone:check_in:3', 30, 'milestone', today - 2 + interval '12 hours' FROM walker""")
    session.ask("INSERT INTO xp_account (user_id, balance, lifetime) SELECT user_id, 70, 70 FROM walker")
    session.ask("""INSERT INTO check_in_milestone (user_id, days, reached_on, reached_at)
        SELECT user_id, 3, today - 2, today - 2 + interval '12 hours' FROM walker""")
    # Below all of them.
    session.ask(f"""CREATE TEMP TABLE other AS SELECT gen_random_uuid() AS user_id, gen_random_uuid() AS streak_id, 1 + n % 3 AS count
        FROM generate_series(1, {board}) AS n""")
    session.ask("""INSERT INTO streak (id, kind, members, newest_dates, started_at, status, current_count, longest_count,
            last_completed_date, open_date, deadline_at, next_due, contribution_count, settled_at, run_start)
        SELECT streak_id, 2, ARRAY[user_id], ARRAY[current_date], now(), 1, count, count, current_date, current_date + 1, current_date + 2,
            current_date + 2, count, now(), current_date FROM other""")
    session.ask("INSERT INTO streak_member (streak_id, user_id, joined_at) SELECT streak_id, user_id, now() FROM other")
    session.ask("RESET session_replication_role")
    session.ask("VACUUM ANALYZE")
    session.ask("CHECKPOINT")


def until(what, is_true, seconds=300):
    end = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {seconds} s")
        time.sleep(0.2)


def be_quiet(system):
    """Waits until what the users were made by, and the check-ins of before, are done with: it would be measured too."""
    used = [sum(system.cpu().values())]

    def is_quiet():
        time.sleep(1)
        used.append(sum(system.cpu().values()))
        return used[-1] - used[-2] < 0.25

    until("the system is quiet", is_quiet)


def once_each(system, name, lines, request):
    """A script for wrk that makes one request of each line, and then stops.

    - Parameters: lines: a token, and what else the request needs behind a space. request: Lua that returns it, of that `rest` and the `headers`
    that JSON has."""
    with open(f"{system.folder}/{name}", "w") as file:
        file.write("\n".join(lines) + "\n")
    path = f"{system.folder}/{name}.lua"
    with open(path, "w") as file:
        file.write(f"""
            local lines, place = {{}}, 0
            for line in io.lines("{system.folder}/{name}") do lines[#lines + 1] = line end
            function request()
                place = place + 1
                if place > #lines then
                    wrk.thread:stop()
                    place = #lines
                end
                local token, rest = lines[place]:match("(%S+) ?(%S*)")
                local headers = {{["Authorization"] = "Bearer " .. token, ["Content-Type"] = "application/json"}}
                {request}
            end
        """)
    return path


def script(system, tokens, reads=False):
    """Each request is another user's check-in. When there are no more, it stops. - Parameter reads: the status instead."""
    at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = json.dumps({"mood_score": 8, "energy_level": 7, "check_in_time": at})
    request = f"\"GET\", \"{STATUS}\", headers" if reads else f"\"POST\", \"{CHECK_IN}\", headers, '{body}'"
    return once_each(system, "walkers", tokens, f"return wrk.format({request})")


def check_ins(system, session, tokens, wrk, seconds, show):
    """Each user opens the app first, which shows the status: the gateway knows their token then. A second says how fast it is, so that the users last
    for the rest."""
    read = wrk(system, STATUS, script=script(system, tokens, reads=True), seconds=5 + len(tokens) // 2_000)
    if read["errors"] or read["requests"] < len(tokens) - CONNECTIONS:
        sys.exit(f"only {read['requests']} of {len(tokens)} users have read their status, {read['errors']} were refused")
    pilot = wrk(system, CHECK_IN, script=script(system, tokens), seconds=1)
    # One request is made before the first is sent, and one of each connection may be on its way at the end.
    tokens = tokens[pilot["requests"] + CONNECTIONS + 1:]
    seconds = min(seconds, int(len(tokens) / (1.3 * pilot["rate"])))
    if pilot["errors"] or seconds < 1:
        sys.exit(f"{pilot['errors']} check-ins were refused; {len(tokens)} users are left: more in BENCH_CHECK_INS")
    grown = "SELECT count(*) FROM streak WHERE kind = 2 AND current_count = 5 AND last_completed_date = current_date"
    be_quiet(system)
    before = session.number(grown)
    result = wrk(system, CHECK_IN, script=script(system, tokens), seconds=seconds)
    show(f"POST check-in, {seconds} s", result)
    extended = session.number(grown) - before
    if not result["requests"] <= extended <= result["requests"] + CONNECTIONS:
        sys.exit(f"{result['requests']} check-ins have extended {extended} streaks")


def rows(system, token, friends, wrk, seconds, show):
    """- Parameters: token: of a user with these `friends`; wrk, show: measure and print a row."""
    walkers, board = number("BENCH_CHECK_INS", 20_000), number("BENCH_BOARD", 100_000)
    at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    for each in friends + [token]:
        system.call("POST", CHECK_IN, {"mood_score": 8, "energy_level": 7, "check_in_time": at}, each)
    circle = system.call("POST", "/api/circles", {"name": "Walkers"}, token)
    for friend in friends[:49]:
        system.call("POST", "/api/circles/join", {"code": circle["invite"]["code"]}, friend)
    tokens = register(system, walkers)
    session = Session.of_system(system, "streaks")
    until("the users are known to streaks", lambda: session.number(
        "SELECT count(*) FROM profile_replica WHERE username LIKE 'bench.walker%'") == walkers)
    seed(session, board)
    session.close()
    # The leaderboard reads what was written by SQL when it starts.
    system.restart({})
    scopes = [("all", "global"), ("50 friends", "friends"), ("a circle of 50", f"circle&circle_id={circle['circle_id']}")]
    path = "/api/mobile/streaks/leaderboard?limit=100&scope="
    until("the leaderboard is loaded", lambda: system.call("GET", path + "global", token=token)["total_users"] > walkers + board)
    be_quiet(system)
    show("GET check-in status", wrk(system, STATUS, token))
    for title, scope in scopes:
        show(f"GET leaderboard of {title}", wrk(system, path + scope, token))
    session = Session.of_system(system, "streaks")
    check_ins(system, session, tokens, wrk, seconds, show)
    session.close()
