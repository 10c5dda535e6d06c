#!/usr/bin/env python3
"""How long the turns and tests of a run took: writes FOLDER/test-times.tsv, slowest first, and prints each turn and the ten slowest tests.

test_times.py FOLDER

Reads FOLDER/turns (a line a turn: name, begin and end in seconds, how many tests may run at once) and FOLDER/events-NAME.jsonl, swift-testing's event stream.

Where tests run side by side, a test is said to start when it begins to wait for a place among those that may run at once, and the stream
does not say when it gets one, but for the cases of a test with arguments. But each end frees one place, and tests of one suite wait next
to each other, which shows to within a few seconds when each began.
"""

import collections
import json
import pathlib
import sys

def events(path):
    """(time, kind, test) of each event, and the ids of suites and of tests with arguments."""
    found, suites, parameterized = [], set(), set()
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue  # The last line of a runner that crashed.
        payload = record["payload"]
        if record["kind"] == "test":
            if payload["kind"] == "suite":
                suites.add(payload["id"])
            elif payload.get("isParameterized"):
                parameterized.add(payload["id"])
        elif payload.get("testID"):
            found.append((payload["instant"]["absolute"], payload["kind"], payload["testID"]))
    return found, suites, parameterized


def suite(test):
    return test.rsplit("/", 2)[0]


def arrivals(found, plain):
    """The tests without arguments in the order in which they began to wait, each with when that was."""
    ends = {test: time for time, kind, test in found if kind == "testEnded"}
    starts = {test: time for time, kind, test in found if kind == "testStarted" and test in plain and test in ends}
    if not starts:
        return []
    begin = min(starts.values())
    suites = {}
    for test in starts:
        suites[suite(test)] = min(suites.get(suite(test), ends[test]), ends[test])
    # Most are started at once; those of a serialized suite when the one before has ended.
    order = {test: (max(time - begin - 3, 0), suites[suite(test)], ends[test]) for test, time in starts.items()}
    return [(test, starts[test]) for test in sorted(starts, key=lambda test: order[test])]


def times(path, width):
    """Seconds by test id, of a turn in which so many run at once; 0 for any number."""
    found, suites, parameterized = events(path)
    plain = {test for _, _, test in found} - suites - parameterized
    waiting = collections.deque(arrivals(found, plain))
    began, ended, running = {}, {}, []
    # Of a test with arguments the times of its cases together: their ends less their beginnings, whichever belongs to which.
    cases = collections.Counter()
    free = width or len(found)
    for time, kind, test in found:
        if test in suites:
            continue
        if kind == "testCaseStarted":
            cases[test] -= time
            free -= 1
        elif kind == "testCaseEnded":
            cases[test] += time
            free += 1
        elif kind == "testEnded":
            ended[test] = time
            if test in plain:
                give_place_to(test, waiting, running, began)
                running.remove(test)
                free += 1
        while free > 0 and waiting and waiting[0][1] <= time:
            name, arrived = waiting.popleft()
            began[name] = max(arrived, time)
            running.append(name)
            free -= 1
    seconds = {test: max(0.0, ended[test] - began[test]) for test in ended if test in began}
    seconds.update({test: sum for test, sum in cases.items() if test in ended})
    return seconds


def give_place_to(test, waiting, running, began):
    """A test ended: should it be thought to wait still, another one was taken for it, which waits on."""
    if test in running:
        return
    mine = next(entry for entry in waiting if entry[0] == test)
    waiting.remove(mine)
    began[test] = mine[1]
    running.append(test)
    other = max((name for name in running if name != test), key=lambda name: began[name], default=None)
    if other is not None:
        running.remove(other)
        began[test] = max(mine[1], began[other])
        waiting.appendleft((other, mine[1]))


def main(folder):
    turns, tests = [], []
    for line in (folder / "turns").read_text(encoding="utf-8").splitlines():
        name, begin, end, width = line.split()
        turns.append((float(end) - float(begin), name))
        stream = folder / f"events-{name}.jsonl"
        if stream.exists():
            tests += [(seconds, name, test) for test, seconds in times(stream, int(width)).items()]
    tests.sort(reverse=True)
    with open(folder / "test-times.tsv", "w", encoding="utf-8") as file:
        file.write("seconds\tturn\ttest\n")
        for seconds, name in sorted(turns, reverse=True):
            file.write(f"{seconds:.1f}\t{name}\t\n")
        for seconds, name, test in tests:
            file.write(f"{seconds:.3f}\t{name}\t{test}\n")
    print("\nturns:")
    for seconds, name in turns:
        print(f"{seconds:8.1f} s  {name}")
    print("slowest tests:")
    for seconds, name, test in tests[:10]:
        print(f"{seconds:8.1f} s  {name}: {test.rsplit('/', 1)[0]}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
