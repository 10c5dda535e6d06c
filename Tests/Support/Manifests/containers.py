"""Checks what builds, starts and publishes containers: python3 containers.py REPOSITORY. Prints "ok", or what is wrong.

Nothing here can run it, so the linters that its readers use look at it, and what the files say of each other is compared.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

root = pathlib.Path(sys.argv[1])
programs = pathlib.Path(sys.executable).parent
wrong = []


def check(holds, text):
    if not holds:
        wrong.append(text)


def lint(program, *arguments, text=None):
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "NO_COLOR": "1"}
    result = subprocess.run([programs / program, *arguments], capture_output=True, text=True, input=text, env=environment)
    check(result.returncode == 0, f"{program} {' '.join(map(str, arguments))}:\n{result.stdout}{result.stderr}")


workflows = sorted((root / ".github/workflows").glob("*.yml"))
check(len(workflows) == 2, f"workflows: {workflows}")
lint("actionlint", "-shellcheck", programs / "shellcheck", "-pyflakes", "", *workflows)
# Rights of tokens, actions that are not pinned, text that gets into scripts.
lint("zizmor", "--offline", "--no-progress", *workflows)
lint("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)

# Debian's versions go away when the next ones come; the newest are wanted.
dockerfile = (root / "deploy/Dockerfile").read_text()
lint("hadolint", "--ignore", "DL3008", "-", text=dockerfile)
sample = (root / "deploy/new-service/deploy/Dockerfile").read_text()
# Two lines of it are written when a service is made.
lint("hadolint", "--ignore", "DL3008", "-", text=re.sub(r"^DOCKER_[A-Z]+$", "COPY kit /kit", sample, flags=re.MULTILINE))

stages = {}
for part in re.split(r"^FROM ", dockerfile, flags=re.MULTILINE)[1:]:
    base, name = re.match(r"(\S+)(?: AS (\S+))?", part).groups()
    stages[name] = {"base": base, "text": part}
products = re.search(r'^ARG PRODUCTS="(.+)"$', dockerfile, re.MULTILINE)[1].split()
for name in ["all-in-one", None]:
    users = re.findall(r"^USER (\S+)$", stages[name]["text"], re.MULTILINE)
    check(users and users[-1] == "10001:10001", f"{name or 'the small images'}: run as {users}")
check(list(stages)[-1] is None, "what is built without --target is not the small images")
whole = re.sub(r"^#.*$", "", stages["all-in-one"]["text"], flags=re.MULTILINE)
check("DEV_CLOCK" not in whole and "--dev-clock" not in whole, "the image lets time be moved without being asked to")
volumes = re.findall(r"^VOLUME (\S+)$", whole, re.MULTILINE)
check(f'"--data", "{volumes[0]}"' in whole, f"the data folder is not on the volume: {volumes}")
wanted = re.search(r'^RECOMMENDS = \{"media": (\[.+\])\}$', (root / "deploy/package").read_text(), re.MULTILINE)[1]
for package in yaml.safe_load(wanted):
    check(all(f" {package}" in text for text in [whole, stages[None]["text"]]), f"{package}: not in both images that show media")


def compose(path):
    lint("check-jsonschema", "--builtin-schema", "vendor.compose-spec", root / path)
    return yaml.safe_load((root / path).read_text())


def image_of(name):
    return "${STREAKSNAP_IMAGES:-localhost/streaksnap}/" + name + ":"


each = compose("deploy/compose.yaml")
built = {name: service for name, service in each["services"].items() if "build" in service}
check(sorted(service["build"]["args"]["SERVICE"] for service in built.values()) == sorted(products), "other images than executables")
for name, service in built.items():
    check(service["image"].startswith(image_of(name)), f"{name}: its image is {service['image']}")
trial = compose("deploy/try/compose.yaml")["services"]
check(list(trial) == ["streaksnap"], f"to try it takes more than one container: {list(trial)}")
one = trial["streaksnap"]
check(one["image"].startswith(image_of("streaksnap")) and one["build"]["target"] == "all-in-one", f"tried is {one['image']}")
check(set(one["build"]["args"]["PRODUCTS"].split()) <= set(products), "tried is what is not built")
check(one["ports"] == ["${STREAKSNAP_PORT:-127.0.0.1:8080}:8080"], f"reached from elsewhere: {one['ports']}")
check(one["environment"]["STREAKSNAP_DEV_CLOCK"] == "true", "without the clock there is no /demo")
check(one["volumes"] == [f"data:{volumes[0]}"], "what is tried is lost with the container")

release = yaml.safe_load((root / ".github/workflows/release.yml").read_text())["jobs"]
check(release["test"]["with"] == {"depth": "full"}, "a release is not tested at full depth")
check({"version", "test"} <= set(release["images"]["needs"]), "images are pushed before the tests have passed")
check({"packages", "images"} <= set(release["publish"]["needs"]), "published before everything is made")
rights = {name: sorted(key for key, value in job["permissions"].items() if value == "write") for name, job in release.items()}
may = {"images": ["packages"], "publish": ["contents", "packages"]}
check(rights == {name: may.get(name, []) for name in release}, f"rights: {rights}")

# The secrets that the workflow makes are those that the services read.
script = next(step["run"] for step in release["images"]["steps"] if "secrets" in step.get("name", "")).split("docker compose")[0]
with tempfile.TemporaryDirectory() as folder:
    os.symlink(root / "deploy", pathlib.Path(folder) / "deploy")
    made = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True)
    check(made.returncode == 0, f"secrets: {made.stderr}")
    there = {path.name for path in (pathlib.Path(folder) / ".run/secrets").glob("*")}
    check(set(each["secrets"]) <= there, f"the workflow makes no {set(each['secrets']) - there}")
print("\n".join(wrong) or "ok")
