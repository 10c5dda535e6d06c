"""Reads an OpenAPI document; fails unless it is valid and each example is valid by the schema beside it.

Prints the number of operations, then that of examples.
"""

import json
import sys

from openapi_schema_validator import OAS31Validator, oas31_format_checker
from openapi_spec_validator import validate
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

VERBS = ("get", "put", "post", "delete", "patch")


def absolute(node):
    """The node with references that work from outside the document."""
    if isinstance(node, dict):
        return {k: "urn:page" + v if k == "$ref" else absolute(v) for k, v in node.items()}
    return [absolute(item) for item in node] if isinstance(node, list) else node


def examples(node, where=""):
    """Every schema with an example beside it."""
    if isinstance(node, dict):
        if "schema" in node and "example" in node:
            yield where, node["schema"], node["example"]
        for name, value in node.items():
            if name != "example":
                yield from examples(value, f"{where}/{name}")
    elif isinstance(node, list):
        for index, item in enumerate(node):
            yield from examples(item, f"{where}/{index}")


def main():
    page = json.load(sys.stdin)
    validate(page)
    registry = Registry().with_resource("urn:page", Resource.from_contents(absolute(page), default_specification=DRAFT202012))
    problems, count = [], 0
    for where, schema, example in examples(page):
        count += 1
        validator = OAS31Validator(absolute(schema), registry=registry, format_checker=oas31_format_checker)
        problems += [f"{where} {list(e.absolute_path)}: {e.message[:300]}" for e in validator.iter_errors(example)]

    operations = [(verb, path, item[verb]) for path, item in page["paths"].items() for verb in VERBS if verb in item]
    for verb, path, operation in operations:
        contents = [operation.get("requestBody", {}).get("content", {})]
        contents += [response.get("content", {}) for response in operation["responses"].values()]
        for content in contents:
            for kind, media in content.items():
                if kind == "application/json" and "schema" in media and "example" not in media:
                    problems.append(f"{verb} {path}: {kind} has no example")

    print(len(operations), "operations")
    print(count, "examples")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
