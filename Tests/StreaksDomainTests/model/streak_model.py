#!/usr/bin/env python3
"""A slow, independent model of the streak day, written from the rules (SD, MS, RC, CI-1 … CI-5, TS-1 … TS-4), to check
the engine against.

    streak_model.py play FILE              plays a case file and reports where the model disagrees with it
    streak_model.py fill SEED CASES [KIND] makes random cases and writes a case file with everything the model expects of them

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
REACH = 9 * 24 * HOUR  # the same where a time machine reaches seven dates back


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


def copied(value):
    return value.copy() if isinstance(value, (list, dict)) else value


class Refused(Exception):
    pass


DAY = 24 * HOUR
NEVER = 10**12
MILESTONE_FREEZES = {7: 1, 14: 1, 21: 1, 30: 2, 50: 1, 100: 3, 180: 3, 365: 5}  # CI-5


class Model:
    def __init__(self, case):
        self.kind = case["kind"]
        self.mutual, self.team = self.kind == "mutual", self.kind == "team"
        self.check_in, self.typed = self.kind == "check_in", self.kind == "typed"
        self.users = sorted(case["participants"])
        self.zones = {u: [(None, case["participants"][u])] for u in self.users}
        self.start = parse(case["start"])
        self.posts = {}          # (user, date) -> received at
        self.tokens = []         # dicts: at, first, last, returned
        self.outages = []        # (from, to, when declared)
        self.pauses = []         # (first paused date, first date that counts again)
        self.closed = []         # (from, to): shown as broken, but it was not to be
        self.ended = None
        self.offs = []           # (at, for whose conduct a moderator broke it)
        # What came into hand, when: (at, count). What runs and milestones earn is worked out.
        self.grants = [(self.start, case["freezes"])] if case.get("freezes") else []
        self.by_hand = {}        # when dates were frozen by hand
        self.plans = {}          # user -> [(since, premium, until)]
        self.protections = []    # (at, until, id): insurances of a typed streak, shields of a check-in
        self.stays = {u: [(None, None)] for u in self.users}  # (joined, left)
        self.since = {u: [local_date(case["participants"][u], self.start)] for u in self.users}  # first date of each stay
        self.reached = 0
        self.first = {u: local_date(case["participants"][u], self.start) for u in self.users}
        self.begin = min(self.first.values())
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
            ends = []
            for u in self.users:
                for (joined, left), first in zip(self.stays[u], self.since[u]):
                    if not self.team or first <= d and left is None:
                        ends.append(self.over_for(u, d))
                    elif first <= d <= self.newest_shown(u, left):  # who left held the date up only until then
                        ends.append(min(self.over_for(u, d), left))
            self.ends[d] = max(ends) if ends else max(self.over_for(u, d) for u in self.users)
        return self.ends[d]

    def newest_shown(self, user, t):
        return max(local_date(zone, min(until, t)) for since, until, zone in self.segments(user) if since <= t)

    def members(self, d):
        """TS-4: from the date after joining on; on the date of leaving only who had contributed."""
        if not self.team:
            return self.users
        found = []
        for u in self.users:
            for (joined, left), first in zip(self.stays[u], self.since[u]):
                if first <= d and (left is None or d < self.date_of(u, left) or self.posts.get((u, d), NEVER) <= left):
                    found.append(u)
                    break
        return found

    def needed(self, members):
        return max(2, -(-len(members) * 60 // 100)) if self.team else len(members)

    def premium(self, t):
        for since, premium, until in reversed(self.plans.get(self.users[0], [])):
            if since <= t:
                return premium and (until is None or t < until)
        return False

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
        return self.complete_by(d, NEVER)

    def complete_by(self, d, t):
        """Whether enough was received before t."""
        members = self.members(d)
        posted = sum(self.posts.get((u, d), NEVER) < t for u in members)
        return posted > 0 and posted >= self.needed(members)

    def covering(self, d):
        for k in self.tokens:
            if k["returned"] is None and k["first"] <= d <= k["last"]:
                return k

    def covered(self, d):
        return self.covering(d) is not None

    def neutral(self, d, by=NEVER, declared=NEVER):
        if any(a <= d < b for a, b in self.pauses):
            return True
        members = self.members(d)
        if self.team and len(members) < 2:
            return True
        outages = [(begin, end) for begin, end, at in self.outages if at <= declared]
        if any(self.seconds_showing(u, d, self.over(d), during=outages) > 2 * HOUR for u in members):
            return True
        fine = sum(self.posts.get((u, d), NEVER) < by or self.hardly_seen(u, d) for u in members)
        return fine >= self.needed(members)

    # What a streak of one has beside

    def hand(self, s, t):
        """Freezes in hand at t: what was obtained before; earned ones above five are lost, bought ones never (CI-2)."""
        happened = [(at, 1, n) for at, n in self.grants if at < t] + [(at, 2, n) for at, n in s["earned"] if at < t]
        held = 0
        happened += [(at, 0, 1) for at in s["spent"]] + [(at, 0, 1) for at in s["late"] if at < t]
        for _, what, n in sorted(happened):
            if what == 0:
                held -= n
            elif what == 1:
                held += n
            else:
                held += min(n, max(0, 5 - held))
        return held

    def month(self, d):
        return day(d)[:7]

    def free_dates(self, s, d, t):
        """TS-3: one neutral date a month, premium four."""
        if not self.typed:
            return 0
        used = sum(self.month(x) == self.month(d) for x in s["free"])
        return (4 if self.premium(t) else 1) - used

    def held(self, s, t):
        """Protections valid at t, in the order in which they would be spent."""
        valid = [p for p in self.protections if p[0] <= t and (p[1] is None or t < p[1]) and p[2] not in s["used"]]
        return sorted(valid, key=lambda p: (NEVER if p[1] is None or self.check_in else p[1], p[0], p[2]))

    def count_on(self, s, d, t):
        """One more date of the run, reached at t."""
        s["run"] = d if s["count"] == 0 else s["run"]
        s["count"] += 1
        n = s["counts"][d] = s["count"]
        if n > s["longest"]:
            s["first"][n] = d
        if self.check_in:
            if n % (5 if self.premium(t) else 7) == 0:
                s["earned"].append((t, 1))
            if n > s["longest"] and n in MILESTONE_FREEZES:
                s["earned"].append((t, MILESTONE_FREEZES[n]))
        s["broken"] = s["broken_at"] = s["broken_by"] = None

    def offs_on(self, d, horizon):
        """SO-9, of a streak that begins anew: those of the date that the clock showed."""
        return [off for off in self.offs if off[0] <= horizon and max(self.newest_shown(u, off[0]) for u in self.users) == d]

    def break_run(self, s, d):
        for at, user in [] if self.mutual else self.offs_on(d, NEVER):
            if s["count"] > 0:
                s["broken"], s["broken_at"], s["broken_by"] = d, at, user
                s["count"], s["lost"], s["run"] = 0, None, None

    def settled(self, s, d):
        """When d is settled: at its end, or 12 h later where a team has a grace (TS-4), once in seven dates."""
        end = self.over(d)
        if not self.team or s["count"] == 0 or (s["grace"] is not None and d - s["grace"] < 7) or self.neutral(d, by=end):
            return end
        return end + 12 * HOUR

    def first_date(self):
        return self.begin

    def fold(self, now):
        """Everything the streak shows at `now`."""
        horizon = now if self.ended is None else min(now, self.ended)
        if self.mutual and self.offs:
            horizon = min(horizon, self.offs[0][0])
        s = dict(count=0, longest=0, last=None, broken=None, broken_at=None, broken_by=None, run=None, lost=None, grace=None,
                 earned=[], spent=[], late=[], free=[], used=[], premium=None, first={}, counts={})
        open_date, d, reserved = None, self.first_date(), 0
        if self.kept is not None:
            d, s = self.kept[0], {key: copied(value) for key, value in self.kept[1].items()}
        s["days"] = dict(self.kept_days)
        last = max([self.date_of(u, horizon) for u in self.users] + [self.newest])
        while True:
            if d > last and (open_date is not None or self.ended is not None or d > last + 400):
                break
            end, settled = self.over(d), self.settled(s, d)
            if self.complete(d):
                s["days"][d] = "complete"
                s["last"] = d
                if settled > end and not self.complete_by(d, end):
                    s["grace"] = d
                self.count_on(s, d, max(self.posts.get((u, d), 0) for u in self.users))
                s["longest"] = max(s["longest"], s["count"])
                self.break_run(s, d)
            elif not self.mutual and s["count"] > 0 and self.offs_on(d, horizon):
                s["days"][d] = "missed"
                self.break_run(s, d)
            elif settled > horizon:
                if d <= last:
                    s["days"][d] = "none" if self.ended is not None else "open"
                    reserved += d in self.by_hand
                could = self.team or all(d >= self.first[u] for u in self.users)
                if open_date is None and could and not any(a <= d < b for a, b in self.pauses):
                    open_date, s["deadline"] = d, settled
            elif s["count"] == 0:
                s["days"][d] = "none"
            else:
                if settled > end:
                    s["grace"] = d
                cover = self.covering(d)
                held = [p for p in self.held(s, end) if p[0] < end]
                if cover is not None and cover["kind"] == "fill":
                    s["days"][d] = "filled"
                    self.count_on(s, d, cover["at"])
                elif cover is not None:
                    s["days"][d] = "covered"
                elif self.neutral(d):
                    # An outage that is declared afterwards gives the freeze back; the date stays counted.
                    kept = self.check_in and self.hand(s, end) > 0 and not self.neutral(d, declared=end)
                    s["days"][d] = "frozen" if kept else "neutral"
                    if kept:
                        self.count_on(s, d, end)
                elif self.check_in and self.hand(s, end) > 0:
                    s["spent"].append(end)
                    s["days"][d] = "frozen"
                    self.count_on(s, d, end)
                elif self.free_dates(s, d, end) > 0:
                    s["free"].append(d)
                    s["days"][d] = "neutral"
                elif self.typed and self.premium(end) and (s["premium"] is None or d - s["premium"] >= 7):
                    s["premium"] = d
                    s["days"][d] = "covered"
                elif held:
                    s["used"].append(held[0][2])
                    s["days"][d] = "covered"
                elif end <= self.by_hand.get(d, 0) <= now:
                    # CI-2: a freeze that came later, used by hand.
                    s["late"].append(self.by_hand[d])
                    s["days"][d] = "frozen"
                    self.count_on(s, d, self.by_hand[d])
                else:
                    s["days"][d] = "missed"
                    s["broken"], s["broken_at"] = d, settled
                    missing = [u for u in self.users if (u, d) not in self.posts and not self.hardly_seen(u, d)]
                    s["broken_by"] = missing[0] if len(missing) == 1 and not self.team else None
                    if self.mutual:
                        break
                    s["lost"] = (d, settled, s["count"])
                    s["count"] = 0
            s["longest"] = max(s["longest"], s["count"])
            if s["days"].get(d) != "open" and self.over(d) < horizon - (FINAL if self.mutual else REACH):
                # Only a fact that calls `start_over` can change these dates: a year need not be folded again every time.
                self.kept = d + 1, {key: copied(value) for key, value in s.items() if key != "days"}
                self.kept_days[d] = s["days"][d]
            d += 1
        if self.mutual and self.offs and self.offs[0][0] <= horizon and s["broken"] is None:
            at, user = self.offs[0]
            d = max(self.newest_shown(u, at) for u in self.users)
            s["days"] = {x: "none" if mark == "open" else mark for x, mark in s["days"].items()}
            if s["days"].get(d) != "complete":
                s["days"][d] = "missed"
            s["broken"], s["broken_at"], s["broken_by"] = d, at, user
        s["longest"] = max(s["longest"], self.reached)
        s["status"] = "ended" if self.ended is not None else "broken" if s["broken"] is not None else "active"
        s["stopped_at"] = s["broken_at"] if self.mutual else None
        if s["status"] != "broken":
            s["broken_at"] = s["broken_by"] = None
        running = self.ended is None and not (self.mutual and s["status"] == "broken")
        s["open"] = open_date if running else None
        s["deadline"] = s["deadline"] if running else None
        s["close"] = running and s["deadline"] - now < 6 * HOUR
        sheltered = running and (self.covered(open_date) or self.neutral(open_date))
        s["at_risk"] = s["close"] and s["count"] > 0 and not sheltered
        s["returned"] = sum(k["returned"] is not None for k in self.tokens if k["kind"] == "token")
        s["covers_returned"] = sum(k["returned"] is not None for k in self.tokens if k["kind"] != "token")
        s["hand"] = max(0, self.hand(s, now + 0.5))
        s["left"] = max(0, s["hand"] - reserved)
        s["grace_date"] = open_date if running and self.over(open_date) <= now else None
        wakes = [self.over(b - 1) for a, b in self.pauses if a < b and self.over(b - 1) > now]
        if self.team and running and s["count"] > 0 and not sheltered and now < self.over(open_date) < s["deadline"]:
            wakes.append(self.over(open_date))
        if running and s["status"] == "active" and s["count"] > 0:
            wakes.append(s["deadline"])
        s["next_due"] = min(wakes) if wakes and self.ended is None else None
        return s

    def start_over(self):
        self.kept, self.kept_days = None, {}

    # What happens

    def contribute(self, now, user, captured):
        if user not in self.stays:
            raise Refused("NOT_A_MEMBER")
        left = self.stays[user][-1][1]
        if self.ended is not None:
            raise Refused("STREAK_NOT_ACTIVE")
        if self.mutual and self.offs:
            raise Refused("STREAK_NOT_ACTIVE")
        d = today = self.date_of(user, now)
        if captured is not None and now - 48 * HOUR <= captured <= now + 900:
            c = self.date_of(user, captured)
            if self.first[user] <= c < today and (user, c) not in self.posts:
                if now <= self.over_for(user, c) + 6 * HOUR:
                    d = c
        before = self.fold(now)
        grace = before["grace_date"]
        if d == today and grace is not None and self.first[user] <= grace < today and (user, grace) not in self.posts:
            d = grace  # TS-4: in a grace a contribution counts for the missed date first
        if left is not None and d >= self.date_of(user, left):
            raise Refused("NOT_A_MEMBER")
        if self.mutual and before["status"] == "broken" and d > before["broken"]:
            raise Refused("STREAK_NOT_ACTIVE")
        if any(d <= self.newest_shown(user, at) for at, _ in self.offs):
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
        return any((u, d) not in self.posts and self.over_for(u, d) <= now for u in self.members(d))

    def recover(self, now, user):
        s = self.fold(now)
        used = any(k["returned"] is None for k in self.tokens)  # a mutual streak has no other covers
        if not self.mutual:
            raise Refused("STREAK_NOT_BROKEN")
        if s["status"] == "broken":
            if self.offs:
                raise Refused("RECOVERY_WINDOW_EXPIRED")
            if used:
                raise Refused("RECOVERY_ALREADY_USED")
            if now > s["broken_at"] + 24 * HOUR:
                raise Refused("RECOVERY_WINDOW_EXPIRED")
            last = max([s["broken"]] + [self.date_of(u, now) for u in self.users])
            self.tokens.append(dict(kind="token", at=now, first=s["broken"], last=last, returned=None))
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
        self.tokens.append(dict(kind="token", at=now, first=s["open"], last=s["open"], returned=None))

    def repair(self, now):
        """CI-3, and the restore of TS-3."""
        s = self.fold(now)
        if self.mutual or self.team or self.ended is not None or s["lost"] is None:
            raise Refused("STREAK_NOT_BROKEN")
        d, at, count = s["lost"]
        if count < 7:
            raise Refused("STREAK_TOO_SHORT")
        if now > at + DAY:
            raise Refused("REPAIR_WINDOW_EXPIRED")
        if any(k["kind"] == "repair" and k["returned"] is None and now < k["at"] + 30 * DAY for k in self.tokens):
            raise Refused("REPAIR_COOLDOWN_ACTIVE")
        last = max(d, self.newest_shown(self.users[0], now))
        self.tokens.append(dict(kind="repair", at=now, first=d, last=last, returned=None))

    def fill(self, now, d):
        """The time machine of TS-3: refused unless the runs join."""
        if self.mutual or self.team or self.ended is not None:
            raise Refused("STREAK_NOT_ACTIVE")
        today, before = self.date_of(self.users[0], now), self.fold(now)
        if not today - 7 <= d < today:
            raise Refused("VALIDATION_ERROR")
        if before["days"].get(d) != "missed":
            raise Refused("DATE_NOT_MISSED")
        self.tokens.append(dict(kind="fill", at=now, first=d, last=d, returned=None))
        after = self.fold(now)
        joins = after["status"] == "active" and after["count"] > before["count"] and after["run"] is not None and after["run"] < d
        if not joins:
            self.tokens.pop()
            raise Refused("RUNS_DO_NOT_JOIN")

    def buy(self, now, count):
        if not self.check_in or self.ended is not None:
            raise Refused("STREAK_NOT_ACTIVE")
        if self.fold(now)["hand"] + count > 5:
            raise Refused("MAX_FREEZES_REACHED")
        self.grants.append((now, count))

    def freeze(self, now, d):
        today, s = self.date_of(self.users[0], now), self.fold(now)
        if not self.check_in or self.ended is not None:
            raise Refused("STREAK_NOT_ACTIVE")
        if d not in (today, today - 1):
            raise Refused("VALIDATION_ERROR")
        if s["left"] == 0:
            raise Refused("NO_FREEZES_AVAILABLE")
        if s["days"].get(d) == "missed":
            if s["lost"] is None or s["lost"][0] != d:
                raise Refused("STREAK_NOT_ACTIVE")  # a moderator's decision
            if now > self.over(d) + 24 * HOUR:
                raise Refused("FREEZE_TOO_LATE")
            self.start_over()
        elif d in self.by_hand or s["days"].get(d) != "open" or s["count"] == 0:
            raise Refused("FREEZE_NOT_NEEDED")
        self.by_hand[d] = now

    def protect(self, now, what, until):
        if not (what == "insurance" and self.typed or what == "shield" and self.check_in):
            raise Refused("PROTECTION_NOT_ALLOWED")
        if self.ended is not None:
            raise Refused("STREAK_NOT_ACTIVE")
        if until is not None and until <= now:
            raise Refused("VALIDATION_ERROR")
        self.protections.append((now, until, len(self.protections)))

    def insurable(self, now):
        """TS-3: a streak is insured once in 7 days, also when the insurance is spent. The use of one asks for it; `protect` takes what it is given."""
        return all(now >= at + 7 * DAY for at, _, _ in self.protections)

    def join(self, now, user, zone):
        if self.ended is not None:
            raise Refused("STREAK_NOT_ACTIVE")
        if user not in self.users:
            self.zones[user] = [(None, zone)]
            self.first[user] = local_date(zone, self.start)
            self.stays[user], self.since[user] = [], []
        elif self.stays[user][-1][1] is None:
            return
        here = [u for u in self.users if self.stays[u][-1][1] is None] + [user]
        self.stays[user].append((now, None))
        self.since[user].append(1 + max(self.newest_shown(u, now) for u in here))
        self.users = sorted(set(self.users) | {user})
        self.ends = {}

    def leave(self, now, user):
        if user not in self.users:
            raise Refused("NOT_A_MEMBER")
        joined, left = self.stays[user][-1]
        if left is None:
            self.stays[user][-1] = (joined, now)
            self.ends = {}

    def break_off(self, now, user):
        """SO-9: a running streak that counts something breaks at once, and nothing undoes it."""
        s = self.fold(now)
        if s["status"] == "active" and s["count"] > 0:
            self.offs.append((now, user))

    def pause(self, now, until):
        today = self.date_of(self.users[0], now)
        while self.over(today) <= now:  # what is settled stays settled, also when the clock shows the date again
            today += 1
        if not self.check_in:
            raise Refused("PAUSE_NOT_ALLOWED")
        if self.ended is not None:
            raise Refused("STREAK_NOT_ACTIVE")
        if until <= today:
            raise Refused("VALIDATION_ERROR")
        if until - today > 90:
            raise Refused("PAUSE_TOO_LONG")
        if any(a <= today < b for a, b in self.pauses):
            raise Refused("ALREADY_PAUSED")
        for index, (a, b) in enumerate(self.pauses):
            if today < a <= until and a < b:  # that one begins earlier
                self.pauses[index] = (today, max(until, b))
                return
        done = self.fold(now)["last"]
        if any(a < b and (done is None or done < b) for a, b in self.pauses):  # CI-1
            raise Refused("PAUSE_NEEDS_CHECK_IN")
        self.pauses.append((today, until))

    def resume(self, now):
        today = self.date_of(self.users[0], now)
        while self.over(today) <= now:
            today += 1
        for index, (a, b) in enumerate(self.pauses):
            if a <= today < b:
                self.pauses[index] = (a, today)
                return
        raise Refused("NOT_PAUSED")

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
            self.outages.append((parse(step["outage"]["from"]), parse(step["outage"]["to"]), now))
            self.start_over()
        elif "pause_until" in step:
            self.pause(now, number(step["pause_until"]))
        elif "resume" in step:
            self.resume(now)
        elif "repair" in step:
            self.repair(now)
        elif "fill" in step:
            self.fill(now, number(step["fill"]))
        elif "buy" in step:
            self.buy(now, step["buy"])
        elif "freeze" in step:
            self.freeze(now, number(step["freeze"]))
        elif "protect" in step:
            self.protect(now, step["protect"], None if step["until"] is None else parse(step["until"]))
        elif "plan" in step:
            until = None if step["until"] is None else parse(step["until"])
            self.plans.setdefault(self.users[0], []).append((now, step["plan"] == "premium", until))
        elif "join" in step:
            for user, zone in step["join"].items():
                self.join(now, user, zone)
        elif "leave" in step:
            self.leave(now, step["leave"])
        elif "break_off" in step:
            self.break_off(now, step["break_off"])
        elif "unfriend" in step:
            self.ended = now if self.ended is None else self.ended
        if before["stopped_at"] is not None and before["stopped_at"] < now and not self.offs:
            # Judged without the closure itself: did this fact undo the break?
            if self.fold(now)["days"].get(before["broken"]) != "missed":
                self.closed.append((before["stopped_at"], now))
        self.reached = max(self.reached, self.fold(now)["longest"])
        return credited

    def expectation(self, now):
        s = self.fold(now)
        expect = dict(
            status=s["status"], count=s["count"], longest=s["longest"], broken_by=s["broken_by"], broken_at=show(s["broken_at"]),
            deadline_at=show(s["deadline"]), at_risk=s["at_risk"], tokens_returned=s["returned"],
            last_completed_date=None if s["last"] is None else day(s["last"]),
            days={day(d): mark for d, mark in s["days"].items()})
        expect["next_due"] = show(s["next_due"])
        if self.mutual:
            return expect
        expect.update(covers_returned=s["covers_returned"], freezes=s["left"], freezes_held=s["hand"],
                      protections=0 if self.ended is not None else len(self.held(s, now)),
                      grace_date=None if s["grace_date"] is None else day(s["grace_date"]),
                      lost=None if s["lost"] is None else s["lost"][2])
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


def extra(r, add, model, kind, at, now, pool):
    """One of the things that only streaks of one, or only teams, have."""
    if kind == "team":
        user = r.choice("abcdefgh")
        if user not in model.users or r.random() < 0.6:
            add(dict(at=at, join={user: r.choice(pool)}))
        else:
            add(dict(at=at, leave=user))
        return
    today, s = model.date_of("a", now), model.fold(now)
    what = r.choice(["plan", "repair", "fill", "buy", "freeze", "protect", "resume"])
    if s["lost"] is not None and now - s["lost"][1] < 2 * DAY:
        what = r.choice(["repair", "fill", "fill", what])
    if what == "plan":
        until = r.choice([None, show(now + r.choice([HOUR, DAY, 5 * DAY, 20 * DAY]))])
        add(dict(at=at, plan=r.choice(["premium", "premium", "free"]), until=until))
    elif what == "repair":
        add(dict(at=at, repair="a"))
    elif what == "fill":
        missed = [d for d, mark in s["days"].items() if mark == "missed"]
        add(dict(at=at, fill=day(missed[-1] if missed and r.random() < 0.8 else today - r.randrange(9))))
    elif what == "buy":
        add(dict(at=at, buy=r.choice([1, 1, 5])))
    elif what == "freeze":
        add(dict(at=at, freeze=day(today - r.choice([0, 0, 1, 2]))))
    elif what == "protect":
        kinds = ["shield", "insurance"] if r.random() < 0.1 else ["shield"] if kind == "check_in" else ["insurance"]
        add(dict(at=at, protect=r.choice(kinds), until=r.choice([None, show(now + 7 * DAY), show(now + DAY)])))
    else:
        add(dict(at=at, resume=True))


def random_case(r, index, kind=None):
    kind = kind or r.choice(["mutual", "check_in", "typed", "team"])
    users = ["a", "b", "c"] if r.random() < 0.1 else ["a", "b"]
    if kind in ("check_in", "typed"):
        users = ["a"]
    elif kind == "team":
        users = ["a", "b", "c", "d", "e", "f"][:r.choice([1, 2, 3, 5, 6])]
    # Two of three cases stay with two zones, so that streaks get long enough to have something to lose.
    pool = r.sample(ZONES, 2) if r.random() < 0.66 else ZONES
    case = dict(name=f"random {index}", rule="", kind=kind, participants={u: r.choice(pool) for u in users})
    now = number(r.choice(SEASONS)) * 86400 + r.randrange(5 * 86400)
    case["start"] = show(now)
    if kind == "check_in":
        case["freezes"] = r.randrange(4)
    model, diligence = Model(case), r.choice([0.5, 0.8, 0.95])
    alone = kind in ("check_in", "typed")
    if alone and r.random() < 0.3:
        diligence = 0.99
    case["steps"] = steps = []
    travels = r.random() < 0.4
    extras = {case["start"]}  # a case names what is used by its instant: there is one of these at an instant, none at the start

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

    end = now + r.randrange(4, 36 if alone else 14) * 86400
    while now < end:
        due = model.fold(now)["deadline"]
        if due is not None and due > now and r.random() < 0.25:
            # Exactly at, just before and just after the instants that matter.
            now = max(now, due + r.choice([-6 * HOUR, 0, 6 * HOUR, 24 * HOUR]) + r.choice([-1, 0, 1]))
        else:
            now += r.choice([1, 600, HOUR, 3 * HOUR, 5 * HOUR, 9 * HOUR])
        if due is not None and r.random() < diligence:
            for user in list(model.users):
                if (user, model.date_of(user, now)) not in model.posts and r.random() < diligence:
                    add(dict(at=show(now), contribute=user))
        at, chance = show(now), r.random()
        if chance < 0.12:
            captured = now - r.choice([-901, -900, 60, HOUR, 4 * HOUR, 8 * HOUR, 26 * HOUR, 50 * HOUR])
            add(dict(at=at, contribute=r.choice(model.users), captured_at=show(captured)))
        elif chance < 0.30 and travels:
            add(dict(at=at, zone={r.choice(model.users): r.choice(pool)}))
        elif chance < 0.45 and kind == "mutual":
            add(dict(at=at, recover=r.choice(users)))
        elif chance < 0.45 and (alone or kind == "team") and at not in extras and r.random() < 0.7:
            extras.add(at)
            extra(r, add, model, kind, at, now, pool)
        elif chance < 0.50:
            begin = now - r.randrange(3 * 86400)
            add(dict(at=at, outage={"from": show(begin), "to": show(begin + r.choice([2 * HOUR, 2 * HOUR + 1, 5 * HOUR, 30 * HOUR]))}))
        elif chance < 0.53 and kind == "check_in":
            add(dict(at=at, pause_until=day(model.date_of("a", now) + r.choice([0, 1, 3, 91]))))
        elif chance < 0.533 and alone:
            add(dict(at=at, pause_until=day(model.date_of("a", now) + 2)))
        elif kind != "team" and 0.535 < chance < 0.54:
            add(dict(at=at, break_off=r.choice(users)))
        elif chance < (0.535 if kind == "mutual" else 0.532):
            add(dict(at=at, unfriend=True))
            end = min(end, now + 2 * DAY)
        else:
            steps.append(dict(at=at, expect=model.expectation(now)))
    return case


def fill(seed, count, kind=None):
    r = random.Random(seed)
    cases = [random_case(r, f"{seed}.{index}", kind) for index in range(count)]
    json.dump(dict(about="random cases with what the model expects", cases=cases), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(play(sys.argv[2]) if sys.argv[1] == "play" else fill(int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:5]))
