#!/usr/bin/env python3
"""Runs a build and says how far it is: in a terminal on one line, elsewhere every 10 s. Part of deploy/dev.

    build_progress.py LOG WORDS PRODUCT COMMAND...

SwiftPM counts its steps as it finds them, and a step is anything from a file to a large module. So what is shown are the modules that the
product needs and that were not there at the start (PRODUCT empty: all modules), and the time that is left follows from the sizes of their
sources.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import check


def duration(seconds):
    seconds = int(seconds)
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"


class Progress:
    def __init__(self, words, product):
        self.words, self.product, self.began = words, product, time.time()
        self.missing, self.written = None, None

    def find(self):
        """The modules that are missing, once SwiftPM has written what it will do."""
        manifest = check.ROOT / ".build/release.yaml"
        if not manifest.exists() or manifest.stat().st_mtime == self.written:
            return
        self.written = manifest.stat().st_mtime
        everything = check.modules()
        names = everything
        if self.product in everything:
            names = {self.product} | check.needed(self.product, everything)
        chosen = [everything[name] for name in names]
        if self.missing is None:
            self.missing = {}
        for module in chosen:
            if not module.built.exists() or module.built.stat().st_mtime >= self.began:
                size = sum(source.stat().st_size for source in module.sources if source.exists())
                self.missing.setdefault(module.name, (module.built, size + 2_000))

    def text(self):
        passed = time.time() - self.began
        self.find()
        if not self.missing:
            return f"{self.words}, {duration(passed)}"
        done = {name for name, (built, _) in self.missing.items() if built.exists()}
        size = sum(size for _, size in self.missing.values())
        ready = sum(self.missing[name][1] for name in done)
        left = ""
        if passed >= 30 and ready * 20 > size and len(done) < len(self.missing):
            left = f", about {duration(passed * (size - ready) / ready)} left"
        what = f"compiling {len(done)} of {len(self.missing)} modules" if len(done) < len(self.missing) else "linking"
        return f"{self.words}: {what}, {duration(passed)}{left}"


def main():
    log, words, product, *command = sys.argv[1:]
    progress, said = Progress(words, product), time.monotonic()
    is_terminal = sys.stderr.isatty()
    with open(log, "w") as output:
        build = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    ended = []

    def stop(*_):
        # What runs is stopped in order, so that the next build goes on from there.
        ended.append(True)
        os.killpg(build.pid, signal.SIGTERM)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    while True:
        try:
            status = build.wait(timeout=0.2)
            break
        except subprocess.TimeoutExpired:
            pass
        if is_terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\033[K" + progress.text()[:width])
            sys.stderr.flush()
        elif time.monotonic() - said >= 10:
            said = time.monotonic()
            print(progress.text(), file=sys.stderr)
    if is_terminal:
        sys.stderr.write("\r\033[K")
    passed = time.time() - progress.began
    if status == 0 and passed >= 3:
        print(f"{words}: {duration(passed)}", file=sys.stderr)
    return 130 if ended else status


if __name__ == "__main__":
    sys.exit(main())
