"""The statements and tables of a service: from its sources, its migrations, and the log of a running PostgreSQL."""
import json
import pathlib
import re

import pglast

SERVICES = ("streaks", "media", "notifications")
SHARED = ("Outbox", "Replicas", "ServiceRuntime")
LITERAL = re.compile(r'"""\n(.*?)\n[ ]*"""|"((?:[^"\\\n]|\\\((?:[^()]|\([^()]*\))*\)|\\.)*)"', re.S)
VERB = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\s")


class Tables:
    """What the migrations of a service have made, in the end."""

    def __init__(self):
        # table -> columns; (table, columns) of what must be unique; (table, columns, other table, action); table -> triggers.
        self.columns, self.unique, self.foreign, self.triggers = {}, {}, {}, {}
        # Changes of tables that a file further on makes: the order of features is in Swift.
        self.waiting = []

    def run(self, text):
        for part in json.loads(pglast.parser.parse_sql_json(text))["stmts"]:
            kind, body = next(iter(part["stmt"].items()))
            handler = getattr(self, kind, None)
            if handler:
                handler(body)

    def CreateStmt(self, body):
        table = body["relation"]["relname"]
        self.columns[table] = []
        for element in body["tableElts"]:
            self.element(table, element)

    def element(self, table, element):
        if "ColumnDef" in element:
            column = element["ColumnDef"]
            self.columns[table].append(column["colname"])
            for constraint in column.get("constraints", []):
                self.constraint(table, constraint["Constraint"], [column["colname"]])
        elif "Constraint" in element:
            self.constraint(table, element["Constraint"], None)

    def constraint(self, table, constraint, own):
        kind = constraint["contype"]
        keys = own or [key["String"]["sval"] for key in constraint.get("keys", [])]
        if kind == "CONSTR_PRIMARY":
            self.unique[f"{table}_pkey"] = (table, keys)
        elif kind == "CONSTR_UNIQUE":
            self.unique[f"{table}_{'_'.join(keys)}_key"] = (table, keys)
        elif kind == "CONSTR_FOREIGN":
            columns = own or [key["String"]["sval"] for key in constraint["fk_attrs"]]
            others = [key["String"]["sval"] for key in constraint.get("pk_attrs", [])]
            name = f"{table}_{'_'.join(columns)}_fkey"
            self.foreign[name] = (table, columns, constraint["pktable"]["relname"], others, constraint.get("fk_del_action", "a"))

    def AlterTableStmt(self, body):
        table = body["relation"]["relname"]
        if table not in self.columns:
            self.waiting.append(body)
            return
        for command in body["cmds"]:
            command = command["AlterTableCmd"]
            if command["subtype"] in ("AT_AddColumn", "AT_AddConstraint"):
                self.element(table, command["def"])
            elif command["subtype"] == "AT_DropColumn":
                self.columns[table].remove(command["name"])
            elif command["subtype"] == "AT_DropConstraint":
                self.unique.pop(command["name"], None)
                self.foreign.pop(command["name"], None)

    def IndexStmt(self, body):
        if body.get("unique"):
            columns = [parameter["IndexElem"].get("name", "?") for parameter in body["indexParams"]]
            self.unique[body["idxname"]] = (body["relation"]["relname"], columns)

    def CreateTrigStmt(self, body):
        self.triggers[body["trigname"]] = body["relation"]["relname"]

    def DropStmt(self, body):
        for thing in body["objects"]:
            items = thing.get("List", {}).get("items", [thing])
            name = items[-1].get("String", {}).get("sval")
            if body["removeType"] == "OBJECT_TABLE":
                self.columns.pop(name, None)
                for found in (self.unique, self.foreign):
                    for entry in [entry for entry, (table, *_) in found.items() if table == name]:
                        del found[entry]
                self.triggers = {trigger: table for trigger, table in self.triggers.items() if table != name}
            elif body["removeType"] == "OBJECT_INDEX":
                self.unique.pop(name, None)
            elif body["removeType"] == "OBJECT_TRIGGER":
                self.triggers.pop(name, None)


def tables(root, service):
    """The tables of a service, the shared ones too. All that some service has, for simplicity."""
    made = Tables()
    folders = [root / "Shared" / name / "Migrations" for name in SHARED]
    core = root / "Services" / service.capitalize() / "Core" / "Migrations"
    others = sorted((root / "Services" / service.capitalize()).glob("*/Migrations"))
    for folder in folders + [core] + [folder for folder in others if folder != core]:
        for file in sorted(folder.glob("*.sql"), key=lambda file: (file.name.split("V0")[-1], file.name)):
            made.run(file.read_text())
    for body in made.waiting[:]:
        made.AlterTableStmt(body)
    return made


