"""Random lives of people with streaks of their own and circles: check-ins, typed activities, power-ups, XP, coins, badges and the
streaks of circles, with everything that the slow model and the rules of CI-1 … CI-6, TS-1 … TS-4 and BI-4 expect of them.

`soak_plan.py` puts them in its plan. Beside its lines there are

    plan USER UNTIL VERSION                premium until then, emitted as billing would emit it
    suspend USER NUMBER                    a moderator suspends the person, emitted as social would emit it
    circle CIRCLE VERSION USER,…           a circle's members, emitted as social would emit it
    do GROUP USER VERB ARGUMENT,… RESULT   the person does or reads something; RESULT is the answer as `PersonPlayer` writes it

What a person spends was there before the turn, and what a circle shows is looked at before anybody contributes: events of a turn are
consumed by the next one.
"""
import random
from collections import Counter
from datetime import date as Date

from streak_model import DAY, HOUR, Model, Refused, day, number, show

NEAR = 300  # a service is a few seconds behind the plan: nobody acts so close to an instant that decides something
TYPES = ["daily_snap", "recipe_creation", "challenge_completion", "social_share", "healthy_eating"]
# CI-5: count -> (XP, coins); TS-1 has the same without 21 and 180.
CHECK_IN = {3: (30, 10), 7: (100, 50), 14: (200, 100), 21: (300, 0), 30: (500, 500), 50: (750, 1000), 100: (2000, 5000),
            180: (4000, 0), 365: (10000, 20000)}
TYPED = {n: reward for n, reward in CHECK_IN.items() if n not in (21, 180)}
BADGES = {1: "fresh_start", 3: "getting_started", 7: "week_warrior", 14: "fortnight_champion", 21: "three_weeks_strong",
          30: "monthly_master", 42: "six_weeks_elite", 50: "halfway_hero", 60: "sixty_day_achiever", 90: "ninety_day_legend",
          100: "centurion", 180: "diamond_tier", 270: "elite_status", 365: "annual_legend", 500: "streak_god",
          730: "infinite_commitment"}
PRICES = {"insurance": (200, 1, 7), "double_day": (300, 1, 1), "freeze": (100, 5, 7), "restore": (500, 1, 30)}  # price, limit, days
FOR_EACH_STREAK = {"insurance": False, "restore": True}  # whose limit is that of one streak; whether the check-in streak is one of them


def share(percent, base):
    return (base * percent * 2 + 100) // 200


def week(d):
    monday = d - (d + 3) % 7  # 1970-01-01 was a Thursday
    return range(monday, monday + 7)


def month(d):
    first = number(day(d)[:7] + "-01")
    last = Date.fromisoformat(day(first)).replace(day=28)
    while (last.fromordinal(last.toordinal() + 1)).month == last.month:
        last = last.fromordinal(last.toordinal() + 1)
    return range(first, number(last.isoformat()) + 1)


def replay(model, steps):
    """Plays steps again; what was refused is refused again."""
    for step in steps:
        try:
            model.step(step)
        except Refused:
            pass


