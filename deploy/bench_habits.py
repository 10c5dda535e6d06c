"""deploy/dev bench habits: a person with 30 habits and two years of history, many people who complete habits, and a person with 50 habits
and ten years.

What is measured, with CPU of every process:

  today        GET /api/habits/today of 30 habits with two years of history, 64 connections
  statistics   GET /api/habits/statistics?period=year of the same person, 16 connections: p99
  completion   POST /api/habits/{id}/completions of many people, five habits each, 64 connections
  sync         POST /api/sync of 1,000 changes of a phone that was away for a week, and of a copy of 1,000 entries: the median of five
  ten years    each GET route of habits of a person with 50 habits and 182,500 completions: the longest of five

Histories come in by POST /api/habits/import; how long that takes is shown too.

BENCH_HABIT_USERS  people who complete habits (500); BENCH_HABIT_YEARS  of the longest history (10)
"""
import datetime, http.client, json, statistics, subprocess, sys, time, uuid

from bench_check_ins import be_quiet, number, register, until
from bench_database import Session


def call(system, method, path, token, body=None):
    """- Returns: the status, the reply and the seconds it took, over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", system.port, timeout=180)
    headers = {"Authorization": f"Bearer {token}"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    connection.connect()
    began = time.monotonic()
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    reply = connection.getresponse()
    text = reply.read()
    took = time.monotonic() - began
    connection.close()
    if reply.status >= 300:
        sys.exit(f"{method} {path}: {reply.status} {text[:300]}")
    return json.loads(text) if reply.headers.get_content_type() == "application/json" else text, took


def history(system, token, habits, days):
    """Imports a history of habits: nine of ten dates done. - Returns: the seconds of the request."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    path = f"{system.folder}/history.csv"
    with open(path, "w", newline="") as file:
        file.write("Habit Name,Date,Status,Value,Note\r\n")
        for habit in range(habits):
            for back in range(days, 0, -1):
                if (back * 7 + habit * 3) % 10:
                    file.write(f"Habit {habit},{today - datetime.timedelta(days=back)},Completed,,\r\n")
    began = time.monotonic()
    output = subprocess.run(
        ["curl", "-sS", "--max-time", "180", "-H", f"Authorization: Bearer {token}", "-F", f"file=@{path}", "-F", "format=csv",
         f"{system.address}/api/habits/import"], check=True, capture_output=True, text=True).stdout
    took = time.monotonic() - began
    reply = json.loads(output)
    if not reply["success"]:
        sys.exit(f"the import was refused: {output[:300]}")
    return took


def make_premium(system, users):
    """As the events of billing would."""
    session = Session.of_system(system, "streaks")
    for user in users:
        session.ask(f"""INSERT INTO entitlement_replica (user_id, version, is_premium, expires_at) VALUES ('{user}', 1, true, NULL)
            ON CONFLICT (user_id) DO UPDATE SET is_premium = true, expires_at = NULL""")
    session.close()


def completions(system, count):
    """A script for wrk: each request adds 1 to a habit of the next person."""
    tokens = register(system, count)
    lines = []
    for token in tokens:
        for place in range(5):
            habit, _ = call(system, "POST", "/api/habits", token, {"name": f"Habit {place}", "target_value": 1000, "unit": "steps"})
            lines.append(f"{token} {habit['data']['id']}")
    # Of each person one habit, then of each the next: two requests of one person are far from each other.
    lines = [line for place in range(5) for line in lines[place::5]]
    with open(f"{system.folder}/habits", "w") as file:
        file.write("\n".join(lines) + "\n")
    path = f"{system.folder}/complete.lua"
    with open(path, "w") as file:
        file.write(f"""
            local lines, place = {{}}, 0
            for line in io.lines("{system.folder}/habits") do
                local token, habit = line:match("(%S+) (%S+)")
                lines[#lines + 1] = {{token, habit}}
            end
            function request()
                place = place % #lines + 1
                local headers = {{["Authorization"] = "Bearer " .. lines[place][1], ["Content-Type"] = "application/json"}}
                return wrk.format("POST", "/api/habits/" .. lines[place][2] .. "/completions", headers, '{{"value": 1}}')
            end
        """)
    return path


