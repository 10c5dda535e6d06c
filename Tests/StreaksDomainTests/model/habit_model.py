#!/usr/bin/env python3
"""A slow, independent model of habits, written from the rules (HA-8 … HA-16, SD-3, SD-4, SD-7), to check the engine against.

    habit_model.py fill SEED CASES   makes random lives and writes them with everything the model expects of them

It keeps plain facts and answers every question by going through all dates again. Days are day numbers, amounts thousandths.
"""
import json
import random
import sys

from streak_model import HOUR, Refused, day, first_showing, local_date, number, parse, show

FAR = 10**12
GRADES = [(90, "A"), (80, "B"), (70, "C"), (60, "D"), (0, "F")]


def month_day(d):
    return int(day(d)[8:])


def weekday(d):
    return (d + 4) % 7  # 1970-01-01 was a Thursday, and 0 is Sunday


class Habit:
    def __init__(self, zone, start, version):
        self.zones = [(-FAR, zone)]
        self.created = local_date(zone, start)
        self.versions = [dict(version, first=self.created)]
        self.anchor(self.versions[0], None)
        self.entries = {}    # date -> list of [id, amount or None]
        self.skips = set()
        self.pauses = []     # [first, first date that counts again]
        self.archive = []    # [first, first date that counts again or None]
        self.outages = []
        self.reported = []       # (count, unit, date)
        self.earliest = None # what `start` has said, until a completion comes or goes

    # Clock

    def segments(self):
        for i, (since, zone) in enumerate(self.zones):
            yield since, self.zones[i + 1][0] if i + 1 < len(self.zones) else FAR, zone

    def date_at(self, t):
        return next(local_date(zone, t) for since, until, zone in self.segments() if since <= t < until)

    def newest(self, t):
        return max(local_date(zone, min(until, t)) for since, until, zone in self.segments() if since <= t)

    def over(self, d):
        for since, until, zone in self.segments():
            t = max(since, first_showing(zone, d + 1))
            if t <= until:
                return t

    def unsettled(self, t):
        d = self.date_at(t)
        while self.over(d) <= t:
            d += 1
        return d

    def shown(self, d, before, during=None):
        total = 0
        for since, until, zone in self.segments():
            a, b = max(since, first_showing(zone, d)), min(until, before, first_showing(zone, d + 1))
            if a >= b:
                continue
            if during is None:
                total += b - a
            else:
                seconds = sorted((max(a, f), min(b, t)) for f, t in during if max(a, f) < min(b, t))
                reached = a
                for f, t in seconds:
                    total += max(0, t - max(f, reached))
                    reached = max(reached, t)
        return total

    # What is due

    def start(self):
        if self.earliest is None:
            self.earliest = min([self.created] + [d for d in self.entries if self.entries[d]])
        return self.earliest

    def version(self, d):
        held = [v for v in self.versions if v["first"] <= d]
        return held[-1] if held else self.versions[0]

    def weekly(self, d):
        return "times_per_week" in self.version(d)["schedule"]

    def due(self, d):
        if d < self.start():
            return False
        version = self.version(d)
        schedule = version["schedule"]
        if "weekdays" in schedule:
            return weekday(d) in schedule["weekdays"]
        if "every_n_days" in schedule:
            return (d - version["anchor"]) % schedule["every_n_days"] == 0
        if "days_of_month" in schedule:
            return month_day(d) in schedule["days_of_month"]
        return True

    def done(self, d):
        entries = self.entries.get(d, [])
        if not entries or not self.due(d):
            return False
        target = self.version(d)["target"]
        return target is None or any(a is None for _, a in entries) or sum(a for _, a in entries) >= target

    def slot(self, d):
        """The dates judged together: one, or those of a week that the same first day of the week holds for."""
        if not self.weekly(d):
            return [d]
        begin = self.version(d)["week_start"]

        def same(x):
            return x >= self.start() and self.weekly(x) and self.version(x)["week_start"] == begin

        first = d
        while weekday(first) != begin and same(first - 1):
            first -= 1
        last = d
        while weekday(last + 1) != begin and same(last + 1):
            last += 1
        return list(range(first, last + 1))

    def cut(self, slot):
        return self.weekly(slot[0]) and (len(slot) < 7 or len({json.dumps(self.version(d)["schedule"]) for d in slot}) > 1)

    def needed(self, slot):
        return self.version(slot[-1])["schedule"].get("times_per_week", 1)

    def complete(self, slot):
        if not self.weekly(slot[0]):
            return self.done(slot[0])
        n = 0
        for d in slot:
            n += self.done(d)
            if n and n >= self.version(d)["schedule"]["times_per_week"]:
                return True
        return False

    def paused(self, d):
        return any(a <= d < b for a, b in self.pauses)

    def archived(self, d):
        return any(a <= d and (b is None or d < b) for a, b in self.archive)

    def lost(self, d, slot):
        end = self.over(slot[-1])
        return self.shown(d, end) < 12 * HOUR or self.shown(d, end, self.outages) > 2 * HOUR

    def excused(self, d, slot):
        return d in self.skips or self.paused(d) or self.archived(d) or self.lost(d, slot)

    def kept(self, slot):
        return self.cut(slot) or sum(self.done(d) or self.excused(d, slot) for d in slot) >= self.needed(slot)

    # Judging

    def judge(self, now):
        result = {"runs": [], "outcomes": {}, "due_dates": {}, "broke": set(), "longest": {"dates": 0, "weeks": 0}, "reached": []}
        last = max([self.newest(now)] + list(self.entries))
        count, unit, first, latest = 0, None, None, None
        d = self.start()
        while d <= last:
            slot = self.slot(d)
            d = slot[-1] + 1
            kind = "weeks" if self.weekly(slot[0]) else "dates"
            if unit is not None and kind != unit:
                if count:
                    result["runs"].append([first, latest, count, unit, "schedule_changed", slot[0]])
                count, result["reached"] = 0, []
            unit = kind
            end = slot[-1]
            if not any(self.due(x) for x in slot):
                continue
            result["due_dates"][end] = self.needed(slot)
            if self.complete(slot):
                if count == 0:
                    first = slot[0]
                count += 1
                latest = end
                result["outcomes"][end] = "done"
                result["longest"][unit] = max(result["longest"][unit], count)
                result["reached"].append((count, end))
            elif self.over(end) > now:
                result["outcomes"][end] = "open"
            elif self.kept(slot):
                result["outcomes"][end] = "excused"
            else:
                result["outcomes"][end] = "missed"
                if count:
                    result["runs"].append([first, latest, count, unit, "missed", end])
                    result["broke"].add(end)
                count, result["reached"] = 0, []
        if count:
            result["runs"].append([first, latest, count, unit, None, None])
        result.update(count=count, unit=unit, last=last, first=first)
        return result

    def status(self, d, now):
        entries, slot = self.entries.get(d, []), self.slot(d)
        if not self.due(d):
            return "extra" if entries else "not_due"
        if self.done(d):
            return "done"
        if d in self.skips:
            return "skipped"
        if self.archived(d):
            return "archived"
        if self.paused(d):
            return "paused"
        if self.lost(d, slot):
            return "excused"
        if entries:
            return "partial"
        if self.over(d) > now:
            return "open"
        return "free" if self.weekly(d) else "missed"

    def risk(self, now, judged):
        """From when less than 6 h are left on the last date on which the open slot can be kept."""
        if judged["count"] == 0:
            return None
        d = self.start()
        for _ in range(3000):
            slot = self.slot(d)
            d = slot[-1] + 1
            if self.over(slot[-1]) <= now or self.complete(slot) or not any(self.due(x) for x in slot):
                continue
            if all(self.paused(x) or self.archived(x) for x in slot):
                continue
            if self.kept(slot):
                return None
            left = [x for x in slot if self.over(x) > now and not self.done(x) and not self.excused(x, slot)]
            missing = self.needed(slot) - sum(self.done(x) or self.excused(x, slot) for x in slot)
            return self.over(left[-missing]) - 6 * HOUR if missing <= len(left) else None

    def report(self, now):
        judged = self.judge(now)
        reported = []
        for count, end in judged["reached"]:
            if not self.milestone(count, judged["unit"]) or end < self.newest(now) - 1:
                continue
            run = judged["reached"][0][1]
            if not any(c == count and u == judged["unit"] and at >= run for c, u, at in self.reported):
                self.reported.append((count, judged["unit"], end))
                reported.append(count)
        return reported

    @staticmethod
    def milestone(count, unit):
        if unit == "weeks":
            return count in (4, 12, 26) or count % 52 == 0
        return count in (7, 30, 50, 100, 365) or count > 365 and count % 100 == 0

    # What a person does

    def complete_date(self, now, d, key, amount, earliest):
        self.check(now, d, earliest)
        self.earliest = None
        entries = self.entries.setdefault(d, [])
        if any(k == key for k, _ in entries):
            return
        target = self.version(d)["target"]
        if target is None:
            if entries:
                entries[0][1] = entries[0][1] if amount is None else amount
            else:
                entries.append([key, amount])
        elif amount is not None:
            entries.append([key, amount])
        elif not (entries and (any(a is None for _, a in entries) or sum(a for _, a in entries) >= target)):
            entries.append([key, target - sum(a for _, a in entries)])

    def check(self, now, d, earliest):
        today = self.date_at(now)
        if d > today:
            raise Refused("DATE_IN_FUTURE")
        if d < (today - 7 if earliest is None else earliest):
            raise Refused("DATE_TOO_OLD")

    def change_entry(self, now, d, key, amount, earliest):
        self.check(now, d, earliest)
        for entry in self.entries.get(d, []):
            if entry[0] == key:
                if amount is None and self.version(d)["target"] is not None:
                    raise Refused("VALIDATION_ERROR")
                entry[1] = amount
                return
        raise Refused("COMPLETION_NOT_FOUND")

    def delete(self, d, key):
        entries = self.entries.get(d, [])
        if not any(k == key for k, _ in entries):
            raise Refused("COMPLETION_NOT_FOUND")
        self.entries[d] = [e for e in entries if e[0] != key]
        if not self.entries[d]:
            del self.entries[d]
            self.earliest = None

    def skip(self, now, d, earliest):
        self.check(now, d, earliest)
        if not self.due(d):
            raise Refused("DATE_NOT_DUE")
        self.skips.add(d)

    def anchor(self, version, before):
        n = version["schedule"].get("every_n_days")
        if n is not None:
            same = before is not None and before["schedule"].get("every_n_days") == n
            version["anchor"] = before["anchor"] if same else version["first"]

    def change(self, now, version):
        d = self.unsettled(now)
        while self.done(d):
            d += 1
        old = self.version(d - 1) if self.start() < d else None
        kept = [v for v in self.versions if v["first"] < d]
        if not kept and old is not None:
            kept = [old]
        version = dict(version, first=d)
        self.anchor(version, old)
        self.versions = kept + [version]

    def pause(self, now, first, until):
        if first < self.unsettled(now) or until <= first:
            raise Refused("VALIDATION_ERROR")
        if until - first > 90:
            raise Refused("PAUSE_TOO_LONG")
        if any(a < b and a < until and first < b for a, b in self.pauses):
            raise Refused("ALREADY_PAUSED")
        self.pauses.append([first, until])

    def resume(self, now):
        today = self.unsettled(now)
        ahead = [p for p in self.pauses if p[0] < p[1] and today < p[1]]
        if not ahead:
            raise Refused("NOT_PAUSED")
        pause = min(ahead)
        pause[1] = max(today, pause[0])

    def set_archived(self, now, into):
        today = self.unsettled(now)
        inside = bool(self.archive) and self.archive[-1][1] is None
        if into and not inside:
            self.archive.append([today, None])
        if not into and inside:
            self.archive[-1][1] = today

    # What is expected

    def rate(self, judged, first, last, today):
        slots = [o for d, o in judged["outcomes"].items() if first <= d and (d <= last or last == today and o == "done")]
        done, missed = slots.count("done"), slots.count("missed")
        return [done, done + missed]

    def expectation(self, now):
        judged = self.judge(now)
        today, start = self.date_at(now), self.start()
        rows = []
        for d in range(start, judged["last"] + 1):
            rows.append([day(d), self.status(d, now), sum(a or 0 for _, a in self.entries.get(d, [])), d in judged["broke"]])
        windows = {}
        for name, length in (("week", 7), ("month", 30), ("year", 365), ("all", None)):
            if length is None:
                windows[name] = self.rate(judged, start, today, today) + [None]
                continue
            rate, past = self.rate(judged, today - length + 1, today, today), \
                self.rate(judged, today - 2 * length + 1, today - length, today)
            trend = None
            if rate[1] and past[1]:
                trend = (rate[0] / rate[1] - past[0] / past[1]) * 100
            windows[name] = rate + [trend]
        first = max(start, today - 89)
        rate = self.rate(judged, first, today, today)
        due = sum(judged["due_dates"][d] for d, o in judged["outcomes"].items()
                  if first <= d and (d <= today or o == "done") and o in ("done", "missed"))
        grade = None
        if due >= 7:
            score = rate[0] * 100 // rate[1]
            grade = [score, next(g for floor, g in GRADES if score >= floor)]
        slot = self.slot(today)
        week = None
        if self.weekly(today) and judged["unit"] == "weeks":
            done = sum(self.done(d) for d in slot)
            excused = sum(not self.done(d) and self.excused(d, slot) for d in slot)
            left = sum(not self.done(d) and not self.excused(d, slot) and self.over(d) > now for d in slot)
            week = [day(slot[0]), day(slot[-1]), done, excused, self.needed(slot), left, self.cut(slot)]
        return {
            "count": judged["count"], "unit": judged["unit"], "longest": [judged["longest"]["dates"], judged["longest"]["weeks"]],
            "start": day(start), "days": rows, "week": week, "windows": windows, "grade": grade,
            "outcomes": {day(d): o for d, o in judged["outcomes"].items()},
            "runs": [[day(a), day(b), n, u, why, None if d is None else day(d)] for a, b, n, u, why, d in judged["runs"]],
            "risk": show(self.risk(now, judged)),
        }