class Streak:
    """A streak with the model's word for it, and the steps that led there."""

    def __init__(self, key, kind, members, now, freezes=0):
        self.key, self.awarded, self.cache = key, 0, None
        self.case = dict(name=f"run {key}", rule="", kind=kind, start=show(now),
                         participants={name: zones[-1][1] for name, zones in members.items()}, freezes=freezes)
        self.steps = []
        self.zones = {name: list(zones) for name, zones in members.items()}
        self.model = self.begun()

    def begun(self):
        model = Model(self.case)
        for name, zones in self.zones.items():
            model.zones[name] = list(zones)
        return model

    def claim(self, now, captured):
        """The date that an activity claims by its times alone (SD-1, SD-2): the streak begins in it, also when an activity of the date
        after it came first."""
        m = self.model
        claimed, today = m.date_of("a", now if captured is None else captured), m.date_of("a", now)
        if claimed > today or claimed < today and now > m.over_for("a", claimed) + 6 * HOUR:
            claimed = today
        if claimed + 1 == m.first["a"]:
            self.case["start"] = show(m.over_for("a", claimed) - 1)
            self.model, self.cache = self.begun(), None
            replay(self.model, self.steps)
        return claimed

    def do(self, now, **step):
        """Plays a step. Returns what the model says, and the refusal."""
        step = dict(at=show(now), **step)
        self.cache = None
        self.steps.append(step)
        try:
            return self.model.step(step), None
        except Refused as refusal:
            step["error"] = str(refusal)
            return None, str(refusal)

    def state(self, now):
        if self.cache is None or self.cache["due"] is None or self.cache["due"] <= now:
            s = self.model.fold(now)
            dues = [t for t in (s["deadline"], s["next_due"]) if t is not None]
            if self.model.users == ["a"]:  # a freeze by hand comes back at the end of its date, also in a pause, in which nothing is due
                dues.append(self.model.over_for("a", self.model.date_of("a", now)))
            s["due"] = min(dues) if dues else None
            self.cache = s
        return self.cache


