#!/usr/bin/env python3
"""What so many users need, from figures.json: measured figures with their sources, and assumptions named as such.

    simulate.py [--set NAME=VALUE …] [USERS …]

Prints Markdown. NAME is an assumption, a price or a limit with one number.
"""
import argparse
import collections
import json
import math
import pathlib

SERVICES = ("auth", "social", "streaks", "media", "notifications")


def load(changes=()):
    figures = json.loads((pathlib.Path(__file__).parent / "figures.json").read_text())
    for change in changes:
        name, _, value = change.partition("=")
        places = [figures[part] for part in ("assumed", "prices", "limits") if name in figures[part]]
        if not places or isinstance(places[0][name]["value"], dict):
            raise SystemExit(f"--set: there is no number {name} among the assumptions, prices and limits")
        try:
            places[0][name]["value"] = float(value)
        except ValueError:
            raise SystemExit(f"--set {name}: {value} is no number") from None
    return figures


class Needs:
    """Of a number of users."""

    def __init__(self, users, figures):
        self.assumed = {name: entry["value"] for name, entry in figures["assumed"].items()}
        self.limits = {name: entry["value"] for name, entry in figures["limits"].items()}
        self.prices = {name: entry["value"] for name, entry in figures["prices"].items()}
        self.measured, self.users = figures["measured"], users
        self.active = users * self.assumed["active_share"]
        self.requests = self.active * sum(self.assumed["a_day"][name] for name in ("account", "streaks", "feed", "friends", "check-in", "upload"))
        self.cores = self.cores_at_peak()
        self.disks = self.database_gigabytes()

    def cores_at_peak(self):
        cores = collections.Counter()
        for what, entry in self.measured["cpu"].items():
            rate = self.active * self.assumed["a_day"][what] / 86_400 * self.assumed["peak"]
            for part, microseconds in entry["microseconds"].items():
                cores[part] += rate * microseconds / 1e6
        return cores

    def database_gigabytes(self):
        row, days = self.measured["row_bytes"]["value"], 365 * self.assumed["years"]
        times, streaks = self.assumed["a_day"], self.assumed["streaks_a_user"]
        events = self.assumed["events_a_day"]
        a_day = {
            "streaks": times["upload"] * streaks * row["contribution"]
            + times["check-in"] * sum(row[name] for name in ("contribution", "tracking_entry", "tracking_update", "xp_posting"))
            + self.assumed["habit_completions_a_day"] * (row["habit_completion"] + row["habit_day"]),
            "media": times["upload"] * (row["snap"] + streaks * row["streak_snap"]),
            "notifications": 0,
        }
        # Rows that go again, as many as there are at a time. Who emits and consumes which share of events is not measured: all as streaks.
        kept = {
            "streaks": events * (row["outbox"] * self.limits["outbox_days"] + 2 * row["inbox"] * (self.limits["outbox_days"] + 1)),
            "media": times["upload"] * row["snap_operation"] * self.assumed["operation_days"],
            "notifications": times["entry"] * row["notification"] * self.limits["notification_days"]
            + self.assumed["pushes_a_day"] * row["delivery"] * self.limits["delivery_days"],
        }
        # A streak has two members, so a user has half of each.
        fixed = {
            "streaks": streaks * (row["streak"] / 2 + row["streak_member"] + row["streak_identity"] / 2) + row["zone_change"]
            + row["profile_replica"],
            "media": row["profile_replica"],
            "notifications": row["profile_replica"] + row["device"],
        }
        return {name: (self.active * (a_day[name] * days + kept[name]) + self.users * fixed[name]) / 1e9 for name in a_day}

    def nodes(self, part):
        """At least two of everything, three of NATS; each PostgreSQL has a standby."""
        per = (self.assumed["database_cores"] if part.startswith("postgres") else self.assumed["node_cores"]) * self.assumed["utilisation"]
        count = math.ceil(self.cores[part] / per)
        if part.startswith("postgres"):
            gigabytes = self.disks.get(part.split()[1], 0)
            return 2 * max(1, count, math.ceil(gigabytes / (self.assumed["database_terabytes"] * 1000)))
        return max(3 if part == "nats" else 2, count)

    def limits_reached(self):
        """Each limit: (what, how much is needed, what there is, unit)."""
        a_second = self.active / 86_400
        database = self.assumed["database_cores"] * self.assumed["utilisation"]
        due = self.active * self.assumed["a_day"]["break"] * self.assumed["largest_zone"]
        result = [
            ("pushes through one provider's account", a_second * self.assumed["pushes_a_day"] * self.assumed["push_peak"],
             self.limits["pushes_a_second"], "a second"),
            ("entries by the one active consumer of notifications", a_second * self.assumed["a_day"]["entry"] * self.assumed["peak"],
             self.measured["entries_a_second"]["value"], "a second"),
            ("settlement of the largest midnight, two cores", due / self.measured["settled_a_second"]["value"],
             self.limits["settlement_seconds"], "s"),
        ]
        for service in SERVICES:
            result.append((f"CPU of the one PostgreSQL of {service}", self.cores[f"postgres {service}"], database, "cores"))
        for service, gigabytes in self.disks.items():
            result.append((f"disk of the one PostgreSQL of {service}", gigabytes / 1000, self.assumed["database_terabytes"], "TB"))
        return sorted(result, key=lambda entry: -entry[1] / entry[2])

    def money(self):
        """EUR a month by part."""
        cores = sum(
            self.nodes(part) * (self.assumed["database_cores"] if part.startswith("postgres") else self.assumed["node_cores"])
            for part in self.cores
        )
        photos = self.active * self.assumed["a_day"]["upload"] * self.assumed["photo_kilobytes"] / 1e6 * 365 * self.assumed["years"]
        return {
            "machines": cores * self.prices["core_month"],
            "disks of PostgreSQL, twice": 2 * sum(self.disks.values()) * self.prices["disk_gigabyte_month"],
            "photos in a bucket": photos * self.prices["object_gigabyte_month"],
            "photos that are seen": self.egress() * 30 * self.prices["egress_gigabyte"],
        }

    def egress(self):
        """GB a day."""
        return self.active * self.assumed["photos_seen_a_day"] * self.assumed["photo_kilobytes"] / 1e6


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def report(users, figures):
    needs = [Needs(count, figures) for count in users]
    heads = [f"{count / 1e6:g} M users" for count in users]
    lines = [row("", *heads), "|---|" + "---|" * len(users)]
    lines.append(row("requests a second, at the peak",
                     *(number(n.requests / 86_400 * n.assumed["peak"]) for n in needs)))
    for part in sorted(needs[0].cores):
        lines.append(row(f"{part}: cores at the peak → machines", *(f"{number(n.cores[part])} → {n.nodes(part)}" for n in needs)))
    for service in needs[0].disks:
        lines.append(row(f"PostgreSQL of {service}: disk", *(f"{number(n.disks[service])} GB" for n in needs)))
    streams = [n.active * n.assumed["online_share"] for n in needs]
    lines.append(row("open streams → gateways for them",
                     *(f"{number(s)} → {math.ceil(s / n.limits['streams_a_gateway'])}" for s, n in zip(streams, needs))))
    lines.append(row("photos to readers at the peak",
                     *(f"{number(n.egress() * 8 / 86_400 * n.assumed['peak'])} Gbit/s" for n in needs)))
    for name in needs[0].money():
        lines.append(row(f"{name}, a month", *(f"EUR {number(n.money()[name])}" for n in needs)))
    lines.append(row("together, a month", *(f"EUR {number(sum(n.money().values()))}" for n in needs)))
    lines.append(row("a user and month", *(f"EUR {sum(n.money().values()) / n.users:.4f}" for n in needs)))
    lines += ["", row("what ends first", "there is", *(f"{head} need" for head in heads), "reached at"), "|---|---|" + "---|" * (len(users) + 1)]
    reached = {entry[0]: [entry] for entry in needs[0].limits_reached()}
    for n in needs[1:]:
        for entry in n.limits_reached():
            reached[entry[0]].append(entry)
    for name, entries in reached.items():
        _, need, there, unit = entries[0]
        at = users[0] * there / need / 1e6
        lines.append(row(name, f"{number(there)} {unit}", *(number(entry[1]) for entry in entries), f"{number(at)} M users"))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("users", nargs="*", type=float, default=[1e7, 1e8])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    if any(count <= 0 for count in options.users):
        raise SystemExit("USERS must be above 0")
    print(report(options.users, load(options.set)))


if __name__ == "__main__":
    main()
