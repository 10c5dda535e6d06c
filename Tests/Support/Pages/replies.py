"""Compares replies with what the page of the API says of them: replies.py ADDRESS FILE, with the people that demo.py has left.

Each read that a user may ask is asked as one of them, with what they have; and its reply must have the fields that are documented, all of
them and no others."""

import json
import sys
import urllib.error
import urllib.request

# Reads of this many routes must succeed: else the ids below lead nowhere.
LEAST = 70
# What these need is not there: a token of a mail, another role, a file, nothing that could be undone.
WITHOUT = {"authGetVerificationPage", "authGetResetPage", "notificationsWatch", "gatewayMedia"}


def call(address, method, path, token=None, body=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, data, headers, method=method), timeout=120) as reply:
            return reply.status, reply.headers.get("Content-Type", ""), reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Content-Type", ""), error.read()


class Shape:
    """What the description says of a value, compared with one."""

    def __init__(self, description):
        self.description = description

    def whole(self, schema):
        if "$ref" in schema:
            found = self.description
            for key in schema["$ref"][2:].split("/"):
                found = found[key]
            return self.whole(found)
        if "allOf" in schema:
            parts = [self.whole(part) for part in schema["allOf"]]
            names = {name: field for part in parts for name, field in part.get("properties", {}).items()}
            return {"type": "object", "properties": names, "required": [name for part in parts for name in part.get("required", [])]}
        return schema

    def differences(self, schema, value, place):
        schema = self.whole(schema)
        types = schema.get("type", [])
        types = types if isinstance(types, list) else [types]
        if value is None:
            return [] if "null" in types else [f"{place} is null"]
        kind = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}[type(value)]
        if types and kind not in types and not (kind == "integer" and "number" in types):
            return [f"{place} is {kind}, not {types}"]
        if kind == "array":
            return [one for number, item in enumerate(value) for one in self.differences(schema.get("items", {}), item, f"{place}[{number}]")]
        if kind != "object" or "properties" not in schema:
            return ["%s is %r" % (place, value)] if "enum" in schema and value not in schema["enum"] else []
        return self.members(schema, value, place)

    def members(self, schema, value, place):
        fields, required = schema["properties"], schema.get("required", [])
        found = [f"{place}.{name} is not documented" for name in value if name not in fields]
        # A message that may be absent is null then: its name is there.
        # Only what the document says so of may be absent.
        found += [f"{place}.{name} is missing" for name, field in fields.items() if name not in value and "absent" not in field.get("description", "")]
        for name, field in fields.items():
            if value.get(name) is not None or name in required:
                found += self.differences(field, value.get(name), f"{place}.{name}")
        return found


def people(address, file):
    """Ben's token, and the ids of what the two have, by the names of parameters."""
    with open(file, encoding="utf-8") as text:
        kept = json.load(text)
    credentials = {name: kept["ben"][name] for name in ("email", "password")}
    ben = json.loads(call(address, "POST", "/api/auth/login", None, credentials)[2])["data"]["access_token"]

    def data(method, path, token, body=None):
        status, _, text = call(address, method, path, token, body)
        assert status in (200, 201), f"{method} {path}: {text.decode()}"
        return json.loads(text)["data"]

    circle = data("POST", "/api/circles", ben, {"name": "Readers"})
    circle_id = circle.get("circle", circle).get("id") or circle.get("circle_id")
    invite = data("POST", f"/api/circles/{circle_id}/invites", ben, {})
    data("POST", "/api/streaks/typed/recipe_creation/activity", ben, {})
    data("POST", "/api/places/cities", ben, {"name": "Berlin", "latitude": 52.52, "longitude": 13.4})
    data("POST", "/api/mobile/streaks/check-in", ben, {"mood_score": 8, "energy_level": 7, "check_in_time": data("GET", "/api/dev/clock", None)["now"]})
    habits = data("GET", "/api/habits/today", ben)["sections"]
    ids = {
        "streak_id": kept["streak"],
        "user_id": kept["ada"]["id"],
        "author": kept["ada"]["id"],
        "friend_id": kept["ada"]["id"],
        "habit_id": next(habit["habit_id"] for section in habits for habit in section["habits"]),
        "post_id": data("GET", "/api/posts?bbox=13.0,52.3,13.8,52.7", ben)["posts"][0]["id"],
        "notification_id": data("GET", "/api/notifications", ben)["notifications"][0]["id"],
        "circle_id": circle_id,
        "code": invite.get("code") or invite.get("invite", {}).get("code"),
        "type": "recipe_creation",
        "username": kept["ada"]["username"],
        "q": "Ada",
    }
    return ben, ids


def address_of(path, operation, ids):
    """The path with ids in it, and what a query must have; None where something is not known."""
    for parameter in operation.get("parameters", []):
        name, place = parameter.get("name"), parameter.get("in")
        if place == "path":
            if name not in ids:
                return None
            path = path.replace("{%s}" % name, ids[name])
        elif place == "query" and parameter.get("required"):
            value = ids.get(name, parameter.get("example"))
            path += f"{'&' if '?' in path else '?'}{name}={value}"
    return path


def main(address, file):
    description = json.loads(call(address, "GET", "/openapi.json")[2])
    shape = Shape(description)
    token, ids = people(address, file)
    read, problems = [], []
    for path, methods in sorted(description["paths"].items()):
        operation = methods.get("get")
        if not operation or operation["x-auth"] not in ("user", "guest", "none") or operation["operationId"] in WITHOUT:
            continue
        target = address_of(path, operation, ids)
        schema = operation["responses"]["200"].get("content", {}).get("application/json", {}).get("schema")
        if not target or not schema:
            continue
        status, kind, text = call(address, "GET", target, token)
        if status != 200 or "json" not in kind:
            print(f"{target} answers {status}: {text[:200]!r}", file=sys.stderr)
            continue
        read.append(target)
        problems += [f"GET {target}: {one}" for one in shape.differences(schema, json.loads(text), "reply")]
    assert not problems, "\n".join(problems)
    assert len(read) >= LEAST, f"{len(read)} of them"
    print(f"{len(read)} replies have the documented fields")


if __name__ == "__main__":
    main(*sys.argv[1:])
