"""Prints each rule of `BEYOND_SCHEMAS` (hooks.py) that no refusal in the sources can use: it would hide what it was not made for.

rules.py ROOT
"""

import ast
import itertools
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
hooks = ast.parse((root / "Tests/Support/OpenAPI/hooks.py").read_text())
rules = next(
    ast.literal_eval(part.value)
    for part in hooks.body
    if isinstance(part, ast.Assign) and part.targets[0].id == "BEYOND_SCHEMAS"
)
# What an interpolation may hold is left open; a literal of little else says nothing.
LEAST = 6
# What stands for `.*`: nothing, or something.
REST = "\0"


def texts(source):
    """The string literals of Swift source, each as a list of what stands between its interpolations."""
    source = re.sub(r"(?m)^\s*//.*$", "", source)
    place = 0
    while (start := source.find('"', place)) >= 0:
        quote = '"""' if source.startswith('"""', start) else '"'
        place, depth, parts, part = start + len(quote), 0, [], ""
        while place < len(source) and (depth or not source.startswith(quote, place)):
            if depth:
                depth += {"(": 1, ")": -1}.get(source[place], 0)
                place += 1
            elif source.startswith("\\(", place):
                parts, part, depth, place = parts + [part], "", 1, place + 2
            elif source[place] == "\\":
                part, place = part + source[place + 1], place + 2
            else:
                part, place = part + source[place], place + 1
        yield parts + [part]
        place += len(quote)


def samples(pattern):
    """Texts that a rule's pattern is for, one for each of its alternatives."""

    def of(items):
        choices = []
        for kind, value in items:
            kind = str(kind)
            if kind == "LITERAL":
                choices.append([chr(value)])
            elif kind == "BRANCH":
                choices.append([text for branch in value[1] for text in of(branch)])
            elif kind == "SUBPATTERN":
                choices.append(of(value[3]))
            elif kind in ("MAX_REPEAT", "MIN_REPEAT"):
                once = of(value[2])
                choices.append([""] + once if tuple(value[:2]) == (0, 1) else once)
            elif kind == "ANY":
                choices.append([REST])
            else:
                choices.append(["3"])
        return ["".join(found) for found in itertools.product(*choices)]

    return of(re._parser.parse(pattern))


files = [path for folder in ("Services", "Shared") for path in (root / folder).rglob("*.swift")]
known = {tuple(parts) for path in files if "Generated" not in path.parts for parts in texts(path.read_text())}
patterns = [
    re.compile(".+".join(map(re.escape, parts)), re.DOTALL) for parts in known if sum(map(len, parts)) >= LEAST
]


def is_said(text):
    # What is said of a part of a text, an edge of a box, has the part's name in front.
    forms = [whole.replace(REST, rest) for whole in (text, text.partition(" ")[2]) for rest in ("", "3")]
    return any(pattern.fullmatch(form) for form in forms for pattern in patterns)


for field, message in rules:
    unused = [text for text in samples(message) if not is_said(text)]
    if unused:
        print(f"{field}: {message}: nothing says {unused}")
