"""Shows that statements keep their distribution key, or are listed with why and what it costs (deploy/docs/beyond-one-machine.md).

    statement_keys.py ROOT               the statements in the sources, and the tables of the migrations
    statement_keys.py ROOT --log FILE    those that a running system has sent, from PostgreSQL's log
    statement_keys.py ROOT --missing [--log FILE]
                                         the entries that statements.json lacks, as JSON, to fill in
    statement_keys.py ROOT --table       the table of the document

Prints what is wrong, and `ok` when nothing is.
"""
import argparse
import collections
import json
import pathlib
import sys

import keyed
import registry


class Check:
    def __init__(self, root):
        self.root = root
        self.keys = json.loads((root / "deploy/scaling/keys.json").read_text())
        listed = json.loads((root / "deploy/scaling/statements.json").read_text())
        self.reasons, self.listed, self.problems = listed["reasons"], {}, []
        for entry in listed["statements"]:
            mark = (entry["service"], keyed.skeleton(entry["statement"]), entry["asks"], tuple(entry["tables"]), entry["citus"])
            if mark in self.listed:
                self.problems.append(f"statements.json has this twice: {entry['statement']}")
            if entry["reason"] not in self.reasons:
                self.problems.append(f"statements.json has no reason {entry['reason']}")
            self.listed[mark] = entry
        self.tables = {service: registry.tables(root, service) for service in registry.SERVICES}
        self.catalogs = {
            service: keyed.Catalog(self.tables[service].columns, {**self.keys["shared"], **self.keys[service]})
            for service in registry.SERVICES
        }

    # Tables.

    def check_tables(self):
        used = set()
        for service in registry.SERVICES:
            made, keys = self.tables[service], self.catalogs[service].keys
            used |= set(made.columns)
            for table, columns in sorted(made.columns.items()):
                entry = keys.get(table)
                if entry is None:
                    self.problems.append(f"keys.json does not say how {service}.{table} is distributed")
                elif "key" in entry and entry["key"] not in columns:
                    self.problems.append(f"keys.json distributes {service}.{table} by {entry['key']}, which it does not have")
                elif "key" in entry and not (entry.get("why") and entry["group"] in self.keys["groups"]):
                    self.problems.append(f"keys.json says neither why nor of which group {service}.{table} is")
                elif "key" not in entry and not (entry.get("local") or entry.get("reference")):
                    self.problems.append(f"keys.json gives no key and no reason for {service}.{table}")
            for table in sorted(set(self.keys[service]) - set(made.columns)):
                self.problems.append(f"keys.json has {service}.{table}, which no migration makes")
            if all(table in keys for table in made.columns):
                self.compare(f"{service}: unique without the key", self.keys["unique"][service], self.unique(service))
                self.compare(f"{service}: foreign keys between groups", self.keys["foreign"][service], self.foreign(service))
                self.compare(f"{service}: triggers", self.keys["triggers"][service], made.triggers)
        for table in sorted(set(self.keys["shared"]) - used - {"schema_migrations"}):
            self.problems.append(f"keys.json has {table}, which no migration makes")

    def compare(self, what, listed, found):
        for name in sorted(set(found) - set(listed)):
            self.problems.append(f"{what}: keys.json does not name {name}")
        for name in sorted(set(listed) - set(found)):
            self.problems.append(f"{what}: keys.json names {name}, which does not exist")

    def unique(self, service):
        """What must be unique and has no key in it: Citus refuses it."""
        catalog = self.catalogs[service]
        return {
            name for name, (table, columns) in self.tables[service].unique.items()
            if catalog.key(table) and catalog.key(table) not in columns
        }

    def foreign(self, service):
        """Foreign keys that Citus refuses: those that do not join on the keys of one group, and those that set columns to NULL while the key is
        among their columns. To a reference table they are allowed."""
        catalog, result = self.catalogs[service], set()
        for name, (table, columns, other, others, action) in self.tables[service].foreign.items():
            if "reference" in catalog.keys[other] or not (catalog.key(table) or catalog.key(other)):
                continue
            pairs = set(zip(columns, others)) if others else {(columns[0], catalog.key(other))}
            together = catalog.key(table) and catalog.key(other) and catalog.group(table) == catalog.group(other)
            if not together or (catalog.key(table), catalog.key(other)) not in pairs or action in ("n", "d"):
                result.add(name)
        return result

    # Statements.

    def check_statements(self, log):
        """Returns the entries that are missing."""
        missing, seen, known = [], set(), {}
        for service in registry.SERVICES:
            found, _ = registry.sources(self.root, service)
            for statement, _ in found:
                known.setdefault((service, keyed.skeleton(statement)), []).append(statement)
        statements = [(service, statement) for (service, _), versions in known.items() for statement in versions]
        if log:
            statements = []
            for service, statement in registry.log(log):
                try:
                    mark = (service, keyed.skeleton(statement))
                except Exception as problem:  # pglast has several classes of errors
                    self.problems.append(f"PostgreSQL took what the parser does not: {statement}: {problem}")
                    continue
                # A statement of the sources is judged as it stands there: there two parameters with one value are one.
                statements += [(service, version) for version in known.get(mark, [statement])]
        for service, statement in statements:
            try:
                asks, tables, citus = keyed.Analysis(statement, self.catalogs[service]).verdict()
            except Exception as problem:
                self.problems.append(f"cannot be analysed ({problem!r}): {keyed.normal(statement)}")
                continue
            place = (service, keyed.skeleton(statement))
            mark = (*place, asks, tuple(tables), citus)
            if mark in seen:
                continue
            seen.add(mark)
            if asks != "keeps its key" and mark not in self.listed:
                missing.append({
                    "service": service, "reason": "", "asks": asks, "tables": tables, "citus": citus,
                    **({} if place in known else {"composed": True}), "statement": keyed.normal(statement),
                })
        if not log:
            for mark, entry in self.listed.items():
                if mark not in seen and not entry.get("composed"):
                    self.problems.append("listed, but no statement of the sources is so; it has changed, or keeps its key now: "
                                         + entry["statement"])
        self.seen = len(seen)
        return missing

    def table(self):
        """Markdown: how many statements of each service keep their key, and the others by reason."""
        lines = ["| service | statements in the sources | keep their key | several keys | two keys | every shard | put together |",
                 "|---|---|---|---|---|---|---|"]
        for service in registry.SERVICES:
            found, composed = registry.sources(self.root, service)
            different = {keyed.normal(statement): statement for statement, _ in found}
            asked = collections.Counter(
                keyed.Analysis(statement, self.catalogs[service]).verdict()[0] for statement in different.values()
            )
            counts = [asked[kind] for kind in ("keeps its key", "several keys", "two keys", "every shard")]
            lines.append(f"| {service} | {len(different)} | " + " | ".join(map(str, counts)) + f" | {composed} |")
        lines += ["", "| reason | who | statements | refused by Citus | why | what it costs, and the way out |", "|---|---|---|---|---|---|"]
        for name, reason in self.reasons.items():
            entries = [entry for entry in self.listed.values() if entry["reason"] == name]
            refused = sum(entry["citus"].startswith("refused") for entry in entries)
            lines.append(f"| {name} | {reason['by']} | {len(entries)} | {refused} | {reason['why']} | {reason['cost']} |")
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--log")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    check = Check(options.root)
    if options.table:
        print(check.table())
        return 0
    check.check_tables()
    missing = check.check_statements(options.log)
    if options.missing:
        print(json.dumps(missing, indent=1, ensure_ascii=False))
        return 0
    for entry in missing:
        check.problems.append(f"leaves its key and is not in statements.json ({entry['asks']} of {entry['tables']}, "
                              f"{entry['citus']}), {entry['service']}: {entry['statement']}")
    if options.log and check.seen < 100:
        check.problems.append(f"the log has only {check.seen} statements of {registry.SERVICES}")
    print("\n".join(check.problems) or "ok")
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main())
