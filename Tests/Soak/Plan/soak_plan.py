#!/usr/bin/env python3
"""Random lives of many pairs, with everything the slow model expects of them, for `deploy/dev soak`.

    soak_plan.py write --pairs N --days N --seed S --from DATE           writes the plan, in the order in which it is to be played
    soak_plan.py history --pairs N --days N --seed S --from DATE --run PAIR.RUN [--until SECONDS]
                                                                         one streak of it as a case file for `streaks replay`; of a
                                                                         habit what was done of it and answered

Friends come in twos and threes, so that people have several streaks and one balance of recovery tokens. Eight times a day every user acts
at the same instant, so that the clock is moved only then; it lies at least a minute after and two minutes before any quarter of an hour,
where dates end in all zones, so that a service that takes a moment longer still finds itself on the same side.

A plan has one line for each act: its first word says which, and what the model expects stands behind the facts.

    at SECONDS                                               the clock is moved to here
    zone USER ZONE SINCE VERSION                             the person's zone, emitted as auth would emit it
    start GROUP RUN USER USER                                a streak starts
    post GROUP USER CAPTURED DEVICES REPEATED OUTCOME,…      a snap for these streaks: RUN:DATE:COMPLETE:COUNT:LONGEST:MILESTONE or
                                                             RUN:REASON; behind a `|` what the second device gets
    recover GROUP USER RUN REPEATED RESULT                   ok:COUNT:BALANCE or REASON
    look GROUP USER RUN STATUS COUNT LONGEST LAST BROKEN_BY BROKEN_AT DEADLINE AT_RISK MARKS
                                                             marks: the broken and recovered dates of the reader's last 90
    list GROUP USER RUN:COUNT:LONGEST:YOU:FRIEND:AT_RISK:DEADLINE,…   exactly these run
    balance GROUP USER TOKENS                                the person's tokens

`people_plan.py` adds the lives of people with streaks of their own and circles, `habits_plan.py` those of people with habits.
"""
import argparse
import json
import multiprocessing
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../StreaksDomainTests/model"))
import habits_plan  # noqa: E402
import people_plan  # noqa: E402
from streak_model import HOUR, Model, Refused, day, number, parse, show  # noqa: E402

QUARTER = 900
STEP = 3 * HOUR
ZONES = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo", "Asia/Kolkata", "Pacific/Kiritimati", "Pacific/Pago_Pago",
         "Pacific/Auckland", "Pacific/Honolulu", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo", "Pacific/Chatham",
         "Africa/Casablanca", "America/Havana", "Asia/Kathmandu", "America/St_Johns", "Antarctica/Troll", "Etc/GMT+12",
         "America/Los_Angeles", "America/Sao_Paulo", "Europe/London", "Europe/Dublin", "Europe/Moscow", "Asia/Tehran",
         "Asia/Jerusalem", "Australia/Adelaide", "Pacific/Apia", "Pacific/Norfolk", "Atlantic/Azores"]
MILESTONES = [7, 14, 30, 50, 100, 200, 365]
TOKEN_EVERY = 30


