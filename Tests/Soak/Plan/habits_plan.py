"""Random lives of people with habits: schedules of every kind that change, completions in parts and for earlier dates, skips, pauses, the
archive, deletions, other zones and other first days of the week, with everything that the slow model of habits expects of them.

`soak_plan.py` puts them in its plan. There are `zone` and `plan` lines as of other people, and

    do GROUP USER habit_VERB HABIT,ARGUMENT,… RESULT   the person does or reads something; `HabitPlayer` writes the answers

HABIT is the number of the habit among the person's. Amounts are thousandths. What a change of a date answers is
STATUS:VALUE:COUNT:UNIT:LONGEST:MILESTONE, what another change answers COUNT:UNIT:LONGEST:ARCHIVED, or the reason of a refusal.

One that is in the archive is not looked at: it is shown as it was when it went there (HA-13).
"""
import json
import random
from datetime import date as Date

from habit_model import FAR, Habit, random_version
from streak_model import DAY, Refused, day, local_date, show

FIRST = 5_000_000   # numbers of people, so that their lives do not depend on how many others there are
LIMIT = 5           # HA-1: active habits without premium
RESTORABLE = 25 * DAY
STATUSES = {"none": "-", "done": "d", "partial": "p", "missed": "m", "open": "o", "skipped": "s", "paused": "z", "archived": "a",
            "excused": "e", "not_due": "n", "extra": "x", "free": "f"}
UNITS = {"dates": "days", "weeks": "weeks"}


class Kept(Habit):
    """The model; what depends on clocks alone is kept until a clock changes: a year is asked about too often for working it out again."""

    def __init__(self, zones, now, version):
        super().__init__(zones[-1][1], now, version)
        self.zones = zones
        self.clocks, self.ends, self.losses, self.judged = len(zones), {}, {}, None

    def over(self, d):
        if self.clocks != len(self.zones):
            self.clocks, self.ends, self.losses, self.judged = len(self.zones), {}, {}, None
        if d not in self.ends:
            self.ends[d] = super().over(d)
        return self.ends[d]

    def lost(self, d, slot):
        self.over(d)
        key = (d, slot[-1])
        if key not in self.losses:
            self.losses[key] = super().lost(d, slot)
        return self.losses[key]

    def judge(self, now):
        self.over(self.start())
        if self.judged is None or self.judged[0] != now:
            self.judged = (now, super().judge(now))
        return self.judged[1]


class Owned:
    """A habit of a person, as the person sees it."""

    def __init__(self, number, now, model):
        self.number, self.model, self.since = number, model, now
        self.is_archived = self.was_archived = False
        self.deleted = None
        self.acts = []

    @property
    def is_active(self):
        return not self.is_archived and self.deleted is None