FUNCTION = re.compile(r"func\s+(\w+)(?:<[^>]*>)?\([^{}]*?\)\s*(?:async )?(?:throws )?->\s*\[?Query\b")
PROPERTY = re.compile(r"(?:let|var)\s+(\w+)\s*:\s*\[?Query\b")
PARAMETER = re.compile(r"(\w+): (?:\[?Query\b)")


def sources(root, service):
    """[(statement, file)] of every string literal that is a statement as a whole, and how many are not. Interpolated values become parameters,
    the same value the same one. Statements that are put together of several literals are left out: only a running system shows them."""
    folder = root / "Services" / service.capitalize()
    files = sorted(folder.glob("**/*.swift"))
    files += [file for name in SHARED for file in sorted((root / "Shared" / name).glob("**/*.swift"))]
    texts = {file: file.read_text() for file in files}
    functions = {name for text in texts.values() for name in FUNCTION.findall(text)}
    properties = {name for text in texts.values() for name in PROPERTY.findall(text)}
    found, composed = [], 0
    for file, text in texts.items():
        parameters = set(PARAMETER.findall(text))
        for match in LITERAL.finditer(text):
            literal = match[1] if match[1] is not None else match[2]
            if not VERB.match(literal):
                continue
            literal, values = holes(literal)
            try:
                tree = json.loads(pglast.parser.parse_sql_json(literal))
            except pglast.parser.ParseError:
                composed += 1
                continue
            if is_composed(tree, values) or any(is_part(value, functions, properties, parameters) for value in values):
                composed += 1
            else:
                found.append((literal, str(file.relative_to(root))))
    return found, composed


def is_part(value, functions, properties, parameters):
    """Whether an interpolated value is another piece of SQL: `Self.zone(user)`, `Found.condition`, a parameter of type Query."""
    if value.startswith(("raw:", "identifier:")) or value.endswith("olumns"):
        return False
    name = re.match(r"[\w.]*", value)[0]
    if value[len(name):].startswith("("):
        return name.split(".")[-1] in functions
    return name in parameters or (name.split(".")[-1] in properties and (name[0].isupper() or "." not in name))


def holes(text):
    """`\\(…)` as `$1`, `$2`, …, and what stood in each."""
    result, place, values = [], 0, []
    while place < len(text):
        if not text.startswith("\\(", place):
            result.append(text[place])
            place += 1
            continue
        depth, end = 0, place + 1
        while True:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
            if depth == 0:
                break
        value = text[place + 2:end - 1].strip()
        if value not in values:
            values.append(value)
        result.append(f"${values.index(value) + 1}")
        place = end
    return "".join(result).replace("\\\\", "\\"), values


def is_composed(tree, values):
    """Whether a hole stands where no value would: as a whole condition or a whole output. Lists of columns do no harm."""
    if isinstance(tree, list):
        return any(is_composed(part, values) for part in tree)
    if not isinstance(tree, dict):
        return False
    if "ParamRef" in tree.get("whereClause", {}) or "ParamRef" in tree.get("quals", {}):
        return True
    if "boolop" in tree and any("ParamRef" in part for part in tree["args"]):
        return True
    for target in tree.get("targetList", []):
        value = target.get("ResTarget", {}).get("val", {})
        if "ParamRef" in value and "name" not in target["ResTarget"] and "fromClause" in tree:
            if not values[value["ParamRef"]["number"] - 1].endswith("olumns"):
                return True
    return any(is_composed(part, values) for part in tree.values())


ENTRY = re.compile(r"^\d{4}-\d\d-\d\d \S+ \S+ \[\d+\] (\S*)@(\S*) (.*)$")
STATEMENT = re.compile(r"LOG:  duration: \S+ ms  (?:statement|execute [^:]*|parse [^:]*|bind [^:]*): ?(.*)$", re.S)


def log(file):
    """(role, statement) of each different statement in PostgreSQL's log, written with `log_min_duration_statement=0`."""
    found, role, lines = {}, None, []

    def end():
        if role in SERVICES:
            match = STATEMENT.match("\n".join(lines))
            if match:
                found[(role, match[1])] = None

    for line in pathlib.Path(file).read_text(errors="replace").splitlines():
        entry = ENTRY.match(line)
        if entry:
            end()
            role, lines = entry[1], [entry[3]]
        elif lines:
            lines.append(line)
    end()
    return list(found)
