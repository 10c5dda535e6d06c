#!/usr/bin/env python3
"""Says what in one folder of protos would break a running peer or a released client of another, older one.

    deploy/compare_protos.py OLD NEW [--imports DIR]

OLD and NEW are folders like Proto/; DIR has the protos of others that they import (deploy/generate --imports). Both are compiled by protoc and compared
by their descriptors, so what they look like does not matter. Prints one line for each break and ends with 1; with 0 when there is none, with 2 when
a folder does not compile. The policy is on deploy/docs/versioning.md. Of the tests' own messages no peer knows: they are not compared.

What breaks, and what does not:
- peers of both versions run at the same time: numbers, types and labels of fields, RPCs, their messages, what may be repeated, events;
- an app keeps its version for years: paths, names in JSON, who may call, rules that refuse what they took. Only what a public route reaches.
- What is new is no break, unless an old caller would have to send it.
- What was marked `deprecated` in OLD may go, if its number and name are reserved.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ANNOTATION = "[google.api.http]"
METHOD = "[streaksnap.options.v1.method]"
FIELD = "[streaksnap.options.v1.field]"
EVENT = "[streaksnap.options.v1.event]"
# Who may call: what comes later lets fewer in.
OPENNESS = ["AUTH_NONE", "AUTH_GUEST", "AUTH_USER", "AUTH_ADMIN"]


class Node(dict):
    """A message in protobuf's text form: each field's values in a list."""

    def one(self, name, default=""):
        return self.get(name, [default])[0]

    def node(self, name):
        return self.get(name, [None])[0] or Node()


def parse(text):
    """The text form that `protoc --decode` prints: one field, `{` or `}` a line."""
    stack = [Node()]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            stack.pop()
        elif line.endswith("{"):
            stack.append(Node())
            stack[-2].setdefault(line[:-1].strip(), []).append(stack[-1])
        else:
            name, _, value = line.partition(": ")
            stack[-1].setdefault(name, []).append(value[1:-1] if value.startswith('"') else value)
    return stack[0]


def compile_folder(folder, imports):
    """The descriptors of a folder."""
    files = sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*.proto"))
    files = [name for name in files if name.startswith("streaksnap/") and not name.startswith("streaksnap/testing/")]
    if not files:
        raise ValueError(f"{folder} has no protos")
    includes = [f"-I{path}" for path in [folder, *imports, "/usr/include"]]

    def protoc(*arguments, given=None):
        return subprocess.run(["protoc", *includes, *arguments], input=given, capture_output=True, check=True).stdout

    described = protoc("--descriptor_set_out=/dev/stdout", *files)
    # These define the options, which are unreadable without.
    known = ["streaksnap/options/v1/options.proto", "google/api/annotations.proto"]
    known = [name for name in known if any((pathlib.Path(path) / name).exists() for path in [folder, *imports])]
    text = protoc("--decode=google.protobuf.FileDescriptorSet", "google/protobuf/descriptor.proto", *known, given=described)
    return Protos(parse(text.decode()))


class Protos:
    """Everything by its full name, each with the file it is in."""

    def __init__(self, described):
        self.messages, self.enums, self.rpcs = {}, {}, {}
        for file in described.get("file", []):
            path, package = f"Proto/{file.one('name')}", file.one("package")
            for message in file.get("message_type", []):
                self._add(path, f".{package}", message)
            for enum in file.get("enum_type", []):
                self.enums[f".{package}.{enum.one('name')}"] = (path, enum)
            for service in file.get("service", []):
                for method in service.get("method", []):
                    # Peers and routes know the package and the method, not the proto's service.
                    self.rpcs[f".{package}.{method.one('name')}"] = (path, method)
        calls = [method for _, method in self.rpcs.values()]
        public = [method for method in calls if bindings(method)]
        self.requests = self._reached(method.one("input_type") for method in calls)
        self.public_requests = self._reached(method.one("input_type") for method in public)
        self.public = self.public_requests | self._reached(method.one("output_type") for method in public)

    def _add(self, path, scope, message):
        name = f"{scope}.{message.one('name')}"
        self.messages[name] = (path, message)
        for inner in message.get("nested_type", []):
            self._add(path, name, inner)
        for enum in message.get("enum_type", []):
            self.enums[f"{name}.{enum.one('name')}"] = (path, enum)

    def _reached(self, names):
        """These types, and those of their fields, and theirs."""
        found, waiting = set(), list(names)
        while waiting:
            name = waiting.pop()
            if name and name not in found:
                found.add(name)
                fields = self.messages[name][1].get("field", []) if name in self.messages else []
                waiting += [field.one("type_name") for field in fields]
        return found


def auth(method):
    value = method.node("options").node(METHOD).one("auth", "AUTH_USER")
    return "AUTH_USER" if value == "AUTH_UNSPECIFIED" else value


def bindings(method):
    """The routes of an RPC, (verb, path) → body; none of an internal one."""
    if auth(method) == "AUTH_INTERNAL":
        return {}
    found = {}
    for rule in method.node("options").get(ANNOTATION, []):
        for binding in [rule, *rule.get("additional_bindings", [])]:
            for verb in ["get", "put", "post", "delete", "patch"]:
                if verb in binding:
                    # The name of a parameter is no part of the path that clients use, but it is the field's name.
                    found[(verb.upper(), binding.one(verb))] = binding.one("body")
    return found


def is_deprecated(node):
    return node.node("options").one("deprecated") == "true"


def is_reserved(node, number, name):
    """Whether number and name are reserved; the end of a range counts in an enum, and not in a message."""
    beyond = 1 if "value" in node else 0
    ranges = [(int(r.one("start", "0")), int(r.one("end", "0")) + beyond) for r in node.get("reserved_range", [])]
    return any(start <= number < end for start, end in ranges) and name in node.get("reserved_name", [])


def has_reserved(node, number):
    beyond = 1 if "value" in node else 0
    return any(int(r.one("start", "0")) <= number < int(r.one("end", "0")) + beyond for r in node.get("reserved_range", []))


class Comparison:
    def __init__(self, old, new):
        self.old, self.new, self.breaks = old, new, []

    def found(self, path, element, why):
        self.breaks.append(f"{path}: {element.lstrip('.')}: {why}")

    def run(self):
        for name, (path, message) in self.old.messages.items():
            if name in self.new.messages:
                self.message(path, name, message, self.new.messages[name][1])
            elif EVENT in message.node("options"):
                self.found(path, name, "the event is gone: its consumers wait for it, and streams keep it for 7 days")
        for name, (path, enum) in self.old.enums.items():
            if name in self.new.enums:
                self.enum(path, name, enum, self.new.enums[name][1])
        for name, (path, method) in self.old.rpcs.items():
            if name in self.new.rpcs:
                self.rpc(path, name, method, self.new.rpcs[name][1])
            elif not is_deprecated(method):
                self.found(path, name, "the RPC is gone: mark it deprecated for a release first")
        return sorted(self.breaks)

    def message(self, path, name, old, new):
        before, after = (m.node("options").get(EVENT, [None])[0] for m in (old, new))
        if before is not None and after is None:
            self.found(path, name, "is an event no more: its consumers wait for it")
        elif before is not None and before.one("aggregate") != after.one("aggregate"):
            change = f"the aggregate was {before.one('aggregate')}, is {after.one('aggregate')}"
            self.found(path, name, f"{change}: the order of events changes while both versions run")
        fields = {field.one("name"): field for field in new.get("field", [])}
        numbers = {field.one("number"): field for field in new.get("field", [])}
        known = set()
        for field in old.get("field", []):
            element, number = f"{name}.{field.one('name')}", field.one("number")
            same = fields.get(field.one("name"))
            if same is not None and same.one("number") != number:
                known.add(same.one("number"))
                self.found(path, element, f"the number was {number}, is {same.one('number')}: peers read another field")
            elif number not in numbers:
                self.removed(path, name, element, field, new)
            else:
                known.add(number)
                self.field(path, name, element, field, numbers[number], (old, new))
        for number, field in numbers.items():
            if number in known:
                continue
            element = f"{name}.{field.one('name')}"
            if has_reserved(old, int(number)):
                self.found(path, element, f"the number {number} is reserved: an older version may still send another field by it")
            if name in self.old.requests and (rule := demanded(field)):
                self.found(path, element, f"is new and {rule}: an old caller does not send it")

    def removed(self, path, message, element, field, new):
        number, name = int(field.one("number")), field.one("name")
        if not is_reserved(new, number, name):
            self.found(path, element, f'is gone, and not reserved: add `reserved {number};` and `reserved "{name}";`')
        elif message in self.old.public and not is_deprecated(field):
            why = "clients that send it are refused" if message in self.old.public_requests else "clients read it"
            self.found(path, element, f"is gone: {why}; mark it deprecated for a release first")

    def field(self, path, message, element, old, new, both):
        types = [f.one("type_name").lstrip(".") or f.one("type").removeprefix("TYPE_").lower() for f in (old, new)]
        if old.one("type") != new.one("type") or types[0] != types[1]:
            self.found(path, element, f"the type was {types[0]}, is {types[1]}")
        labels = [label(f, m) for f, m in zip((old, new), both)]
        if labels[0] != labels[1]:
            self.found(path, element, f"was {labels[0]}, is {labels[1]}")
        names = [f.one("json_name") for f in (old, new)]
        written = [f.one("name") for f in (old, new)]
        if message in self.old.public and (names[0] != names[1] or written[0] != written[1]):
            self.found(path, element, f"the name in JSON was {written[0]} ({names[0]}), is {written[1]} ({names[1]})")
        if message in self.old.requests:
            for problem in narrowed(old.node("options").node(FIELD), new.node("options").node(FIELD)):
                self.found(path, element, problem)

    def enum(self, path, name, old, new):
        values = {value.one("name"): int(value.one("number")) for value in new.get("value", [])}
        for value in old.get("value", []):
            label, number = value.one("name"), int(value.one("number"))
            element = f"{name}.{label}"
            if label in values:
                if values[label] != number:
                    self.found(path, element, f"the number was {number}, is {values[label]}: peers read another value")
            elif number in values.values():
                renamed = next(other for other, n in values.items() if n == number)
                if name in self.old.public:
                    self.found(path, element, f"the name in JSON was {label}, is {renamed}")
            elif not is_reserved(new, number, label):
                self.found(path, element, f'is gone, and not reserved: add `reserved {number};` and `reserved "{label}";`')
            elif name in self.old.public and not is_deprecated(value):
                self.found(path, element, "is gone: clients send or read it; mark it deprecated for a release first")
        gone = {int(value.one("number")) for value in old.get("value", [])}
        for label, number in values.items():
            if number not in gone and has_reserved(old, number):
                why = f"the number {number} is reserved: an older version may still send another value by it"
                self.found(path, f"{name}.{label}", why)

    def rpc(self, path, name, old, new):
        for part, word in [("input_type", "request"), ("output_type", "reply")]:
            if old.one(part) != new.one(part):
                self.found(path, name, f"the {word} was {old.one(part).lstrip('.')}, is {new.one(part).lstrip('.')}")
        for part, word in [("client_streaming", "requests"), ("server_streaming", "replies")]:
            if old.one(part, "false") != new.one(part, "false"):
                self.found(path, name, f"a stream of {word} begins or ends")
        routes = bindings(new)
        if auth(old) != "AUTH_INTERNAL" and auth(new) == "AUTH_INTERNAL" and bindings(old):
            self.found(path, name, "is internal now: its routes are gone")
        elif not is_deprecated(old):
            for (verb, template), body in bindings(old).items():
                if (verb, template) not in routes:
                    self.found(path, name, f"the route {verb} {template} is gone: keep it as one of additional_bindings")
                elif routes[(verb, template)] != body:
                    self.found(path, name, f"the body of {verb} {template} was “{body}”, is “{routes[(verb, template)]}”")
        before, after = old.node("options").node(METHOD), new.node("options").node(METHOD)
        for problem in policy(before, after, auth(old), auth(new)):
            self.found(path, name, problem)


def label(field, message):
    if field.one("label") == "LABEL_REPEATED":
        return "repeated"
    if field.one("proto3_optional") == "true":
        return "optional"
    if "oneof_index" in field:
        return f"of the oneof {message['oneof_decl'][int(field.one('oneof_index'))].one('name')}"
    return "singular"


def demanded(field):
    """The rule by which a request without this field is refused."""
    rules = field.node("options").node(FIELD)
    if rules.one("required") == "true":
        return "required"
    if int(rules.one("min_items", "0")) > 0:
        return "needs elements"
    if field.one("proto3_optional") == "true" or field.one("label") == "LABEL_REPEATED":
        return None
    if int(rules.one("min_len", "0")) > 0 or int(rules.one("min_bytes", "0")) > 0:
        return "has a least length"
    if int(rules.one("gte", "0")) > 0 or int(rules.one("lte", "0")) < 0 or ("in" in rules and "" not in rules["in"]):
        return "may not be empty"
    return None


def narrowed(old, new):
    """What the new rules of a field refuse that the old ones took."""
    if new.one("required") == "true" and old.one("required") != "true":
        yield "is required now: old callers may leave it out"
    least, most = ["min_len", "min_bytes", "gte", "min_items"], ["max_len", "max_bytes", "lte", "max_items"]
    for rule in least + most:
        if rule not in new:
            continue
        before, after = old.one(rule, None), int(new.one(rule))
        if before is None or (after > int(before) if rule in least else after < int(before)):
            yield f"the rule {rule} was {'not there' if before is None else before}, is {after}: it refuses what was taken"
    if "in" in new:
        lost = sorted(set(old["in"]) - set(new["in"])) if "in" in old else None
        if lost is None or lost:
            yield f"the rule in refuses what was taken: {', '.join(lost or ['all but ' + ', '.join(new['in'])])}"
    for rule in ["format", "id", "date"]:
        if rule in new and new.one(rule) != old.one(rule):
            yield f"the rule {rule} was {old.one(rule) or 'not there'}, is {new.one(rule)}: it refuses what was taken"


def form(method, part):
    """What decides where bytes go; None without."""
    return {k: v for k, v in method.node(part).items() if k not in ("max_bytes", "headers", "kinds")} if part in method else None


def policy(old, new, before, after):
    """What the new policy of a method takes away."""
    if before != after and after != "AUTH_INTERNAL" and before != "AUTH_INTERNAL":
        if not (before in OPENNESS and after in OPENNESS and OPENNESS.index(after) < OPENNESS.index(before)):
            yield f"auth was {before}, is {after}: it refuses callers that it let in"
    if old.one("idempotent") == "true" and new.one("idempotent") != "true":
        yield "is not idempotent any more: peers of the old version send it again"
    if old.one("unlimited") == "true" and new.one("unlimited") != "true":
        yield "counts against the rate limits now"
    for part in ["success_status", "bare", "exact"]:
        if old.one(part) != new.one(part):
            yield f"{part} was {old.one(part) or 'not there'}, is {new.one(part) or 'not there'}: clients read another reply"
    for part in ["body", "stream", "raw"]:
        if form(old, part) != form(new, part):
            yield f"{part} has changed: the {'request' if part == 'raw' else 'reply'} has another form"
    def kinds(method):
        stream = method.node("stream") if "stream" in method else {}
        return {kind.one("name"): kind.one("data") for kind in stream.get("kinds", [])}

    # A new one is of no interest to a client that does not know it.
    for name, data in kinds(old).items():
        if kinds(new).get(name) != data:
            yield f"the event {name} of the stream is gone, or has other data"
    uploads = {upload.one("part"): upload for upload in new.get("upload", [])}
    limits = [(f"the upload {u.one('part')}", u, uploads.get(u.one("part"))) for u in old.get("upload", [])]
    if "raw" in old and "raw" in new:
        limits.append(("raw", old.node("raw"), new.node("raw")))
    for what, was, now in limits:
        if now is None:
            yield f"{what} is gone"
        elif int(now.one("max_bytes", "0")) < int(was.one("max_bytes", "0")):
            yield f"{what} took {was.one('max_bytes')} bytes, takes {now.one('max_bytes')}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--imports", action="append", default=[])
    options = parser.parse_args()
    try:
        old, new = (compile_folder(folder, options.imports) for folder in (options.old, options.new))
    except (ValueError, subprocess.CalledProcessError) as error:
        print(getattr(error, "stderr", b"").decode() or error, file=sys.stderr)
        return 2
    breaks = Comparison(old, new).run()
    print(*breaks, sep="\n", end="\n" if breaks else "")
    return 1 if breaks else 0


if __name__ == "__main__":
    sys.exit(main())