ZONES = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo", "Asia/Kolkata", "Pacific/Kiritimati", "Pacific/Pago_Pago",
         "Pacific/Auckland", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo", "Pacific/Chatham"]


def random_version(r):
    schedule = r.choice([
        {"daily": True}, {"daily": True},
        {"weekdays": sorted(r.sample(range(7), r.randint(1, 6)))},
        {"every_n_days": r.choice([1, 2, 3, 5, 9])},
        {"days_of_month": sorted(r.sample(range(1, 32), r.randint(3, 12)))},
        {"times_per_week": r.randint(1, 7)}, {"times_per_week": r.randint(1, 4)}, {"times_per_week": r.randint(1, 4)},
    ])
    return {"schedule": schedule, "target": r.choice([None, None, 3000, 300, 8000]), "week_start": r.choice([0, 1, 1, 6])}


class Life:
    def __init__(self, r, index):
        self.r = r
        self.now = parse("2026-01-01T00:00:00Z") + r.randrange(500 * 24 * 60) * 60
        self.zone = r.choice(ZONES)
        self.version = random_version(r)
        self.habit = Habit(self.zone, self.now, self.version)
        self.case = {"name": f"life {index}", "zone": self.zone, "at": show(self.now), "version": dict(self.version), "steps": []}
        self.keys = 0

    def key(self):
        self.keys += 1
        return self.keys

    def edits(self, edits, earliest=None):
        refused = {}
        for place, edit in enumerate(edits):
            try:
                self.edit(edit, earliest)
            except Refused as refusal:
                refused[str(place)] = str(refusal)
        return {"edit": edits, "earliest": None if earliest is None else day(earliest), "refused": refused}

    def edit(self, edit, earliest):
        h, what, d = self.habit, edit[0], number(edit[1])
        if what == "complete":
            h.complete_date(self.now, d, edit[2], edit[3], earliest)
        elif what == "change":
            h.change_entry(self.now, d, edit[2], edit[3], earliest)
        elif what == "delete":
            h.delete(d, edit[2])
        elif what == "skip":
            h.skip(self.now, d, earliest)
        else:
            h.skips.discard(d)

    def amount(self):
        return self.r.choice([None, None, 100, 200, 1000, 2000, 3000, 5000])

    def near(self):
        return day(self.habit.date_at(self.now) - self.r.choice([0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, -1]))

    def some_entry(self, oldest):
        today = self.habit.date_at(self.now)
        found = [(d, e[0]) for d, entries in self.habit.entries.items() for e in entries if d >= today - oldest]
        return self.r.choice(sorted(found)) if found else (today, 0)

    def act(self):
        r, h = self.r, self.habit
        dice = r.random()
        if dice < 0.30:
            return self.edits([["complete", self.near(), self.key(), self.amount()] for _ in range(r.choice([1, 1, 2]))])
        if dice < 0.40:
            d, key = self.some_entry(r.choice([3, 8, 1000]))
            return self.edits([["delete", day(d), key]])
        if dice < 0.46:
            d, key = self.some_entry(9)
            return self.edits([["change", day(d), key, self.amount()]])
        if dice < 0.58:
            return self.edits([["skip", self.near()]])
        if dice < 0.62:
            return self.edits([["unskip", day(r.choice(sorted(h.skips)) if h.skips else h.start())]])
        if dice < 0.74:
            return self.change()
        if dice < 0.80:
            first = h.date_at(self.now) + r.choice([0, 0, 1, 3, 10, -1])
            return self.attempt({"pause": [day(first), day(first + r.choice([1, 3, 8, 90, 91, 0]))]},
                                lambda step: h.pause(self.now, *map(number, step["pause"])))
        if dice < 0.83:
            return self.attempt({"resume": True}, lambda step: h.resume(self.now))
        if dice < 0.86:
            return self.attempt({"archive": True}, lambda step: h.set_archived(self.now, True))
        if dice < 0.92:
            return self.attempt({"archive": False}, lambda step: h.set_archived(self.now, False))
        if dice < 0.95:
            return self.attempt({"zone": r.choice(ZONES)}, self.travel)
        if dice < 0.97:
            begin = self.now - r.randint(1, 70) * HOUR
            return self.attempt({"outage": [show(begin), show(begin + r.choice([2, 3, 9, 30]) * HOUR)]},
                                lambda step: h.outages.append(tuple(map(parse, step["outage"]))))
        # An import, or the sync of a device that was offline.
        today = h.date_at(self.now)
        earliest = today - r.choice([20, 60, 150])
        wanted = [["complete", day(today - r.randint(0, 150)), self.key(), self.amount()] for _ in range(r.randint(1, 25))]
        wanted += [["skip", day(today - r.randint(0, 60))] for _ in range(r.randint(0, 3))]
        return self.edits(wanted, earliest)

    def change(self):
        version = dict(self.version)
        fresh = random_version(self.r)
        for field in self.r.choice([["schedule"], ["schedule"], ["target"], ["week_start"], ["schedule", "target", "week_start"]]):
            version[field] = fresh[field]
        self.version = version
        self.habit.change(self.now, version)
        return {"change": version}

    def travel(self, step):
        if self.habit.zones[-1][1] != step["zone"]:
            self.habit.zones.append((self.now, step["zone"]))

    def attempt(self, step, action):
        try:
            action(step)
        except Refused as refusal:
            step["error"] = str(refusal)
        return step

    def add(self, step):
        step["at"] = show(self.now)
        step["reported"] = self.habit.report(self.now)
        if self.r.random() < 0.25:
            step["expect"] = self.habit.expectation(self.now)
        self.case["steps"].append(step)

    def live(self, days):
        diligence = self.r.choice([0.4, 0.8, 0.95])
        rest = self.r.choice([0.02, 0.1, 0.3])
        end = self.now + days * 24 * HOUR
        while self.now < end:
            self.now += self.r.choice([1, 6, 9, 15, 24, 30]) * HOUR + self.r.randrange(60) * 60
            if self.r.random() < diligence:
                self.add(self.edits([["complete", day(self.habit.date_at(self.now)), self.key(), None]]))
            if self.r.random() < rest:
                self.add(self.act())
        self.case["steps"].append({"at": show(self.now), "reported": self.habit.report(self.now),
                                   "expect": self.habit.expectation(self.now)})
        return self.case


def fill(seed, count):
    r = random.Random(seed)
    return {"cases": [Life(r, f"{seed}/{index}").live(r.choice([20, 45, 110])) for index in range(count)]}


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "fill":
        sys.exit(__doc__)
    json.dump(fill(int(sys.argv[2]), int(sys.argv[3])), sys.stdout)
