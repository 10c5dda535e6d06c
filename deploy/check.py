#!/usr/bin/env python3
"""Checks the types of modules without making code. Part of deploy/dev, which explains it.

SwiftPM has written how it compiles each module (.build/release.yaml). The compiler is called in the same way, but only emits the module, into
.run/check: with that, what depends on a changed module is checked against what it has become.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKED = ROOT / ".run/check"
# Options of the command line with a value that says what is written where.
OUTPUTS = {"-emit-module-path", "-output-file-map", "-emit-objc-header-path", "-num-threads", "-index-store-path"}
DROPPED = {"-emit-dependencies", "-c", "-emit-objc-header", "-O", "-g", "-parseable-output", "-j2", "-serialize-diagnostics"}


class Module:
    def __init__(self, name, inputs, arguments):
        self.name, self.arguments = name, arguments
        self.sources = [pathlib.Path(path) for path in inputs if path.endswith(".swift")]
        self.needs = [pathlib.Path(path).stem for path in inputs if path.endswith(".swiftmodule")]
        self.built = pathlib.Path(arguments[arguments.index("-emit-module-path") + 1])

    @property
    def is_own(self):
        return bool(self.sources) and ROOT in self.sources[0].parents and ".build" not in self.sources[0].parts

    @property
    def has_changed(self):
        """Whether a source, or the folder of one (a file came or went), is newer than what was built."""
        if not self.built.exists():
            return False
        built = self.built.stat().st_mtime
        places = {*self.sources, *(source.parent for source in self.sources)}
        return any(not place.exists() or place.stat().st_mtime > built for place in places)

    def command(self):
        arguments, result = iter(self.arguments), []
        for argument in arguments:
            if argument in OUTPUTS:
                next(arguments)
            elif argument in ("-Xcc", "-Xfrontend", "-Xlinker"):
                result += [argument, next(arguments)]
            elif argument.startswith("@"):
                folder = {source.parent for source in self.sources}
                found = {source for place in folder if place.exists() for source in place.glob("*.swift")}
                result += sorted(str(path) for path in found | {path for path in self.sources if path.exists()})
            elif argument not in DROPPED:
                result.append(argument)
        # Before the folder of what was built.
        place = result.index("-I")
        result[place:place] = ["-I", str(CHECKED)]
        return result + ["-Onone", "-emit-module-path", str(CHECKED / f"{self.name}.swiftmodule"), "-j1"]

    def check(self):
        """What is wrong, as the compiler says it; empty when nothing is."""
        done = subprocess.run(self.command(), cwd=ROOT, capture_output=True, text=True)
        return done.stdout + done.stderr if done.returncode else ""


def modules():
    manifest = ROOT / ".build/release.yaml"
    if not manifest.exists():
        sys.exit("deploy/dev check: nothing was built yet: deploy/dev up or deploy/dev test --build-only does")
    found = {}
    pattern = re.compile(r'^  "C\.(\w[\w-]*)-[\w-]+-release\.module":\n((?:    .*\n)+)', re.M)
    for match in pattern.finditer(manifest.read_text()):
        fields = dict(re.findall(r"^    (\w+): (.*)$", match[2], re.M))
        arguments = json.loads(fields["args"])
        if "-module-name" in arguments and "-emit-module-path" in arguments:
            name = arguments[arguments.index("-module-name") + 1]
            found[name] = Module(name, json.loads(fields["inputs"]), arguments)
    return found


def in_order(chosen, everything):
    """Modules after what they need."""
    result, seen = [], set()

    def visit(name):
        if name in seen or name not in everything:
            return
        seen.add(name)
        for need in everything[name].needs:
            visit(need)
        if name in chosen:
            result.append(name)

    for name in sorted(chosen):
        visit(name)
    return result


def needed(name, everything):
    """All modules that a module is made of."""
    found, waiting = set(), [name]
    while waiting:
        for need in everything[waiting.pop()].needs:
            if need in everything and need not in found:
                found.add(need)
                waiting.append(need)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("module", nargs="?")
    parser.add_argument("--dependents", action="store_true")
    options = parser.parse_args()
    began, everything = time.monotonic(), modules()
    changed = {name for name, module in everything.items() if module.is_own and module.has_changed}
    chosen = set(changed)
    if options.module:
        if options.module not in everything:
            near = sorted(name for name in everything if options.module.lower() in name.lower() and everything[name].is_own)
            sys.exit(f"deploy/dev check: there is no module {options.module}{'; there are ' + ', '.join(near) if near else ''}")
        chosen = {options.module} | (needed(options.module, everything) & changed)
    if options.dependents:
        chosen |= {name for name, module in everything.items() if module.is_own and module.built.exists() and needed(name, everything) & chosen}
    CHECKED.mkdir(parents=True, exist_ok=True)
    # Modules of an earlier check may be older than what was built since.
    for file in CHECKED.glob("*.swiftmodule"):
        if file.stem not in chosen:
            file.unlink()
    order, failed, done = in_order(chosen, everything), [], set()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        waiting, running = list(order), {}
        while waiting or running:
            for name in list(waiting):
                if needed(name, everything) & set(failed):
                    waiting.remove(name)
                elif not (needed(name, everything) & (set(waiting) | set(running.values()))):
                    waiting.remove(name)
                    running[pool.submit(everything[name].check)] = name
            if not running:
                break
            ended, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ended:
                name = running.pop(future)
                if problem := future.result():
                    failed.append(name)
                    print(problem.rstrip())
                else:
                    done.add(name)
    seconds = time.monotonic() - began
    left_out = len(order) - len(done) - len(failed)
    print(f"{len(done)} of {len(order)} modules are right ({', '.join(order) or 'nothing has changed'}), {seconds:.0f} s", file=sys.stderr)
    if left_out:
        print(f"{left_out} were not checked, for they use one that is wrong", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