class Person:
    """Lives alone in its group."""

    def __init__(self, options, index):
        self.r = r = random.Random(f"{options.seed} habits {index}")
        self.number = self.index = FIRST + index
        self.pool = r.sample(options.zones, r.choice([1, 2, 4]))
        self.zones = [(-FAR, r.choice(self.pool))]
        self.version, self.keys = 1, 0
        self.travels = r.choice([0, 0, 0.001, 0.004])
        self.diligence = r.choice([0.4, 0.75, 0.9, 0.97, 1])
        self.unrest = r.choice([0.01, 0.03, 0.08])
        self.is_premium = r.random() < 0.4
        self.week_start = 1
        self.begins = r.randrange(8, 24)
        self.habits, self.todo, self.date, self.lines = [], [], None, []

    def line(self, phase, text):
        self.lines.append((self.turn, phase, text))

    def live(self, times):
        self.turn, last = 0, len(times) - 1
        since = times[0] // 900 * 900 - DAY + 10
        self.line(0, f"zone {self.index} {self.zones[0][1]} {since} 1")
        if self.is_premium:
            self.line(0, f"plan {self.index} {times[-1] + 400 * DAY} 1")
        for self.turn, self.now in enumerate(times):
            if self.turn < self.begins:
                continue
            self.today = local_date(self.zones[-1][1], self.now)
            if self.r.random() < self.travels:
                self.fly()
            if self.turn == self.begins:
                for _ in range(self.r.choice([1, 2, 3, 5])):
                    self.begin()
            if self.turn == last:
                self.finish()
            else:
                self.act()
                if self.r.random() < 0.015:
                    self.check()
        return self.lines

    # What happens to them

    def fly(self):
        zone = self.r.choice(self.pool)
        if zone == self.zones[-1][1]:
            return
        since = self.now // 900 * 900 + 10
        self.zones.append((since, zone))
        self.version += 1
        self.line(0, f"zone {self.index} {zone} {since} {self.version}")
        self.today = local_date(zone, self.now)
        for habit in self.habits:
            habit.acts.append(dict(at=show(since), zone=zone))

    # What they do

    def do(self, habit, verb, result, *arguments):
        arguments = [habit.number if habit else "-"] + ["-" if a is None else a for a in arguments]
        self.line(1, f"do {self.number} {self.index} habit_{verb} {','.join(map(str, arguments))} {result}")
        for one in [habit] if habit else self.habits:
            one.acts.append(dict(at=show(self.now), do=verb, arguments=arguments[1:], answer=str(result)))

    def change(self, habit, action):
        """Changes the model. Returns the refusal and the milestone that is told."""
        habit.model.judged = None
        refusal = None
        try:
            action(habit.model)
        except Refused as refused:
            refusal = str(refused)
        reported = habit.model.report(self.now)
        return refusal, reported[-1] if reported else 0

    def shown(self, habit):
        judged = habit.model.judge(self.now)
        return f"{judged['count']}:{UNITS[judged['unit']]}:{judged['longest'][judged['unit']]}:{int(habit.is_archived)}"

    def dated(self, habit, d, refusal, milestone):
        if refusal is not None:
            return refusal
        model, judged = habit.model, habit.model.judge(self.now)
        status = model.status(d, self.now) if d >= model.start() else "none"
        value = sum(a or 0 for _, a in model.entries.get(d, []))
        counts = f"{judged['count']}:{UNITS[judged['unit']]}:{judged['longest'][judged['unit']]}"
        return f"{STATUSES[status]}:{value}:{counts}:{milestone}"

    @property
    def active(self):
        return [habit for habit in self.habits if habit.is_active]

    @property
    def is_full(self):
        return not self.is_premium and len(self.active) >= LIMIT

    def begin(self):
        version = dict(random_version(self.r), week_start=self.week_start)
        habit = Owned(len(self.habits), self.now, Kept(self.zones, self.now, version))
        if self.is_full:
            return self.do(habit, "begin", "HABIT_LIMIT_REACHED", *texts(version))
        self.habits.append(habit)
        self.do(habit, "begin", self.shown(habit), *texts(version))

    def complete(self, habit, d, amount):
        self.keys += 1
        result = self.archived_since(habit, d)
        if result is None:
            key = self.keys
            told = self.change(habit, lambda model: model.complete_date(self.now, d, key, amount, None))
            result = self.dated(habit, d, *told)
        self.do(habit, "done", result, self.sent(d), self.keys, amount)

    def skip(self, habit, d):
        result = self.archived_since(habit, d)
        if result is None:
            result = self.dated(habit, d, *self.change(habit, lambda model: model.skip(self.now, d, None)))
        self.do(habit, "skip", result, self.sent(d))

    def unskip(self, habit, d):
        told = self.change(habit, lambda model: model.skips.discard(d))
        self.do(habit, "unskip", self.dated(habit, d, *told), self.sent(d))

    def archived_since(self, habit, d):
        """HA-13: nothing is done of a habit in the archive from the date on which it went there."""
        return "HABIT_ARCHIVED" if habit.is_archived and d >= habit.model.archive[-1][0] else None

    def sent(self, d):
        """Apps leave today out at times."""
        return None if d == self.today and self.r.random() < 0.5 else day(d)

    def some_entry(self, habit, oldest):
        found = [(d, key, a) for d, entries in habit.model.entries.items() for key, a in entries if d >= self.today - oldest]
        return self.r.choice(sorted(found, key=lambda entry: entry[:2])) if found else None

    def delete_entry(self, habit):
        entry = self.some_entry(habit, self.r.choice([3, 8, 1000]))
        if entry is None:
            return self.do(habit, "undo", "COMPLETION_NOT_FOUND", 0)
        d, key, _ = entry
        told = self.change(habit, lambda model: model.delete(d, key))
        self.do(habit, "undo", self.dated(habit, d, *told), key)

    def change_entry(self, habit):
        entry = self.some_entry(habit, 9)
        if entry is None:
            return
        d, key, before = entry
        amount = self.amount()
        # What stays as it is is no change, of whatever date.
        told = None, 0
        if amount != before:
            told = self.change(habit, lambda model: model.change_entry(self.now, d, key, amount, None))
        self.do(habit, "change", self.dated(habit, d, *told), key, amount)

    def amount(self):
        return self.r.choice([None, None, 100, 200, 1000, 2000, 3000, 5000])

    def near(self):
        return self.today - self.r.choice([0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, -1])

    def revise(self, habit):
        """Another schedule or target; what stays as it is is no change."""
        newest = habit.model.versions[-1]
        fresh = random_version(self.r)
        fields = self.r.choice([["schedule"], ["schedule"], ["target"], ["schedule", "target"], []])
        version = {name: fresh[name] if name in fields else newest[name] for name in ("schedule", "target")}
        if any(version[name] != newest[name] for name in version):
            self.change(habit, lambda model: model.change(self.now, dict(version, week_start=newest["week_start"])))
        self.do(habit, "revise", self.shown(habit), *texts(version))

    def start_weeks(self):
        """HA-10: another first day of the week makes versions of all habits, also of deleted ones: they may come back."""
        self.week_start = self.r.choice([0, 1, 6])
        for habit in self.habits:
            newest = habit.model.versions[-1]
            if newest["week_start"] != self.week_start:
                version = dict(schedule=newest["schedule"], target=newest["target"], week_start=self.week_start)
                self.change(habit, lambda model: model.change(self.now, version))
        self.do(None, "weeks", self.week_start, self.week_start)

    def pause(self, habit):
        first = self.today + self.r.choice([0, 0, 1, 3, 10, -1])
        until = first + self.r.choice([1, 3, 8, 90, 91, 0])
        refusal, _ = self.change(habit, lambda model: model.pause(self.now, first, until))
        self.do(habit, "pause", refusal or self.shown(habit), day(first), day(until))

    def resume(self, habit):
        refusal, _ = self.change(habit, lambda model: model.resume(self.now))
        self.do(habit, "resume", refusal or self.shown(habit))

    def archive(self, habit, into):
        if not into and self.is_full:
            return self.do(habit, "unarchive", "HABIT_LIMIT_REACHED")
        habit.is_archived = into
        self.change(habit, lambda model: model.set_archived(self.now, into))
        self.do(habit, "archive" if into else "unarchive", self.shown(habit))

    def delete(self, habit):
        self.change(habit, lambda model: model.set_archived(self.now, True))
        habit.deleted = self.now
        self.do(habit, "delete", "ok")

    def undelete(self, habit):
        if not habit.is_archived and self.is_full:
            return self.do(habit, "undelete", "HABIT_LIMIT_REACHED")
        habit.deleted = None
        if not habit.is_archived:
            self.change(habit, lambda model: model.set_archived(self.now, False))
            self.do(habit, "undelete", self.shown(habit))

    def act(self):
        if self.date != self.today:
            self.date = self.today
            for habit in self.active:
                self.plan(habit)
        for entry in [entry for entry in self.todo if entry[0] <= self.turn]:
            self.todo.remove(entry)
            _, habit, d, amount = entry
            if habit.is_active:
                self.complete(habit, d, amount)
        if self.r.random() < self.unrest:
            self.rare()

    def plan(self, habit):
        """What is to be done of today, at which turns: at once or in parts, and at times entered only days later."""
        r, model, d = self.r, habit.model, self.today
        schedule = model.version(d)["schedule"]
        wish = schedule["times_per_week"] / 7 * 1.3 if "times_per_week" in schedule else 1
        if r.random() > self.diligence * wish or not model.due(d) and r.random() > 0.05:
            return
        turn = self.turn + r.randrange(7) + (8 * r.randrange(1, 9) if r.random() < 0.06 else 0)
        amounts = r.choice([[None], [None], [1000, 2000], [100, 200], [5000], [1000, None]])
        for amount in amounts if model.version(d)["target"] is not None else [r.choice([None, None, None, 2000])]:
            self.todo.append((turn, habit, d, amount))
            turn += r.randrange(3)

    def rare(self):
        r, dice = self.r, self.r.random()
        habit = r.choice([habit for habit in self.habits if habit.deleted is None] or [None])
        gone = [habit for habit in self.habits if habit.deleted is not None and self.now - habit.deleted < RESTORABLE]
        if habit is None or dice < 0.05:
            self.begin()
        elif dice < 0.09:
            self.start_weeks()
        elif dice < 0.14 and gone:
            self.undelete(r.choice(gone))
        elif dice < 0.26:
            self.skip(habit, self.near())
        elif dice < 0.38:
            self.complete(habit, self.near(), self.amount())
        elif dice < 0.46:
            self.delete_entry(habit)
        elif dice < 0.53:
            self.change_entry(habit)
        elif dice < 0.58:
            self.unskip(habit, r.choice(sorted(habit.model.skips) or [self.today]))
        elif habit.is_archived:
            # The rest of what a person does is done of habits in use.
            self.archive(habit, False)
        elif dice < 0.72:
            self.revise(habit)
        elif dice < 0.83:
            self.pause(habit)
        elif dice < 0.91:
            self.resume(habit)
        elif dice < 0.97:
            self.archive(habit, True)
        else:
            self.delete(habit)

    # What they read

    def finish(self):
        """Everything comes back that may, and every date is looked at."""
        for habit in self.habits:
            if habit.deleted is not None and self.now - habit.deleted < RESTORABLE:
                self.undelete(habit)
            if habit.is_archived and habit.deleted is None:
                self.archive(habit, False)
        for habit in self.active:
            self.look(habit)
            for month in sorted({day(d)[:7] for d in range(habit.model.start(), self.today + 1)}):
                self.month(habit, month)

    def check(self):
        for habit in self.active:
            self.look(habit)
            for ago in (0, 1):
                year, number = divmod(int(day(self.today)[:4]) * 12 + int(day(self.today)[5:7]) - 1 - ago, 12)
                self.month(habit, f"{year:04}-{number + 1:02}")

    def look(self, habit):
        model = habit.model
        expected = model.expectation(self.now)
        week = ":".join(map(str, expected["week"][2:6])) if expected["week"] else "-"
        told = [f"{count}{unit[0]}{day(end)}" for count, unit, end in reversed(model.reported)][:50]
        shown = f"{self.shown(habit)}:{expected['start']}"
        self.do(habit, "look", f"{shown};{week};{'+'.join(told) or '-'}")
        period = self.r.choice(["week", "month", "year", "all"]) if self.is_premium else "week"
        done, counted, _ = expected["windows"][period]
        grade = ":".join(map(str, expected["grade"])) if self.is_premium and expected["grade"] else "-"
        self.do(habit, "rate", f"{done}/{counted};{grade}", period)

    def month(self, habit, month):
        """A letter for each date, then the values."""
        model, letters, values = habit.model, "", []
        d = (Date.fromisoformat(f"{month}-01") - Date(1970, 1, 1)).days
        while day(d)[:7] == month:
            known = model.start() <= d <= self.today
            letters += STATUSES[model.status(d, self.now)] if known else STATUSES["none"]
            value = sum(a or 0 for _, a in model.entries.get(d, []))
            if known and value:
                values.append(f"{day(d)[8:]}={value}")
            d += 1
        self.do(habit, "month", f"{letters};{'+'.join(values) or '-'}", month)

    def history(self, number, until):
        """What led there, for people: there is no replay of habits outside of the tests."""
        habit = next(habit for habit in self.habits if habit.number == number)
        acts = [act for act in habit.acts if until is None or act["at"] <= show(until)]
        return json.dumps(dict(user=self.index, habit=number, zone=self.zones[0][1], acts=acts), indent=1)


def texts(version):
    """Schedule and target as arguments."""
    name, value = next(iter(version["schedule"].items()))
    numbers = value if isinstance(value, list) else [] if value is True else [value]
    return ".".join(map(str, [name] + numbers)), version["target"]


def groups(options):
    for index in range(options.habit_people):
        yield Person(options, index)
