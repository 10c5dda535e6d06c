"""The rows of deploy/dev bench http: GET requests of one signed-in user at 64 connections, in several passes over all of them, so that each
meets the same noise. Prints medians, with the lowest and the highest.

  deploy/dev bench http --against FILE   asks the same of another server in the same passes. FILE is JSON:

    {"name": "nakama", "address": "http://127.0.0.1:7350", "headers": {"Authorization": "Bearer …"},
     "processes": ["nakama"],
     "requests": {"GET /api/users/me": {"path": "/v2/account"},
                  "GET /api/streaks": {"method": "POST", "path": "/v2/rpc/streaks", "body": "{}", "headers": {"X-Any": "…"}}}}

  `requests` names rows of ours; those that are missing are asked of us only. `processes` are the names of the other server's processes, with
  those of its database; without them its processor time is not shown.

BENCH_PASSES   how many passes (5)
"""
import json, os, statistics, sys, urllib.error, urllib.request

PASSES = int(os.environ.get("BENCH_PASSES", "5"))
TICK = os.sysconf("SC_CLK_TCK")


class Peer:
    """Another server, as `wrk` of deploy/bench wants a system."""

    def __init__(self, file, folder):
        try:
            text = json.load(open(file))
            self.name, self.address, self.requests = text["name"], text["address"].rstrip("/"), text["requests"]
        except (OSError, ValueError, KeyError, AttributeError) as error:
            sys.exit(f"deploy/dev bench: {file} is no description of another server: {error!r}")
        self.headers, self.names, self.folder = text.get("headers", {}), text.get("processes", []), folder

    def check(self, rows):
        """That each of its requests belongs to a row and succeeds, before anything is measured."""
        for title, request in self.requests.items():
            if title not in rows:
                sys.exit(f"deploy/dev bench: there is no row “{title}”; there are: {', '.join(rows)}")
            headers = self.headers | request.get("headers", {})
            asked = urllib.request.Request(self.address + request["path"], method=request.get("method", "GET"), headers=headers,
                                           data=request["body"].encode() if "body" in request else None)
            try:
                urllib.request.urlopen(asked, timeout=10).read()
            except (urllib.error.URLError, OSError) as error:
                sys.exit(f"deploy/dev bench: {self.name} does not answer {request['path']}: {error}")

    def script(self, title):
        """The request as wrk's script."""
        request = self.requests[title]
        file = f"{self.folder}/peer-{abs(hash(title))}.lua"
        headers = self.headers | request.get("headers", {})
        with open(file, "w") as lua:
            lua.write(f"wrk.method = {json.dumps(request.get('method', 'GET'))}\n")
            for name, value in headers.items():
                lua.write(f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}\n")
            if "body" in request:
                lua.write(f"wrk.body = {json.dumps(request['body'])}\n")
        return file

    def cpu(self):
        """Seconds of user and system time by process name."""
        used = {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                text = open(f"/proc/{entry}/stat").read()
            except OSError:
                continue
            name = text[text.index("(") + 1:text.rindex(")")]
            if name in self.names:
                fields = text.rsplit(")", 1)[1].split()
                used[name] = used.get(name, 0) + (int(fields[11]) + int(fields[12])) / TICK
        return used


def spread(values, form="{:.0f}"):
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{form.format(middle)} ({form.format(low)}–{form.format(high)})"


def rows(system, token, paths, wrk, seconds, against=None):
    """Measures `paths`, titles with their paths."""
    peer = Peer(against, system.folder) if against else None
    if peer:
        peer.check(list(paths))
    each = max(2, seconds * 2 // PASSES)
    print(f"\nHTTP at 64 connections, {PASSES} passes of {each} s each: medians (lowest–highest); CPU in µs per request, user + system")
    results = {}
    for _ in range(PASSES):
        for title, path in paths.items():
            results.setdefault((title, "StreakSnap"), []).append(wrk(system, path, token, seconds=each))
            if peer and title in peer.requests:
                result = wrk(peer, peer.requests[title]["path"], script=peer.script(title), seconds=each)
                results.setdefault((title, peer.name), []).append(result)
    print(f"{'':50}{'requests/s':>22}{'p99':>10}{'CPU':>18}   of which")
    for (title, name), passes in results.items():
        errors = sum(result["errors"] for result in passes)
        if errors:
            sys.exit(f"{errors} replies of {name} to {title} were no success")
        totals = [sum(result["cpu"].values()) for result in passes]
        parts = {n: statistics.median(result["cpu"].get(n, 0) for result in passes) for n in set().union(*(r["cpu"] for r in passes))}
        shown = ", ".join(f"{n} {v:.0f}" for n, v in sorted(parts.items(), key=lambda part: -part[1]) if v >= 1)
        label = f"{title}, {name}" if peer else title
        p99 = sorted(passes, key=lambda result: milliseconds(result["p99"]))[len(passes) // 2]["p99"]
        used = spread(totals) if any(totals) else "–"
        print(f"{label:50}{spread([result['rate'] for result in passes]):>22}{p99:>10}{used:>18}   {shown}", flush=True)


def milliseconds(text):
    for unit, factor in [("us", 0.001), ("ms", 1), ("s", 1000), ("m", 60000)]:
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor
    return float(text)
