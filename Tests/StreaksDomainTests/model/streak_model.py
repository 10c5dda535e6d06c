#!/usr/bin/env python3
"""A slow, independent model of the streak day, written from the prose (product.md SD, MS, RC, CI-2, CI-4), to check the engine against.

    streak_model.py play FILE              plays a case file and reports where the model disagrees with it
    streak_model.py fill SEED CASES        makes random cases and writes a case file with everything the model expects of them

It keeps a plain list of facts and answers every question by going through all of history again. Where the engine derives from the
ledger when a streak wrongly counted as broken, the model simply records what it showed before and after each fact.
"""
import json
import random
import sys
from datetime import date as Date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

HOUR = 3600
FINAL = 5 * 24 * HOUR  # so long after its end nothing but an outage declared afterwards changes a date


def parse(text):
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def show(t):
    return None if t is None else datetime.fromtimestamp(t, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def day(n):
    return (Date(1970, 1, 1) + timedelta(days=n)).isoformat()


def number(text):
    return (Date.fromisoformat(text) - Date(1970, 1, 1)).days


@lru_cache(None)
def zone_info(name):
    return ZoneInfo(name)


def local_date(zone, t):
    moment = datetime.fromtimestamp(t, zone_info(zone))
    return (moment.date() - Date(1970, 1, 1)).days


@lru_cache(None)
def first_showing(zone, d):
    """The first second at which a clock in `zone` shows date d or later: a scan in quarters of an hour, then second by halves."""
    t = d * 86400 - 15 * HOUR
    while local_date(zone, t) < d:
        t += 900
    low, high = t - 900, t
    while high - low > 1:
        middle = (low + high) // 2
        if local_date(zone, middle) >= d:
            high = middle
        else:
            low = middle
    return high


class Refused(Exception):
    pass


class Model:
    def __init__(self, case):
        self.kind = case["kind"]
        self.mutual = self.kind == "mutual"
        self.users = sorted(case["participants"])
        self.zones = {u: [(None, case["participants"][u])] for u in self.users}
        self.start = parse(case["start"])
        self.posts = {}          # (user, date) -> received at
        self.tokens = []         # dicts: at, first, last, returned
        self.outages = []        # (from, to)
        self.pauses = []         # (first paused date, first date that counts again)
        self.closed = []         # (from, to): shown as broken, but it was not to be
        self.ended = None
        self.freezes = case.get("freezes", 0)
        self.reached = 0
        self.first = {u: local_date(case["participants"][u], self.start) for u in self.users}
        self.newest = max(self.first.values())  # the newest date that any member posted for
        self.kept = None         # (date to continue with, the result of the dates before it): see `fold`
        self.kept_days = {}
        self.ends = {}           # what `over` has said, until a zone changes

    # Clocks

    def segments(self, user):
        history = self.zones[user]
        for i, (since, zone) in enumerate(history):
            until = history[i + 1][0] if i + 1 < len(history) else None
            yield (-10**12 if since is None else since), (10**12 if until is None else until), zone

    def date_of(self, user, t):
        for since, until, zone in self.segments(user):
            if since <= t < until:
                return local_date(zone, t)

    def over_for(self, user, d):
        """SD-4: the first instant this clock shows a later date; at the instant of a change it shows both zones' dates."""
        for since, until, zone in self.segments(user):
            t = max(since, first_showing(zone, d + 1))
            if t <= until:
                return t

    def over(self, d):
        if d not in self.ends:
            self.ends[d] = max(self.over_for(u, d) for u in self.users)
        return self.ends[d]

    def seconds_showing(self, user, d, before, during=None, without=()):
        """How long the clock showed d before an instant: in all, or during some spans, or outside of others."""
        total = 0
        for since, until, zone in self.segments(user):
            a = max(since, first_showing(zone, d))
            b = min(until, before, first_showing(zone, d + 1))
            if a >= b:
                continue
            marks = sorted({a, b} | {x for s in list(during or []) + list(without) for x in s if a < x < b})
            for x, y in zip(marks, marks[1:]):
                inside = during is None or any(f <= x and y <= t for f, t in during)
                outside = not any(f <= x and y <= t for f, t in without)
                if inside and outside:
                    total += y - x
        return total

    def hardly_seen(self, user, d):
        """SD-3, counting only time in which the streak could take a contribution."""
        return self.seconds_showing(user, d, self.over(d), without=self.closed) < 12 * HOUR

    # Dates

    def complete(self, d):
        return all((u, d) in self.posts for u in self.users)

    def covered(self, d):
        return any(k["returned"] is None and k["first"] <= d <= k["last"] for k in self.tokens)

    def neutral(self, d):
        if any(a <= d < b for a, b in self.pauses):
            return True
        if any(self.seconds_showing(u, d, self.over(d), during=self.outages) > 2 * HOUR for u in self.users):
            return True
        return all((u, d) in self.posts or self.hardly_seen(u, d) for u in self.users)

    def first_date(self):
        return min(self.first.values())

    def fold(self, now):
        """Everything the streak shows at `now`."""
        horizon = now if self.ended is None else min(now, self.ended)
        s = dict(count=0, longest=0, last=None, broken=None, broken_at=None, broken_by=None, freezes=self.freezes)
        open_date, d = None, self.first_date()
        if self.kept is not None:
            d, s = self.kept[0], dict(self.kept[1])
        s["days"] = dict(self.kept_days)
        last = max([self.date_of(u, horizon) for u in self.users] + [self.newest])
        while True:
            if d > last and (open_date is not None or self.ended is not None or d > last + 400):
                break
            if self.complete(d):
                s["days"][d] = "complete"
                s["last"] = d
                s["count"] += 1
                s["broken"] = s["broken_at"] = s["broken_by"] = None
            elif self.over(d) > horizon:
                if d <= last:
                    s["days"][d] = "none" if self.ended is not None else "open"
                could = all(d >= self.first[u] for u in self.users)
                if open_date is None and could and not any(a <= d < b for a, b in self.pauses):
                    open_date = d
            elif s["count"] == 0:
                s["days"][d] = "none"
            elif self.covered(d):
                s["days"][d] = "covered"
            elif self.neutral(d):
                s["days"][d] = "neutral"
            elif s["freezes"] > 0:
                s["freezes"] -= 1
                s["days"][d] = "frozen"
                s["count"] += 1
            else:
                s["days"][d] = "missed"
                s["broken"], s["broken_at"] = d, self.over(d)
                missing = [u for u in self.users if (u, d) not in self.posts and not self.hardly_seen(u, d)]
                s["broken_by"] = missing[0] if len(missing) == 1 else None
                if self.mutual:
                    break
                s["count"] = 0
            s["longest"] = max(s["longest"], s["count"])
            if s["days"].get(d) != "open" and self.over(d) < horizon - FINAL:
                # Only a fact that calls `start_over` can change these dates: a year need not be folded again every time.
                self.kept = d + 1, {key: value for key, value in s.items() if key != "days"}
                self.kept_days[d] = s["days"][d]
            d += 1
        s["longest"] = max(s["longest"], self.reached)
        s["status"] = "ended" if self.ended is not None else "broken" if s["broken"] is not None else "active"
        s["stopped_at"] = s["broken_at"] if self.mutual else None
        if s["status"] != "broken":
            s["broken_at"] = s["broken_by"] = None
        running = self.ended is None and not (self.mutual and s["status"] == "broken")
        s["open"] = open_date if running else None
        s["deadline"] = self.over(open_date) if running else None
        s["close"] = running and s["deadline"] - now < 6 * HOUR
        s["at_risk"] = s["close"] and s["count"] > 0 and not self.covered(open_date) and not self.neutral(open_date)
        s["returned"] = sum(k["returned"] is not None for k in self.tokens)
        return s

    def start_over(self):
        self.kept, self.kept_days = None, {}

    # What happens

    def contribute(self, now, user, captured):
        if captured is not None and captured > now + 300:
            raise Refused("CAPTURED_IN_FUTURE")
        if self.ended is not None:
            raise Refused("STREAK_NOT_ACTIVE")
        d = today = self.date_of(user, now)
        if captured is not None:
            c = self.date_of(user, captured)
            if self.first[user] <= c < today and (user, c) not in self.posts:
                if now <= self.over_for(user, c) + 6 * HOUR:
                    d = c
        before = self.fold(now)
        if self.mutual and before["status"] == "broken" and d > before["broken"]:
            raise Refused("STREAK_NOT_ACTIVE")
        if (user, d) in self.posts:
            raise Refused("ALREADY_POSTED")
        self.posts[user, d] = now
        self.newest = max(self.newest, d)
        if self.kept is not None and d < self.kept[0]:
            self.start_over()
        for token in self.tokens:
            if token["returned"] is None and self.complete(token["first"]):
                others = range(token["first"] + 1, token["last"] + 1)
                if not any(self.lost(x, now) for x in others):
                    token["returned"] = now
        return d

    def lost(self, d, now):
        if self.complete(d) or self.neutral(d):
            return False
        return any((u, d) not in self.posts and self.over_for(u, d) <= now for u in self.users)

    def recover(self, now, user):
        s = self.fold(now)
        used = any(k["returned"] is None for k in self.tokens)
        if not self.mutual:
            raise Refused("STREAK_NOT_BROKEN")
        if s["status"] == "broken":
            if used:
                raise Refused("RECOVERY_ALREADY_USED")
            if now > s["broken_at"] + 24 * HOUR:
                raise Refused("RECOVERY_WINDOW_EXPIRED")
            last = max([s["broken"]] + [self.date_of(u, now) for u in self.users])
            self.tokens.append(dict(at=now, by=user, first=s["broken"], last=last, returned=None))
            return
        today = [self.date_of(u, now) for u in self.users]
        if self.ended is None and any(k["returned"] is None and k["first"] <= d <= k["last"] for k in self.tokens for d in today):
            raise Refused("RECOVERY_ALREADY_USED")
        if s["status"] != "active" or s["count"] == 0 or not s["close"]:
            raise Refused("STREAK_NOT_BROKEN")
        if used:
            raise Refused("RECOVERY_ALREADY_USED")
        if not s["at_risk"]:
            raise Refused("STREAK_NOT_BROKEN")
        self.tokens.append(dict(at=now, by=user, first=s["open"], last=s["open"], returned=None))

    def pause(self, now, until):
        today = self.date_of(self.users[0], now)
        while self.over(today) <= now:  # what is settled stays settled, also when the clock shows the date again
            today += 1
        if self.mutual:
            raise Refused("PAUSE_NOT_ALLOWED")
        if self.ended is not None:
            raise Refused("STREAK_NOT_ACTIVE")
        if until <= today:
            raise Refused("VALIDATION_ERROR")
        if until - today > 90:
            raise Refused("PAUSE_TOO_LONG")
        if any(a <= today < b for a, b in self.pauses):
            raise Refused("ALREADY_PAUSED")
        self.pauses.append((today, until))

    def step(self, step):
        """Plays one step. Returns the date credited, if any."""
        now = parse(step["at"])
        before = self.fold(now)
        self.reached = max(self.reached, before["longest"])
        credited = None
        if "contribute" in step:
            captured = step.get("captured_at")
            credited = self.contribute(now, step["contribute"], None if captured is None else parse(captured))
        elif "recover" in step:
            self.recover(now, step["recover"])
        elif "zone" in step:
            for user, zone in step["zone"].items():
                if self.zones[user][-1][1] != zone:
                    self.zones[user].append((now, zone))
                    self.ends = {}
        elif "outage" in step:
            self.outages.append((parse(step["outage"]["from"]), parse(step["outage"]["to"])))
            self.start_over()
        elif "pause_until" in step:
            self.pause(now, number(step["pause_until"]))
        elif "unfriend" in step:
            self.ended = now if self.ended is None else self.ended
        if before["stopped_at"] is not None and before["stopped_at"] < now:
            # Judged without the closure itself: did this fact undo the break?
            if self.fold(now)["days"].get(before["broken"]) != "missed":
                self.closed.append((before["stopped_at"], now))
        return credited

    def expectation(self, now):
        s = self.fold(now)
        expect = dict(
            status=s["status"], count=s["count"], longest=s["longest"], broken_by=s["broken_by"], broken_at=show(s["broken_at"]),
            deadline_at=show(s["deadline"]), at_risk=s["at_risk"], tokens_returned=s["returned"],
            last_completed_date=None if s["last"] is None else day(s["last"]),
            days={day(d): mark for d, mark in s["days"].items()})
        if not self.mutual:
            expect["freezes"] = s["freezes"]
        return expect


def play(path):
    passed = failed = 0
    for case in json.load(open(path))["cases"]:
        model, lines = Model(case), []
        for step in case["steps"]:
            error = credited = None
            try:
                credited = model.step(step)
            except Refused as refusal:
                error = str(refusal)
            if error != step.get("error"):
                lines.append(f"{step['at']}: expected {step.get('error')}, got {error}")
            if "credited_to" in step and day(credited) != step["credited_to"]:
                lines.append(f"{step['at']}: expected credited_to {step['credited_to']}, got {day(credited)}")
            actual = model.expectation(parse(step["at"]))
            for key, value in step.get("expect", {}).items():
                for d, mark in value.items() if key == "days" else []:
                    if actual["days"].get(d, "none") != mark:
                        lines.append(f"{step['at']}: expected {d} {mark}, got {actual['days'].get(d, 'none')}")
                if key != "days" and actual[key] != value:
                    lines.append(f"{step['at']}: expected {key} {value}, got {actual[key]}")
        passed, failed = passed + (not lines), failed + bool(lines)
        for line in lines:
            print(f"FAILED {case['name']}: {line}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


ZONES = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo", "Asia/Kolkata", "Pacific/Kiritimati", "Pacific/Pago_Pago",
         "Pacific/Auckland", "Pacific/Honolulu", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo", "Pacific/Chatham",
         "Africa/Casablanca", "America/Havana", "Asia/Kathmandu", "America/St_Johns", "Antarctica/Troll", "Etc/GMT+12"]
SEASONS = ["2026-03-01", "2026-03-25", "2026-04-01", "2026-05-01", "2026-09-01", "2026-10-25", "2026-12-28", "2011-12-26"]


def random_case(r, index):
    kind = "check_in" if r.random() < 0.3 else "mutual"
    users = ["a"] if kind == "check_in" else ["a", "b", "c"] if r.random() < 0.1 else ["a", "b"]
    # Two of three cases stay with two zones, so that streaks get long enough to have something to lose.
    pool = r.sample(ZONES, 2) if r.random() < 0.66 else ZONES
    case = dict(name=f"random {index}", rule="", kind=kind, participants={u: r.choice(pool) for u in users})
    now = number(r.choice(SEASONS)) * 86400 + r.randrange(5 * 86400)
    case["start"] = show(now)
    if kind == "check_in":
        case["freezes"] = r.randrange(4)
    model, diligence = Model(case), r.choice([0.5, 0.8, 0.95])
    case["steps"] = steps = []
    travels = r.random() < 0.4

    def add(step):
        at = parse(step["at"])
        try:
            credited = model.step(step)
            if credited is not None:
                step["credited_to"] = day(credited)
        except Refused as refusal:
            step["error"] = str(refusal)
        steps.append(step)
        steps.append(dict(at=step["at"], expect=model.expectation(at)))

    end = now + r.randrange(4, 14) * 86400
    while now < end:
        due = model.fold(now)["deadline"]
        if due is not None and due > now and r.random() < 0.25:
            # Exactly at, just before and just after the instants that matter.
            now = max(now, due + r.choice([-6 * HOUR, 0, 6 * HOUR, 24 * HOUR]) + r.choice([-1, 0, 1]))
        else:
            now += r.choice([1, 600, HOUR, 3 * HOUR, 5 * HOUR, 9 * HOUR])
        if due is not None and r.random() < diligence:
            for user in users:
                if (user, model.date_of(user, now)) not in model.posts and r.random() < diligence:
                    add(dict(at=show(now), contribute=user))
        at, chance = show(now), r.random()
        if chance < 0.12:
            captured = now - r.choice([-301, -300, 60, HOUR, 4 * HOUR, 8 * HOUR, 26 * HOUR, 50 * HOUR])
            add(dict(at=at, contribute=r.choice(users), captured_at=show(captured)))
        elif chance < 0.30 and travels:
            add(dict(at=at, zone={r.choice(users): r.choice(pool)}))
        elif chance < 0.45:
            add(dict(at=at, recover=r.choice(users)))
        elif chance < 0.50:
            begin = now - r.randrange(3 * 86400)
            add(dict(at=at, outage={"from": show(begin), "to": show(begin + r.choice([2 * HOUR, 2 * HOUR + 1, 5 * HOUR, 30 * HOUR]))}))
        elif chance < 0.53 and kind == "check_in":
            add(dict(at=at, pause_until=day(model.date_of("a", now) + r.choice([0, 1, 3, 91]))))
        elif chance < 0.535:
            add(dict(at=at, unfriend=True))
        else:
            steps.append(dict(at=at, expect=model.expectation(now)))
    return case


def fill(seed, count):
    r = random.Random(seed)
    cases = [random_case(r, f"{seed}.{index}") for index in range(count)]
    json.dump(dict(about="random cases with what the model expects", cases=cases), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(play(sys.argv[2]) if sys.argv[1] == "play" else fill(int(sys.argv[2]), int(sys.argv[3])))
