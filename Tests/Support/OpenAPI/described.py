"""Reads an OpenAPI document; fails with one line for each property and parameter that has no description.

A reference has the description of what it refers to. What the tests' own service brings along is left out: it comes and goes with other
tests. Prints the number of properties, then that of parameters.
"""

import json
import sys

page = json.load(sys.stdin)
schemas = page["components"]["schemas"]
problems, counts = [], {"properties": 0, "parameters": 0}


def target(node):
    """What a reference refers to; the node itself where it is none."""
    seen = set()
    while "$ref" in node and not node.get("description") and node["$ref"] not in seen:
        seen.add(node["$ref"])
        found = page
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def count(kind, node, where):
    counts[kind] += 1
    if not target(node).get("description", "").strip():
        problems.append(where)


def walk(schema, where):
    """Every property of a schema, also of those inside it."""
    for name, inner in schema.get("properties", {}).items():
        count("properties", inner, f"{where}.{name}")
        walk(inner, f"{where}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            walk(schema[key], where)
    for key in ("allOf", "anyOf", "oneOf"):
        for inner in schema.get(key, []):
            walk(inner, where)


for name, schema in schemas.items():
    if not name.startswith("Testing"):
        walk(schema, name)
for path, item in page["paths"].items():
    if path.startswith("/api/testing/"):
        continue
    for verb, operation in item.items():
        for parameter in operation.get("parameters", []):
            count("parameters", parameter, f"{verb} {path}: {target(parameter).get('name')}")
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for body in bodies:
            for media in body.get("content", {}).values():
                walk(media.get("schema", {}), f"{verb} {path}")

print(counts["properties"], "properties")
print(counts["parameters"], "parameters")
if problems:
    sys.exit("\n".join(problems))