def instants(seed, first, days):
    r = random.Random(f"{seed} instants")
    return [first + step * STEP + r.randrange(STEP // QUARTER) * QUARTER + r.randrange(60, QUARTER - 120)
            for step in range(days * 24 * HOUR // STEP)]


def milestone(before, after):
    """MS-6: the highest one of those reached between two counts; 0 for none."""
    reached = [m for m in MILESTONES + list(range(400, 2000, 100)) if before < m <= after]
    return max(reached, default=0)


class Person:
    def __init__(self, r, index):
        self.index = index
        self.home = r.choice(ZONES)
        self.zones = [(None, self.home)]
        self.version = 1
        self.misses = r.choice([0, 0.001, 0.004, 0.02])
        self.late = r.choice([0, 0.01, 0.1])
        self.travels = r.choice([0, 0, 0, 0.001, 0.01])
        self.date = None          # the date the plan below is for
        self.turn = None          # at which turn of the clock this person takes a photo
        self.upload = None        # and at which it arrives
        self.captured = None
        self.tokens = 0

    @property
    def zone(self):
        return self.zones[-1][1]


class Run:
    """One streak of a pair, from its start until after its break."""

    def __init__(self, key, people, now):
        self.key, self.people, self.start = key, people, now
        self.case = dict(name=f"run {key}", rule="", kind="mutual", start=show(now),
                         participants={f"u{p.index:06}": p.zone for p in people})
        self.model = Model(self.case)
        for p in people:  # the clocks' lives before it decide how long a date was seen
            self.model.zones[f"u{p.index:06}"] = list(p.zones)
        self.steps, self.state, self.earned, self.reached = [], None, set(), 0

    def play(self, step):
        """Plays a step. Returns the date credited and the refusal."""
        self.state = None
        self.steps.append(step)
        try:
            credited = self.model.step(step)
            if credited is not None:
                step["credited_to"] = day(credited)
            return credited, None
        except Refused as refusal:
            step["error"] = str(refusal)
            return None, str(refusal)

    def look(self, now):
        """What it shows; the model is asked again only when something may have changed."""
        s = self.state
        if s is None or (s["deadline"] is not None and s["deadline"] - 6 * HOUR <= now):
            self.state = s = self.model.fold(now)
        return s

    def posted_today(self, person, now):
        user = f"u{person.index:06}"
        return (user, self.model.date_of(user, now)) in self.model.posts


class Group:
    def __init__(self, options, number, first_pair, size, first_person):
        self.r = random.Random(f"{options.seed} group {number}")
        self.number = number
        self.people = [Person(self.r, first_person + i) for i in range(size)]
        pairs = [(0, 1)] if size == 2 else [(0, 1), (0, 2), (1, 2)]
        self.pairs = [(first_pair + i, self.people[a], self.people[b]) for i, (a, b) in enumerate(pairs)]
        self.runs = {}            # pair: its newest run
        self.all_runs = []
        self.lines = []           # (turn, phase, line)

    def line(self, phase, text):
        self.lines.append((self.turn, phase, text))

    def live(self, times):
        for p in self.people:
            self.turn = 0
            self.line(0, f"zone {p.index} {p.zone} {times[0] // QUARTER * QUARTER - 24 * HOUR + 10} 1")
        for self.turn, now in enumerate(times):
            for p in self.people:
                if self.turn > 0 and self.r.random() < p.travels:
                    self.fly(p, now)
            # First: what this turn earns is in the balances only when billing has consumed it, by the next one.
            if self.r.random() < 0.01:
                self.check(now)
            if self.turn == len(times) - 1:
                break
            for run in list(self.runs.values()):
                self.recover(run, now)
            for pair, a, b in self.pairs:
                self.tend(pair, a, b, now)
            for p in self.r.sample(self.people, len(self.people)):
                self.act(p, now)
        self.check(times[-1])
        for run in self.all_runs:
            if run not in self.runs.values():
                self.look(run, times[-1])
        return self.lines

    def fly(self, person, now):
        zone = person.home if person.zone != person.home and self.r.random() < 0.5 else self.r.choice(ZONES)
        if zone == person.zone:
            return
        since = now // QUARTER * QUARTER + 10
        person.zones.append((since, zone))
        person.version += 1
        self.line(0, f"zone {person.index} {zone} {since} {person.version}")
        for run in self.all_runs:
            if person in run.people:
                run.play(dict(at=show(since), zone={f"u{person.index:06}": zone}))

    def tend(self, pair, a, b, now):
        """A pair starts its first streak on one of the first days, and another some time after it can no longer be recovered."""
        run = self.runs.get(pair)
        if run is None:
            if self.r.random() > 0.3:
                return
        else:
            was = run.state
            s = run.look(now)
            if s["status"] == "broken" and (was is None or was["status"] != "broken"):
                self.look(run, now)
            if s["status"] != "broken" or now < s["broken_at"] + 25 * HOUR or self.r.random() > 0.2:
                return
            # They part and are friends again: what the new friendship's start finds of the old one, it ends.
            run.play(dict(at=show(now), unfriend=True))
        count = sum(r.key.startswith(f"{pair}.") for r in self.all_runs)
        run = Run(f"{pair}.{count}", (a, b), now)
        self.runs[pair] = run
        self.all_runs.append(run)
        self.line(1, f"start {self.number} {run.key} {a.index} {b.index}")

    def act(self, person, now):
        mine = [run for run in self.runs.values() if person in run.people]
        if not mine:
            return
        date = mine[0].model.date_of(f"u{person.index:06}", now)
        if person.date != date:
            person.date = date
            chance = self.r.random()
            if chance < person.misses:
                person.turn = None
            else:
                person.turn = self.turn + self.r.randrange(0, 7)
                person.upload = person.turn + (self.r.randrange(1, 5) if chance < person.misses + person.late else 0)
        if person.turn is not None and person.turn == self.turn:
            person.captured = now - self.r.randrange(60)
            if person.upload > self.turn:
                person.turn = None
        if person.turn == self.turn or (person.upload == self.turn and person.captured is not None):
            sends_time = person.upload > (person.turn or 0) or self.r.random() < 0.8
            captured, person.captured, person.turn = person.captured, None, None
            self.post(person, captured if sends_time else None, mine, now)
        elif self.r.random() < 0.002:
            self.post(person, now + self.r.choice([3 * 24 * HOUR, 290]), mine, now)
        elif self.r.random() < 0.002:
            self.post(person, now - self.r.choice([7, 20, 50]) * HOUR, mine, now)

    def post(self, person, captured, mine, now):
        runs = [run for run in mine if run.look(now)["status"] == "active" or self.r.random() < 0.5]
        if not runs:
            return
        devices = 2 if self.r.random() < 0.04 else 1
        replies = [",".join(self.contribute(run, person, captured, now) for run in runs) for _ in range(devices)]
        repeated = int(self.r.random() < 0.03)
        self.line(1, f"post {self.number} {person.index} {captured or '-'} {devices} {repeated} {'|'.join(replies)}")

    def contribute(self, run, person, captured, now):
        step = dict(at=show(now), contribute=f"u{person.index:06}")
        if captured is not None:
            step["captured_at"] = show(captured)
        returned = sum(k["returned"] is not None for k in run.model.tokens)
        date, refusal = run.play(step)
        if refusal is not None:
            return f"{run.key}:{refusal}"
        s = run.look(now)
        for token in run.model.tokens[:]:
            if token["returned"] == now and "counted" not in token:
                token["counted"] = True
                next(p for p in run.people if f"u{p.index:06}" == token["by"]).tokens += 1
        assert s["returned"] - returned in (0, 1)
        reached = milestone(run.reached, s["count"])
        run.reached = max(run.reached, s["count"])
        for multiple in range(TOKEN_EVERY, s["count"] + 1, TOKEN_EVERY):
            if multiple not in run.earned:  # RC-1: both earn one
                run.earned.add(multiple)
                for p in run.people:
                    p.tokens += 1
        complete = int(run.model.complete(date))
        return f"{run.key}:{day(date)}:{complete}:{s['count']}:{s['longest']}:{reached}"

    def recover(self, run, now):
        s = run.look(now)
        if s["status"] == "broken":
            chance = 0.2 if now <= s["broken_at"] + 24 * HOUR else 0.003
        else:
            chance = 0.03 if s["at_risk"] and s["count"] > 0 else 0.0005
        if self.r.random() >= chance:
            return
        person = self.r.choice(run.people)
        user = f"u{person.index:06}"
        if person.tokens == 0:
            # What the streak refuses is said first.
            known = len(run.model.tokens)
            try:
                run.model.recover(now, user)
                refusal = "NO_RECOVERY_TOKENS"
                del run.model.tokens[known:]
            except Refused as error:
                refusal = str(error)
        else:
            _, refusal = run.play(dict(at=show(now), recover=user))
        if refusal is None:
            run.model.tokens[-1]["by"] = user
            person.tokens -= 1
            refusal = f"ok:{run.look(now)['count']}:{person.tokens}"
        self.line(1, f"recover {self.number} {person.index} {run.key} {int(self.r.random() < 0.1)} {refusal}")

    def look(self, run, now):
        s = run.model.fold(now)
        fields = [s["status"], s["count"], s["longest"], "-" if s["last"] is None else day(s["last"]),
                  "-" if s["broken_by"] is None else int(s["broken_by"][1:]), s["broken_at"] or "-", s["deadline"] or "-",
                  int(s["at_risk"])]
        reader = self.r.choice(run.people)
        today = run.model.date_of(f"u{reader.index:06}", now)
        names = {"missed": "broken", "covered": "recovered"}
        marks = [f"{day(d)}:{names[m]}" for d, m in sorted(s["days"].items()) if m in names and today - 90 < d <= today]
        self.line(1, f"look {self.number} {reader.index} {run.key} " + " ".join(map(str, fields + [",".join(marks) or "-"])))

    def check(self, now):
        for run in self.runs.values():
            self.look(run, now)
        for p in self.people:
            mine = [run for run in self.runs.values() if p in run.people and run.look(now)["status"] == "active"]
            items = []
            for run in mine:
                s, friend = run.model.fold(now), next(x for x in run.people if x is not p)
                posted = f"{int(run.posted_today(p, now))}:{int(run.posted_today(friend, now))}"
                items.append(f"{run.key}:{s['count']}:{s['longest']}:{posted}:{int(s['at_risk'])}:{s['deadline']}")
            self.line(1, f"list {self.number} {p.index} {','.join(items) or '-'}")
            self.line(1, f"balance {self.number} {p.index} {p.tokens}")


def groups(options):
    """Every third group is a triangle of three pairs; then come the people with circles."""
    pair = person = number = 0
    while pair < options.pairs:
        size = 3 if number % 3 == 2 and options.pairs - pair >= 3 else 2
        yield Group(options, number, pair, size, person)
        pair, person, number = pair + (3 if size == 3 else 1), person + size, number + 1
    options.zones = ZONES
    yield from people_plan.groups(options, number, person)
    yield from habits_plan.groups(options)


def live(work):
    group, times = work
    return group.live(times)


def write(options, times):
    turns = [([], []) for _ in times]
    with multiprocessing.Pool() as pool:
        for lines in pool.imap(live, ((group, times) for group in groups(options)), chunksize=4):
            for turn, phase, line in lines:
                turns[turn][phase].append(line)
    for now, phases in zip(times, turns):
        print(f"at {now}")
        for line in phases[0] + phases[1]:
            print(line)


def history_of_person(options, times):
    """The check-ins c1, the activities t1.recipe_creation, the circle g1."""
    whose = int(options.run[1:].split(".")[0])
    for group in groups(options):
        if not isinstance(group, people_plan.Group):
            continue
        if group.circle == whose if options.run[0] == "g" else any(p.index == whose for p in group.people):
            group.live(times)
            if options.run in group.streaks:
                streak = group.streaks[options.run]
                until = options.until or times[-1]
                case = dict(streak.case, steps=[step for step in streak.steps if parse(step["at"]) <= until])
                model = Model(case)
                people_plan.replay(model, case["steps"])
                case["steps"].append(dict(at=show(until), expect=model.expectation(until)))
                about = f"{options.run} of seed {options.seed}: what led there; zones before the start are left out"
                return json.dump(dict(about=about, cases=[case]), sys.stdout, indent=1)
    sys.exit(f"there is no streak {options.run}")


def history_of_habit(options, times):
    """The habit h5000001.3: the person's fourth."""
    user, habit = map(int, options.run[1:].split("."))
    for person in habits_plan.groups(options):
        if person.index == user:
            person.live(times)
            return print(person.history(habit, options.until))
    sys.exit(f"there is no habit {options.run}")


def history(options, times):
    options.zones = ZONES
    if options.run[0] == "h":
        return history_of_habit(options, times)
    if not options.run[0].isdigit():
        return history_of_person(options, times)
    pair = int(options.run.split(".")[0])
    group = next(g for g in groups(options) if any(p == pair for p, _, _ in g.pairs))
    group.live(times)
    run = next(run for run in group.all_runs if run.key == options.run)
    case = dict(run.case)
    until = options.until or times[-1]
    model = Run(run.key, run.people, run.start).model
    model.zones = {f"u{p.index:06}": [z for z in p.zones if z[0] is None or z[0] <= run.start] for p in run.people}
    case["participants"] = {user: zones[-1][1] for user, zones in model.zones.items()}
    model = Model(case)
    case["steps"] = [step for step in run.steps if parse(step["at"]) <= until]
    people_plan.replay(model, case["steps"])
    case["steps"].append(dict(at=show(until), expect=model.expectation(until)))
    about = f"pair {pair} of seed {options.seed}: what led there; zones before the start are left out"
    json.dump(dict(about=about, cases=[case]), sys.stdout, indent=1)


def main():
    parser = argparse.ArgumentParser(description="Plans of `deploy/dev soak`.")
    parser.add_argument("command", choices=["write", "history"])
    parser.add_argument("--pairs", type=int, required=True)
    parser.add_argument("--people", type=int, default=0)
    parser.add_argument("--circles", type=int, default=0)
    parser.add_argument("--habit-people", type=int, default=0)
    parser.add_argument("--days", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--from", dest="first", required=True)
    parser.add_argument("--run")
    parser.add_argument("--until", type=int)
    options = parser.parse_args()
    times = instants(options.seed, number(options.first) * 86400, options.days)
    write(options, times) if options.command == "write" else history(options, times)


if __name__ == "__main__":
    main()
