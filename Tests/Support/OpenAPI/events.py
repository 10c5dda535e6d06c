"""Checks events of a stream by the schema that an OpenAPI document has for them; fails unless each is valid.

events.py PATH LOG: the document comes on the standard input, LOG is what live_client.py printed of the stream at PATH. Prints the kinds that
were seen.
"""

import json
import pathlib
import sys

from check import absolute
from openapi_schema_validator import OAS31Validator, oas31_format_checker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

path, log = sys.argv[1:]
page = json.load(sys.stdin)
registry = Registry().with_resource("urn:page", Resource.from_contents(absolute(page), default_specification=DRAFT202012))
stream = page["paths"][path]["get"]["responses"]["200"]["content"]["text/event-stream"]
validator = OAS31Validator(absolute(stream["x-event-schema"]), registry=registry, format_checker=oas31_format_checker)
lines = map(json.loads, pathlib.Path(log).read_text().splitlines())
events = [line for line in lines if "event" in line]
problems = [f"{event}: {error.message[:500]}" for event in events for error in validator.iter_errors(event)]
kinds = page["components"]["schemas"][stream["x-event-schema"]["$ref"].split("/")[-1]]["discriminator"]["mapping"]
for event in events:
    # A member that no schema names would be one that no client of a generator sees.
    kind = page["components"]["schemas"][kinds[event["event"]].split("/")[-1]] if event["event"] in kinds else None
    data = kind and page["components"]["schemas"][kind["properties"]["data"]["$ref"].split("/")[-1]]
    if data and set(event["data"]) != set(data.get("properties", {})):
        problems.append(f"{event}: its members are not {sorted(data.get('properties', {}))}")
print(*sorted({event["event"] for event in events}))
if problems:
    sys.exit("\n".join(problems))
