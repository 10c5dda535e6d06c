"""The rows of deploy/dev bench writes: what changes something and has no bench of its own, with the CPU of all consumers of its events.

  friend request   POST /api/friends/request at 64 connections: of another pair each time
  snap             POST /api/photos/upload of a photo of 230 kB at 8 connections, since more are refused while both processors decode: each
                   user once, for a streak with a friend

BENCH_SENDERS   users who send friend requests (1500), each as many as the limits allow
BENCH_POSTERS   users who post a snap (600)
"""
import concurrent.futures, json, os, subprocess, sys

from bench_check_ins import be_quiet, number, once_each, register

# Each user may send so many in an hour (SO-1).
REQUESTS = 20


def measured(system, title, path, wrk, show, lines, name, request, connections=64):
    """One request of each line, after a second that says how fast it is."""
    pilot = wrk(system, path, script=once_each(system, name, lines, request), seconds=1, connections=connections)
    lines = lines[pilot["requests"] + connections + 1:]
    seconds = min(10, int(len(lines) / (1.3 * pilot["rate"])))
    if pilot["errors"] or seconds < 1:
        sys.exit(f"{title}: {pilot['errors']} were refused; {len(lines)} are left")
    be_quiet(system)
    show(f"{title}, {seconds} s", wrk(system, path, script=once_each(system, name, lines, request), seconds=seconds, connections=connections))


def writes(start, binaries, wrk, show):
    """- Parameters: start: starts a system; wrk, show: measure and print a row."""
    system = start()
    try:
        print(f"{'':34}{'requests/s':>11}{'p50':>10}{'p99':>10}{'CPU':>7}   of which")
        count = number("BENCH_SENDERS", 1500)
        tokens = register(system, count, "sender")
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            ids = list(threads.map(lambda token: system.call("GET", "/api/users/me", token=token)["id"], tokens))
        # A round is one request of each, so that a sender does not wait for their own.
        pairs = [f"{tokens[n]} {ids[(n + distance) % count]}" for distance in range(1, REQUESTS + 1) for n in range(count)]
        be_quiet(system)
        measured(system, "POST friend request", "/api/friends/request", wrk, show, pairs, "requests",
                 """return wrk.format("POST", "/api/friends/request", headers, '{"user_id": "' .. rest .. '"}')""")
        snaps(system, binaries, wrk, show)
    finally:
        system.stop()


def snaps(system, binaries, wrk, show):
    tokens = register(system, number("BENCH_POSTERS", 600) // 2 * 2, "poster")

    def befriend(place):
        one, other = tokens[place], tokens[place + 1]
        user = system.call("GET", "/api/users/me", token=other)["id"]
        friendship = system.call("POST", "/api/friends/request", {"user_id": user}, one)["friendship_id"]
        system.call("PUT", f"/api/friends/{friendship}/respond", {"action": "accept"}, other)
        for token in (one, other):
            system.call("POST", "/api/users/me/terms", {"version": "2026-01"}, token)

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(befriend, range(0, len(tokens), 2)))
    photo = f"{system.folder}/snap.jpg"
    subprocess.run([f"{binaries}/streaksnap", "photo", photo, "--width", "1280", "--height", "960"], check=True, stdout=subprocess.DEVNULL)
    request = f"""
                if not body then
                    local file = io.open("{photo}", "rb")
                    body = "--part\\r\\nContent-Disposition: form-data; name=\\"streak_ids\\"\\r\\n\\r\\nall\\r\\n"
                        .. "--part\\r\\nContent-Disposition: form-data; name=\\"photo\\"; filename=\\"a.jpg\\"\\r\\nContent-Type: image/jpeg"
                        .. "\\r\\n\\r\\n" .. file:read("*a") .. "\\r\\n--part--\\r\\n"
                end
                headers["Content-Type"] = "multipart/form-data; boundary=part"
                return wrk.format("POST", "/api/photos/upload", headers, body)"""
    measured(system, f"POST snap of {os.path.getsize(photo) / 1e3:.0f} kB", "/api/photos/upload", wrk, show, tokens, "posters", request, connections=8)