class Person:
    def __init__(self, group, r, index):
        self.group, self.r, self.index, self.name = group, r, index, f"u{index:06}"
        self.zones = [(None, r.choice(group.pool))]
        self.version, self.plan_version, self.suspensions = 1, 0, 0
        self.diligence = r.choice([0.7, 0.85, 0.92, 0.97, 1])
        self.late, self.travels = r.choice([0, 0.02, 0.1]), r.choice([0, 0, 0, 0.002])
        self.is_frugal, self.away = r.random() < 0.5, 0  # buys nothing that keeps check-ins; misses every date up to this one
        self.was_in_circle = None  # the turn of the last check-in to the circle
        self.check_in, self.typed, self.wants = None, {}, r.sample(TYPES, r.choice([1, 1, 2]))
        self.begins = r.randrange(8, 24)
        self.plans, self.boosters, self.doubles, self.bought = [], [], {}, []
        self.xp = self.lifetime = self.coins = self.freezes_bought = 0
        self.paid, self.badges, self.stock = set(), set(), Counter()
        self.active, self.repairs, self.todo, self.date = [], [], [], None

    # Facts

    @property
    def streaks(self):
        return ([("check_in", self.check_in)] if self.check_in else []) + list(self.typed.items())

    def today(self, now):
        return self.clock.date_of("a", now)

    @property
    def clock(self):
        """Knows the person's dates, whether or not they have a streak."""
        if self.check_in:
            return self.check_in.model
        return Streak("", "typed", {"a": self.zones}, 0).model

    def premium(self, now):
        return any(since <= now < until for since, until in self.plans)

    def unsure(self, now):
        ends = [t for span in self.boosters for t in span] + [use["until"] for use in self.active if use["until"]]
        ends += [at + PRICES[item][2] * DAY for at, item, _ in self.bought] + [repair["at"] + 30 * DAY for repair in self.repairs]
        return any(abs(now - t) < NEAR for t in ends)

    # What is earned

    def earn_xp(self, key, amount):
        if key not in self.paid:
            self.paid.add(key)
            self.xp, self.lifetime = self.xp + amount, self.lifetime + amount

    def earn_coins(self, key, d, plain, doubled):
        if key in self.paid:
            return
        self.paid.add(key)
        double = self.doubles.get(d)
        self.coins += doubled if double else plain
        if double and doubled > plain:
            double["helped"] = True

    def reap(self, now):
        """What has become due, and what counts have reached."""
        for d, double in list(self.doubles.items()):
            if double["due"] <= now and not double["over"]:
                double["over"] = True
                if not double["helped"]:
                    del self.doubles[d]
                    self.stock["double_day"] += 1
        for kind, streak in self.streaks:
            if streak.cache is None or streak.cache["due"] is None or streak.cache["due"] <= now:
                self.collect(kind, streak, now)

    def streak(self, kind):
        return self.check_in if kind == "check_in" else self.typed.get(kind)

    def collect(self, kind, streak, now):
        s = streak.state(now)
        for n in range(streak.awarded + 1, s["longest"] + 1):
            rewards = CHECK_IN if kind == "check_in" else TYPED
            if kind == "check_in":
                self.badges |= {BADGES[n]} if n in BADGES else set()
                self.stock["repair"] += n == 100  # the yearly one
            if n in rewards:
                xp, coins = rewards[n]
                self.earn_xp(f"{kind} {n}", xp)
                self.earn_coins(f"{kind} coins {n}", s["first"][n], coins, 2 * coins)
        streak.awarded = max(streak.awarded, s["longest"])
        if kind == "check_in":
            frozen = [d for d, mark in s["days"].items() if mark == "frozen"]
            if len(frozen) >= 10:
                self.badges.add("ice_warrior")
            if s["count"] >= 100 and not any(d >= s["run"] for d in frozen):
                self.badges.add("consistency")
        for cover in streak.model.tokens:
            if cover["returned"] is not None and "back" in cover:
                self.back(cover.pop("back"))

    def back(self, paid):
        """What paid for a cover that was not needed."""
        self.repairs = [repair for repair in self.repairs if repair is not paid]
        if paid["with"] == "xp":
            self.xp += 500
        elif paid["with"] in ("coins", "credit"):
            self.stock["repair"] += 1
        elif paid["with"] != "free_pro_repair":
            self.stock[paid["with"]] += 1

    # What they do; each returns what is answered

    def start(self, kind, now):
        freezes = (2 if self.premium(now) else 1) if kind == "check_in" else 0
        key = f"c{self.index}" if kind == "check_in" else f"t{self.index}.{kind}"
        streak = Streak(key, "check_in" if kind == "check_in" else "typed", {"a": self.zones}, now, freezes)
        for _, until in (span for span in self.plans if now < span[1]):
            streak.do(now, plan="premium", until=show(until))
        self.group.streaks[key] = streak
        return streak

    def record_check_in(self, now, captured):
        """Returns the date that it is the first of."""
        self.check_in = self.check_in or self.start("check_in", now)
        self.check_in.claim(now, captured)
        step = dict(contribute="a") | ({} if captured is None else dict(captured_at=show(captured)))
        d, refusal = self.check_in.do(now, **step)
        if d is not None:
            boosted = any(begin <= now < end for begin, end in self.boosters)
            self.earn_xp(f"check_in {d}", 10 + share((25 if self.premium(now) else 0) + (50 if boosted else 0), 10))
            self.perfect(d, now)
        self.collect("check_in", self.check_in, now)
        if refusal in (None, "ALREADY_POSTED"):
            self.arm(now, self.stock.pop("shield", 0))
        if d is not None:
            self.group.follow(self, d, now)
        return d, refusal

    def arm(self, now, count):
        """Shields that were bought protect at once; before the first check-in they wait for it."""
        for _ in range(count):
            self.active.append(dict(good="shield", kind="check_in", until=None, id=len(self.check_in.model.protections)))
            self.check_in.do(now, protect="shield", until=None)

    def perfect(self, d, now):
        """CI-6: weeks and months; a pause, a freeze and a repair excuse nothing."""
        m, s = self.check_in.model, self.check_in.state(now)
        first = month(d)
        for name, percent, dates in [("week", 20, week(d)), ("week", 20, week(week(d)[0] - 1)), ("month", 50, first),
                                     ("month", 50, month(first[0] - 1))]:
            done = [x for x in dates if ("a", x) in m.posts]
            excused = [x for x in dates if s["days"].get(x) == "neutral" and not any(a <= x < b for a, b in m.pauses)]
            if done and len(done) + len([x for x in excused if x not in done]) == len(dates):
                self.earn_xp(f"{name} {dates[0]}", share(percent, 10 * len(done)))
        if s["last"] >= first[-1] and all(("a", x) in m.posts for x in first):
            self.badges.add("perfect_month")

    def check_in_now(self, now, captured):
        d, refusal = self.record_check_in(now, captured)
        if refusal not in (None, "ALREADY_POSTED"):
            return refusal
        s = self.check_in.state(now)
        return f"{int(d is not None)}:{s['count']}:{s['longest']}:{s['left']}"

    def activity(self, now, kind, captured):
        self.typed[kind] = streak = self.typed.get(kind) or self.start(kind, now)
        already = ("a", streak.claim(now, captured)) in streak.model.posts
        if not already:
            step = dict(contribute="a") | ({} if captured is None else dict(captured_at=show(captured)))
            d, refusal = streak.do(now, **step)
            if refusal is not None:
                return refusal
            s = streak.state(now)
            tenths = [min(25, (10 + s["counts"][d] // 7) * (2 if self.premium(now) else 1) * by) for by in (1, 2)]
            self.earn_coins(f"{kind} {d}", d, *tenths)
            self.collect(kind, streak, now)
        s = streak.state(now)
        return f"{int(already)}:{s['count']}:{s['longest']}"

    def give(self, now, good, count):
        if good == "shield" and self.check_in:
            self.arm(now, count)
        else:
            self.stock[good] += count
        return f"{self.stock[good]}"

    def fund(self, coins):
        self.coins += coins
        return f"{self.coins}"

    def may_buy(self, now, item, count):
        price, limit, days = PRICES[item]
        if item in FOR_EACH_STREAK:
            limit *= max(1, len(self.typed) + (FOR_EACH_STREAK[item] and self.check_in is not None))
        if sum(n for at, what, n in self.bought if what == item and at >= now - days * DAY) + count > limit:
            return "PURCHASE_LIMIT_REACHED"
        if item == "insurance" and self.premium(now):
            return "POWER_UP_NOT_NEEDED"
        return None if self.coins >= price * count else "NOT_ENOUGH_COINS"

    def pay(self, now, item, count):
        self.bought.append((now, item, count))
        self.coins -= PRICES[item][0] * count

    def buy(self, now, item):
        refusal = self.may_buy(now, item, 1)
        if refusal is None:
            self.pay(now, item, 1)
            self.stock[item] += 1
        return refusal or f"{self.coins}"

    def buy_freezes(self, now, count, method):
        held = self.check_in.state(now)["hand"]
        refusal = "MAX_FREEZES_REACHED" if held + count > 5 else None
        if refusal is None and method == "xp":
            refusal = None if self.xp >= 100 * count else "NOT_ENOUGH_XP"
        elif refusal is None:
            refusal = self.may_buy(now, "freeze", count)
        if refusal is not None:
            return refusal
        if method == "xp":
            self.xp -= 100 * count
        else:
            self.pay(now, "freeze", count)
        self.check_in.do(now, buy=count)
        self.freezes_bought += count
        if self.freezes_bought >= 25:
            self.badges.add("investor")
        return f"{self.check_in.state(now)['left']}"

    def repair(self, now, method):
        m, lost = self.check_in.model, self.check_in.state(now)["lost"]
        if now > lost[1] + DAY:
            return "REPAIR_WINDOW_EXPIRED"
        if any(k["kind"] == "repair" and k["returned"] is None and now < k["at"] + 30 * DAY for k in m.tokens):
            return "REPAIR_COOLDOWN_ACTIVE"
        if lost[2] < 7:
            return "STREAK_TOO_SHORT"
        if self.stock["repair"] > 0:
            method = "credit"
            self.stock["repair"] -= 1
        elif method == "free_pro_repair":
            if not self.premium(now):
                return "PREMIUM_REQUIRED"
            if any(x["with"] == method and show(x["at"])[:7] == show(now)[:7] for x in self.repairs):
                return "FREE_REPAIR_USED"
        elif method == "xp":
            if self.xp < 500:
                return "NOT_ENOUGH_XP"
            self.xp -= 500
        else:
            refusal = self.may_buy(now, "restore", 1)
            if refusal is not None:
                return refusal
            self.pay(now, "restore", 1)
        return self.cover(now, "check_in", method, repair="a")[1] or f"{self.check_in.state(now)['count']}"

    def cover(self, now, kind, paid, **step):
        streak = self.streak(kind)
        result = streak.do(now, **step)
        if result[1] is None:
            entry = {"at": now, "with": paid}
            streak.model.tokens[-1]["back"] = entry
            if "repair" in step:
                self.repairs.append(entry)
                self.badges.add("second_chance")
            self.collect(kind, streak, now)
        return result

    def use(self, now, good, kind, d):
        streak = self.streak(kind) if kind else None
        if kind and streak is None:
            return "STREAK_NOT_FOUND"
        if good == "shield" and streak.model.held(streak.state(now), now):
            return "POWER_UP_ALREADY_ACTIVE"
        if self.stock[good] == 0:
            return "POWER_UP_NOT_HELD"
        count = refusal = None
        entry = dict(good=good, kind=kind, until=None, id=None)
        if good == "restore":
            refusal = self.cover(now, kind, good, repair="a")[1]
        elif good == "time_machine":
            refusal = self.cover(now, kind, good, fill=day(d))[1]
        elif good in ("insurance", "shield"):
            if good == "insurance" and self.premium(now):
                refusal = "POWER_UP_NOT_NEEDED"
            elif streak.model.held(streak.state(now), now):
                refusal = "POWER_UP_ALREADY_ACTIVE"
            elif good == "insurance" and not streak.model.insurable(now):
                refusal = "INSURANCE_COOLDOWN_ACTIVE"
            else:
                entry["until"] = now + 7 * DAY if good == "insurance" else None
                entry["id"] = len(streak.model.protections)
                until = None if entry["until"] is None else show(entry["until"])
                refusal = streak.do(now, protect=good, until=until)[1]
                self.active.append(entry)
        elif good == "double_day":
            if d in self.doubles:
                refusal = "POWER_UP_ALREADY_ACTIVE"
            else:
                due = self.clock.over_for("a", d) + 12 * HOUR
                self.doubles[d] = dict(helped=False, over=False, due=due)
        else:
            begin = max([end for _, end in self.boosters if end > now], default=now)
            self.boosters.append((begin, begin + 7 * DAY))
        if refusal is not None:
            return refusal
        self.stock[good] -= 1
        return f"{self.stock[good]}:{streak.state(now)['count'] if kind else '-'}"

    def simple(self, now, field, **step):
        """A step of the check-in streak that is answered by one number."""
        refusal = self.check_in.do(now, **step)[1]
        self.collect("check_in", self.check_in, now)
        return refusal or f"{self.check_in.state(now)[field]}"

    # What they read

    def shown(self, now):
        """Verb and answer of everything that a person can look at."""
        if self.check_in:
            s, today = self.check_in.state(now), self.today(now)
            lost = s["lost"] if s["lost"] and (s["count"] == 0 or now <= s["lost"][1] + DAY) else None
            paused = any(a <= today < b for a, b in self.check_in.model.pauses)
            done = int(("a", today) in self.check_in.model.posts)
            yield "status", f"{s['count']}:{s['longest']}:{s['left']}:{done}:{int(paused)}:{lost[2] if lost else '-'}"
        typed = []
        for kind, streak in sorted(self.typed.items()):
            s = streak.state(now)
            free = max(0, streak.model.free_dates(s, s["open"], now))
            typed.append(f"{kind}:{s['count']}:{s['longest']}:{free}")
        yield "typed", ",".join(typed) or "-"
        yield "xp", f"{self.xp}:{self.lifetime}"
        yield "coins", f"{self.coins}"
        yield "badges", ",".join(sorted(self.badges)) or "-"
        held = [f"{good}:{n}" for good, n in sorted(self.stock.items()) if n > 0]
        active = Counter(
            use["good"] for use in self.active if (use["until"] is None or use["until"] > now)
            and use["id"] not in self.streak(use["kind"]).state(now)["used"])
        active["double_day"] += sum(not double["over"] for double in self.doubles.values())
        active["xp_booster"] += sum(end > now for _, end in self.boosters)
        yield "goods", ",".join(held + [f"+{good}:{n}" for good, n in sorted(active.items()) if n > 0]) or "-"


class Group:
    """People who share a circle."""

    def __init__(self, options, number, place, first, size):
        self.r = random.Random(f"{options.seed} people {number}")
        self.number, self.circle = number, place
        # Most dates of a circle end together: others are for the pairs.
        self.pool = self.r.sample(options.zones, self.r.choice([1, 2, 4]))
        self.streaks, self.lines = {}, []
        self.people = [Person(self, self.r, first + i) for i in range(size)]
        self.members, self.circle_version, self.team = [], 0, None

    def line(self, phase, text):
        self.lines.append((self.turn, phase, text))

    def live(self, times):
        self.turn = 0
        for p in self.people:
            self.line(0, f"zone {p.index} {p.zones[0][1]} {times[0] // 900 * 900 - 24 * HOUR + 10} 1")
        for self.turn, now in enumerate(times):
            for p in self.people:
                p.reap(now)
            if self.turn > 0:
                self.happen(now)
            if self.r.random() < 0.015 or self.turn == len(times) - 1:
                self.check(now)
            if self.turn == len(times) - 1:
                return self.lines
            for p in self.r.sample(self.people, len(self.people)):
                if self.turn == p.begins and self.r.random() < 0.5:
                    self.do(p, "fund", p.fund(800), 800)
                if self.turn >= p.begins and not p.unsure(now):
                    self.act(p, now)

    # What happens to them

    def happen(self, now):
        if self.turn == 3 or self.turn > 3 and self.r.random() < 0.01:
            self.change_circle(now)
        else:
            for p in self.people:
                if self.r.random() < p.travels:
                    self.fly(p, now)
        for p in self.people:
            if self.r.random() < 0.002 and not p.premium(now) and not p.unsure(now):
                until = (now + self.r.randrange(5, 40) * DAY) // 900 * 900 + 30
                p.plans.append((now, until))
                p.plan_version += 1
                for _, streak in p.streaks:
                    streak.do(now, plan="premium", until=show(until))
                self.line(0, f"plan {p.index} {until} {p.plan_version}")
            elif self.r.random() < 0.0004:
                p.suspensions += 1
                for _, streak in p.streaks:
                    streak.do(now, break_off="a")
                self.line(0, f"suspend {p.index} {p.suspensions}")

    def fly(self, p, now):
        zone = self.r.choice(self.pool)
        if zone == p.zones[-1][1]:
            return
        since = now // 900 * 900 + 10
        p.zones.append((since, zone))
        p.version += 1
        for _, streak in p.streaks:
            streak.do(since, zone={"a": zone})
        if self.team and p.name in self.team.model.users:
            self.team.do(since, zone={p.name: zone})
        self.line(0, f"zone {p.index} {zone} {since} {p.version}")

    def change_circle(self, now):
        if not self.members:
            self.members = self.r.sample(self.people, max(2, len(self.people) * 3 // 4))
            members = {p.name: p.zones for p in self.members}
            self.team = self.streaks[f"g{self.circle}"] = Streak(f"g{self.circle}", "team", members, now)
        else:
            p = self.r.choice(self.people)
            if p in self.members:
                if len(self.members) == 1:
                    return
                self.members.remove(p)
                self.team.do(now, leave=p.name)
            else:
                self.members.append(p)
                self.team.do(now, join={p.name: p.zones[-1][1]})
        self.circle_version += 1
        self.line(0, f"circle {self.circle} {self.circle_version} {','.join(str(p.index) for p in self.members)}")

    def follow(self, p, d, now):
        """TS-4: a check-in contributes to the circle; in a grace first to the date before, then to its own. One to the circle has done so."""
        if self.team is None or p not in self.members or p.was_in_circle == self.turn:
            return
        m = self.team.model
        captured = {} if m.date_of(p.name, now) <= d else dict(captured_at=show(m.over_for(p.name, d) - 1))
        for _ in range(2):
            if (p.name, d) not in m.posts:
                self.team.do(now, contribute=p.name, **captured)

    # What they do

    def do(self, p, verb, result, *arguments):
        self.line(1, f"do {self.number} {p.index} {verb} {','.join(map(str, arguments)) or '-'} {result}")

    def act(self, p, now):
        today = p.today(now)
        if p.date != today:
            p.date = today
            if today > p.away + 10 and self.r.random() < 0.03:
                p.away = today + self.r.randrange(6)
            for kind in ["check_in"] + p.wants:
                if today > p.away and self.r.random() < p.diligence:
                    taken = self.turn + self.r.randrange(0, 6)
                    p.todo.append([taken, taken + (self.r.randrange(1, 4) if self.r.random() < p.late else 0), kind, None])
        # What it earns beside, later ones of the turn could not rely on.
        urgent = p.check_in is not None and self.can_repair(p.check_in.state(now), now)
        if p.check_in and self.r.random() < (0.6 if urgent else 0.15):
            self.extra(p, today, now)
        for entry in sorted((e for e in p.todo if min(e[:2]) <= self.turn), key=lambda e: e[2] == "check_in"):
            taken, sent, kind, _ = entry
            if taken == self.turn:
                entry[3] = now - self.r.randrange(60)
            if kind == "check_in" and p.was_in_circle == self.turn:
                entry[1] = self.turn + 1  # the event of that check-in may not have come
            if entry[1] > self.turn:
                continue
            p.todo.remove(entry)
            captured = entry[3] if sent > taken else None
            if kind != "check_in":
                self.do(p, "activity", p.activity(now, kind, captured), kind, captured or "-")
            elif captured is None and self.is_fresh(p, today, now) and self.r.random() < 0.2:
                self.check_in_to_circle(p, now)
            else:
                captured = captured or now
                self.do(p, "check_in", p.check_in_now(now, captured), captured)

    def is_fresh(self, p, today, now):
        """Whether a check-in to the circle is the first of the date, and of no grace: then it does not matter what the others' come to before it."""
        done = p.check_in is not None and ("a", today) in p.check_in.model.posts
        if p not in self.members or done or (p.name, today) in self.team.model.posts:
            return False
        return self.team.state(now)["grace_date"] is None

    def check_in_to_circle(self, p, now):
        d, _ = self.team.do(now, contribute=p.name)
        counted = d is not None and p.name in self.team.model.members(d)
        p.was_in_circle = self.turn
        p.record_check_in(now, None)
        self.do(p, "circle", int(counted), self.circle)

    def extra(self, p, today, now):
        r, s = self.r, p.check_in.state(now)
        lost = s["lost"] is not None and s["count"] == 0 and now < s["lost"][1] + 2 * DAY
        what = r.choice(["give", "give", "use", "use", "use", "buy", "freezes", "freeze", "pause"])
        if p.is_frugal and what in ("freezes", "pause"):
            what = "use"
        broken = [kind for kind, streak in p.streaks if self.was_lost(streak.state(now), now)]
        if broken and not self.can_repair(s, now) and r.random() < 0.4:
            good, kind = r.choice(["restore", "time_machine"]), r.choice(broken)
            d = p.streak(kind).state(now)["lost"][0] if good == "time_machine" else None
            self.use_on(p, good, kind, d, now)
        elif lost and r.random() < 0.5 or self.can_repair(s, now):
            method = r.choice(["xp", "coins", "free_pro_repair"])
            self.do(p, "repair", p.repair(now, method), method, s["lost"][2])
        elif what == "give":
            good = r.choice(["shield"] * (not p.is_frugal) + ["xp_booster", "insurance", "restore", "time_machine", "double_day"])
            self.do(p, "give", p.give(now, good, 1), good, 1)
        elif what == "use":
            self.use(p, today, now)
        elif what == "buy":
            item = r.choice(["insurance", "double_day"])
            self.do(p, "buy", p.buy(now, item), item)
        elif what == "freezes":
            count, method = r.choice([1, 1, 1, 5]), r.choice(["xp", "coins"])
            self.do(p, "freezes", p.buy_freezes(now, count, method), count, method)
        elif what == "freeze":
            d = today - r.choice([0, 0, 0, 1])
            self.do(p, "freeze", p.simple(now, "left", freeze=day(d)), day(d))
        elif r.random() < 0.2:
            until = day(today + r.choice([0, 1, 2, 3, 5, 91]))
            self.do(p, "pause", p.simple(now, "count", pause_until=until), until)
        else:
            self.do(p, "resume", p.simple(now, "count", resume=True))

    def use(self, p, today, now):
        r = self.r
        held = [good for good, n in p.stock.items() if n > 0 and good != "repair"]
        # A shield is in no stock: it protects already.
        good = r.choice((held or ["xp_booster"]) + ["shield"] * (r.random() < 0.2))
        kind, d = "-", None
        if good == "shield":
            kind = "check_in"
        elif good == "insurance":
            kind = r.choice(p.wants)
        elif good in ("restore", "time_machine"):
            kind = r.choice(["check_in"] + p.wants)
            streak = p.streak(kind)
            missed = [x for x, mark in streak.state(now)["days"].items() if mark == "missed"] if streak else []
            if good == "time_machine":
                d = max(missed) if missed and r.random() < 0.8 else today - r.randrange(1, 9)
            elif not missed or now > (streak.state(now)["lost"] or (0, 0))[1] + 2 * DAY:
                return
        elif good == "double_day":
            d = today + r.randrange(3)
        result = p.use(now, good, None if kind == "-" else kind, d)
        self.do(p, "use", result, good, kind, "-" if d is None else day(d))

    def can_repair(self, s, now):
        return s["lost"] is not None and s["count"] == 0 and s["lost"][2] >= 7 and now <= s["lost"][1] + DAY

    def was_lost(self, s, now):
        """A run worth a power-up broke in the last days."""
        return s["lost"] is not None and s["lost"][2] >= 5 and now < s["lost"][1] + 30 * HOUR

    def use_on(self, p, good, kind, d, now):
        if p.stock[good] == 0:
            self.do(p, "give", p.give(now, good, 1), good, 1)
        self.do(p, "use", p.use(now, good, kind, d), good, kind, "-" if d is None else day(d))

    # What they read

    def check(self, now):
        for p in self.people:
            for verb, shown in p.shown(now):
                self.do(p, verb, shown)
        if self.team and self.members:
            s = self.team.state(now)
            last = "-" if s["last"] is None else day(s["last"])
            grace = "-" if s["grace_date"] is None else s["deadline"]
            shown = f"{s['count']}:{s['longest']}:{last}:{grace}"
            self.do(self.r.choice(self.members), "team", shown, self.circle)


def groups(options, number, person):
    """Circles of about the same size; `number` and `person` come after the pairs'."""
    for place in range(options.circles):
        size = options.people // options.circles + (place < options.people % options.circles)
        yield Group(options, number + place, place, person, size)
        person += size
