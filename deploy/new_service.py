#!/usr/bin/env python3
"""Makes a Swift package of its own with a service of StreakSnap: one RPC, one table, one event consumed and one emitted, and tests.

    deploy/new_service.py NAME --into FOLDER [--package PATH_OR_URL] [--plugin FILE] [--check]

The package is FOLDER/NAME, from the template deploy/new-service/. --package is where it finds StreakSnap: the path of a folder (that of this repository
when it is not given) or the URL of a Git repository. --plugin is the built protoc-gen-streaksnap, with which the code of its protos is made.
--check only says what is wrong with the command line. Ends with 2 for that, with 1 for a failure; then nothing is left behind.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
# The rule of names is that of Shared/Kernel/ServiceName.swift.
LONGEST = 30
# Users of the broker, roles and schemas of the database, packages of protos; FurtherServices.swift has the same.
TAKEN = {
    "admin", "auth", "billing", "common", "gateway", "information_schema", "media", "notifications", "operator", "options", "postgres", "public",
    "social", "streaks", "streaksnap", "streams", "testing",
}
# As SwiftName.swift of the generator writes these words.
CAPITALS = {"id": "ID", "ids": "IDs", "url": "URL", "urls": "URLs", "uri": "URI", "http": "HTTP"}


class Refusal(Exception):
    """The command line is wrong."""


class Failure(Exception):
    """The package could not be made."""


def swift_type(bus_name):
    """`meal_plans` → `MealPlans`, as the generator names the module of a package."""
    first, *rest = bus_name.split("_")
    return first[0].upper() + first[1:] + "".join(CAPITALS.get(word, word[0].upper() + word[1:]) for word in rest)


def check_name(name):
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) > LONGEST:
        raise Refusal(
            f"NAME must begin with a lower-case letter and have lower-case letters, digits and single hyphens, at most {LONGEST}, not “{name}”"
        )
    bus_name = name.replace("-", "_")
    if bus_name in TAKEN or bus_name.startswith("pg_"):
        raise Refusal(f"the name “{name}” is taken")
    return bus_name


def check_target(into, name):
    if not into.is_dir():
        raise Refusal(f"there is no folder {into}")
    if into == ROOT or ROOT in into.parents:
        raise Refusal(f"{into} is inside of StreakSnap's repository; name a folder outside of it with --into")
    target = into / name
    if target.exists() or target.is_symlink():
        raise Refusal(f"{target} is there already")
    if not os.access(into, os.W_OK):
        raise Refusal(f"{into} cannot be written")
    return target


class Kit:
    """Where the package finds StreakSnap."""

    def __init__(self, given, target):
        self.is_remote = bool(given and (re.match(r"[a-z+]+://", given) or re.match(r"[^/]+@[^/]+:", given)))
        if self.is_remote:
            if re.search(r'[\s"\\]', given):
                raise Refusal(f"--package is no URL: “{given}”")
            self.url = given
            self.identity = re.sub(r"\.git$", "", given.rstrip("/")).replace(":", "/").split("/")[-1].lower()
            return
        folder = pathlib.Path(given).resolve() if given else ROOT
        if not (folder / "Package.swift").is_file() or not (folder / "Proto/streaksnap").is_dir():
            raise Refusal(f"--package: there is no StreakSnap in {folder}")
        # As seen from the package, so that both can move together.
        self.path = os.path.relpath(folder, target)
        if re.search(r'["\\$`\n]', self.path):
            raise Refusal(f"--package: {folder} has characters in its path that a manifest cannot name")
        self.identity = "streaksnap"

    def values(self, name):
        if self.is_remote:
            source = (ROOT / "Shared/Runtime/BuildInfo.swift").read_text()
            version = re.search(r'version = "([^"]+)"', source)[1]
            return {
                "KIT_DEPENDENCY": f'let streaksnap: Package.Dependency = .package(url: "{self.url}", .upToNextMinor(from: "{version}"))',
                "KIT_IDENTITY": self.identity,
                "KIT_FOLDER": f"kit=${{STREAKSNAP_KIT:-$PWD/.build/checkouts/{self.identity}}}",
                "KIT_HINT": "have SwiftPM fetch it (package resolve)",
                "DOCKER_COMMAND": f"docker build -f deploy/Dockerfile -t {name} .",
                "DOCKER_KIT\n": "",
            }
        return {
            "KIT_DEPENDENCY": "// STREAKSNAP_KIT names another folder than the one beside this package.\n"
            f'let kitFolder = Context.environment["STREAKSNAP_KIT"] ?? "{self.path}"\n'
            'let streaksnap: Package.Dependency = .package(name: "streaksnap", path: kitFolder)',
            "KIT_IDENTITY": self.identity,
            "KIT_FOLDER": f'kit=${{STREAKSNAP_KIT:-"{self.path}"}}\nkit=$(realpath -m -- "$kit")',
            "KIT_HINT": "correct the path in this script and in Package.swift, or name it by STREAKSNAP_KIT",
            "DOCKER_COMMAND": f"docker build -f deploy/Dockerfile --build-context streaksnap={self.path} -t {name} .",
            "DOCKER_KIT": "# The service kit; its manifest names the folders of all its targets.\n"
            + "\n".join(f"COPY --from=streaksnap {part} /streaksnap/{part}" for part in ["Package.swift", "Proto", "Shared", "Services", "Tests"])
            + "\nENV STREAKSNAP_KIT=/streaksnap",
        }


def fill(folder, name, bus_name, kit):
    """Writes the template with its names replaced."""
    values = kit.values(name) | {
        "SampleName": swift_type(bus_name),
        "sample_name": bus_name,
        "sample-name": name,
    }

    def replaced(text):
        for key, value in values.items():
            text = text.replace(key, value)
        return text

    template = HERE / "new-service"
    for source in sorted(template.rglob("*")):
        target = folder / replaced(str(source.relative_to(template)))
        if source.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.write_text(replaced(source.read_text()))
            shutil.copymode(source, target)


def generate(folder, kit, plugin):
    """Makes the code of the protos, with the protos of this repository: what `deploy/generate` of the package does later by itself."""
    environment = dict(os.environ, STREAKSNAP_PLUGIN=str(plugin), STREAKSNAP_KIT=str(ROOT))
    done = subprocess.run([folder / "deploy/generate"], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Failure(f"the code of its protos could not be made:\n{done.stdout.strip()}")


def make(target, name, bus_name, kit, plugin):
    draft = pathlib.Path(tempfile.mkdtemp(prefix=f".{name}.", dir=target.parent))
    try:
        draft.chmod(0o755)
        fill(draft, name, bus_name, kit)
        generate(draft, kit, plugin)
        # Fails when the folder was made meanwhile and has anything in it.
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def interrupt(number, frame):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("name")
    parser.add_argument("--into", type=pathlib.Path, required=True)
    parser.add_argument("--package")
    parser.add_argument("--plugin", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, interrupt)
    try:
        bus_name = check_name(options.name)
        target = check_target(options.into.resolve(), options.name)
        kit = Kit(options.package, target)
        if options.check:
            return 0
        if not options.plugin or not os.access(options.plugin, os.X_OK):
            raise Refusal(f"--plugin must be the built protoc-gen-streaksnap, not “{options.plugin}”")
        make(target, options.name, bus_name, kit, options.plugin.resolve())
    except Refusal as problem:
        print(f"deploy/dev new-service: {problem}", file=sys.stderr)
        return 2
    except (Failure, OSError) as problem:
        print(f"deploy/dev new-service: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"{target} is a service: its README.md says how to build, test and run it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