def habits(start, person, wrk, seconds, show):
    """- Parameters: start: starts a system; person, wrk, show: register, measure and print."""
    system = start()
    try:
        (reader, reader_id), (old, old_id) = (person(system, f"bench.habits{n}") for n in range(2))
        session = Session.of_system(system, "streaks")
        until("the users are known to streaks", lambda: session.number(
            "SELECT count(*) FROM profile_replica WHERE username LIKE 'bench.habits%'") == 2)
        session.close()
        make_premium(system, [reader_id, old_id])
        years = number("BENCH_HABIT_YEARS", 10)
        took = history(system, reader, 30, 730)
        print(f"\nimport of 30 habits and 2 years: {took:.1f} s", flush=True)
        print(f"{'':34}{'requests/s':>11}{'p50':>10}{'p99':>10}{'CPU':>7}   of which")
        call(system, "GET", "/api/habits/today", reader)
        be_quiet(system)
        show("GET habits/today, 30 habits", wrk(system, "/api/habits/today", reader))
        show("GET habits/statistics, year, 16", wrk(system, "/api/habits/statistics?period=year", reader, connections=16))
        sync(system, register(system, 5, "sync"))
        script = completions(system, number("BENCH_HABIT_USERS", 500))
        be_quiet(system)
        show("POST completion", wrk(system, "", script=script, seconds=seconds))
        took = history(system, old, 50, 365 * years)
        print(f"import of 50 habits and {years} years: {took:.1f} s", flush=True)
        ten_years(system, old)
    finally:
        system.stop()


def sync(system, users):
    """A phone of each user: 30 habits with a target, then a week away with 1,000 changes, then a new phone that pulls them."""
    pushes, pulls = [], []
    for token in users:
        phone, epoch, cursor = str(uuid.uuid4()), 0, ""

        def exchange(device, changes, epoch, cursor):
            body = {"device_id": device, "schema_version": 1, "epoch": epoch, "cursor": cursor, "limit": 1000, "changes": changes}
            reply, took = call(system, "POST", "/api/sync", token, body)
            refused = [result for result in reply["data"]["results"] if result["outcome"] != "applied"]
            if refused:
                sys.exit(f"a change was refused: {refused[0]}")
            return reply["data"], took

        def change(entity, operation, **fields):
            return {"change_id": str(uuid.uuid4()), "entity": entity, "operation": operation, **fields}

        habits = [str(uuid.uuid4()) for _ in range(30)]
        begun = [change("habit", "create", entity_id=habit, habit={"name": f"Habit {place}", "target_value": 1000, "unit": "steps"})
                 for place, habit in enumerate(habits)]
        reply, _ = exchange(phone, begun, epoch, cursor)
        today = datetime.date.fromisoformat(reply["today"])
        dates = [str(today - datetime.timedelta(days=back)) for back in range(7, 0, -1)]
        done = [change("completion", "create", entity_id=str(uuid.uuid4()), habit_id=habit, date=date, completion={"value": 100})
                for date in dates for habit in habits for _ in range(4)]
        edited = [change("completion", "update", entity_id=made["entity_id"], completion={"value": 200, "note": "later"})
                  for made in done[:153]]
        noted = [change("day_note", "create", date=date, note="a good day") for date in dates]
        changes = done + edited + noted
        assert len(changes) == 1000
        reply, took = exchange(phone, changes, reply["epoch"], reply["next_cursor"])
        pushes.append(took)
        reply, took = exchange(str(uuid.uuid4()), [], 0, "")
        pulls.append(took)
    for name, times in (("POST /api/sync, 1,000 changes", pushes), ("POST /api/sync, a copy of 880", pulls)):
        print(f"{name:44}{statistics.median(times) * 1000:8.0f} ms", flush=True)


def ten_years(system, token):
    listed, _ = call(system, "GET", "/api/habits", token)
    habit = next(h["id"] for group in listed["data"]["groups"] for h in group["habits"])
    paths = ["/api/habits/today", "/api/habits", f"/api/habits/{habit}", "/api/habits/widget", "/api/habits/profile",
             f"/api/habits/{habit}/completions", f"/api/habits/{habit}/calendar", "/api/habits/insights",
             f"/api/habits/{habit}/insights"]
    paths += [f"/api/habits/statistics?period={p}" for p in ("week", "month", "year", "all")]
    paths += [f"/api/habits/{habit}/statistics?period={p}" for p in ("week", "month", "year", "all")]
    for path in paths:
        times = [call(system, "GET", path, token)[1] for _ in range(6)][1:]
        print(f"{path.replace(habit, '…'):44}{max(times) * 1000:8.0f} ms", flush=True)
