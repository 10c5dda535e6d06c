"""Which keys a statement asks for: the analysis behind `statement_keys.py`.

A statement is parsed by PostgreSQL's own parser (pglast). Equalities of a conjunction, of joins and of the columns that subqueries hand
out make classes of columns that are equal. A table keeps its key if the class of its key has a bound value. What the analysis does not
understand counts as leaving the key, never as keeping it.
"""
import json
import re

import pglast

# How many keys a table is asked for.
ONE, SOME, ALL = "one", "some", "all"
VOLATILE = {"clock_timestamp", "gen_random_uuid", "random", "nextval", "setval", "timeofday"}


class Catalog:
    """The tables of one service and how they are to be distributed.

    `tables`: table -> its columns in order. `keys`: table -> an entry of keys.json.
    """

    def __init__(self, tables, keys):
        self.tables, self.keys = tables, keys

    def key(self, table):
        return self.keys[table].get("key")

    def group(self, table):
        return self.keys[table]["group"]


class Occurrence:
    """A table at one place of a statement."""

    def __init__(self, table, number):
        self.table, self.number = table, number


class Derived:
    """What a subquery or CTE hands out. `branches`: of each member of a UNION, its columns (name -> node) and the scopes of its stars."""

    def __init__(self, number):
        self.number, self.branches, self.names = number, [], []
        # A list of bound values, whatever its columns are called.
        self.is_list = False


class Scope:
    def __init__(self, outer=None, ctes=None):
        self.outer, self.ctes, self.sources = outer, dict(ctes or {}), {}

    def find(self, alias):
        scope = self
        while scope:
            if alias in scope.sources:
                return scope.sources[alias]
            scope = scope.outer
        return None


class Analysis:
    """All tables of a statement, and how many keys each is asked for."""

    def __init__(self, statement, catalog):
        self.catalog = catalog
        self.occurrences, self.parent, self.pins, self.unions = [], {}, {}, []
        self.counter = 0
        self.locks = self.modifies = False
        self.functions = set()
        tree = json.loads(pglast.parser.parse_sql_json(statement))
        for part in tree["stmts"]:
            self.statement(part["stmt"], Scope())
        self.settle()

    # Classes of equal columns.

    def root(self, node):
        while self.parent.get(node, node) != node:
            node = self.parent[node]
        return node

    def join(self, one, other):
        one, other = self.root(one), self.root(other)
        if one == other:
            return
        pin = {self.pins.pop(one, None), self.pins.pop(other, None)} - {None}
        self.parent[one] = other
        if pin:
            self.pins[other] = ONE if ONE in pin else SOME

    def pin(self, node, how):
        node = self.root(node)
        if self.pins.get(node) != ONE:
            self.pins[node] = how

    def settle(self):
        """Carries values through UNIONs: what is said of the whole holds for each branch; what all branches have, the whole has."""
        for _ in range(4):
            for whole, branches in self.unions:
                pin = self.pins.get(self.root(whole))
                if pin:
                    for branch in branches:
                        self.pin(branch, pin)
                elif branches and all(self.pins.get(self.root(branch)) for branch in branches):
                    self.pin(whole, SOME)

    def fresh(self):
        self.counter += 1
        return self.counter

    # Statements.

    def statement(self, node, scope):
        kind, body = next(iter(node.items()))
        if kind == "SelectStmt":
            return self.select(body, scope)
        if kind in ("InsertStmt", "UpdateStmt", "DeleteStmt"):
            self.modifies = True
            return getattr(self, kind[:6].lower())(body, scope)
        return Derived(self.fresh())

    def with_clause(self, body, scope):
        clause = body.get("withClause")
        if not clause:
            return
        for cte in clause["ctes"]:
            cte = cte["CommonTableExpr"]
            if clause.get("recursive"):
                scope.ctes[cte["ctename"]] = Derived(self.fresh())
            inner = Scope(scope.outer, scope.ctes)
            derived = self.statement(cte["ctequery"], inner)
            self.rename(derived, [name["String"]["sval"] for name in cte.get("aliascolnames", [])])
            scope.ctes[cte["ctename"]] = derived

    def select(self, body, outer):
        scope = Scope(outer.outer if outer.__class__ is Scope and not outer.sources else outer, outer.ctes)
        self.with_clause(body, scope)
        if body.get("op", "SETOP_NONE") != "SETOP_NONE":
            derived = Derived(self.fresh())
            for side in ("larg", "rarg"):
                branch = self.select(body[side], Scope(scope.outer, scope.ctes))
                derived.branches += branch.branches
                derived.names = derived.names or branch.names
            self.unite(derived)
            return derived
        derived = Derived(self.fresh())
        if "valuesLists" in body:
            lists = body["valuesLists"]
            columns = {}
            for place, _ in enumerate(lists[0]["List"]["items"]):
                node = ("derived", derived.number, f"column{place + 1}")
                columns[f"column{place + 1}"] = node
                self.pin(node, ONE if len(lists) == 1 else SOME)
            for row in lists:
                self.expression(row, scope)
            derived.branches, derived.names = [(columns, [])], list(columns)
            return derived
        for item in body.get("fromClause", []):
            self.source(item, scope)
        self.locks = self.locks or "lockingClause" in body
        self.condition(body.get("whereClause"), scope)
        for field in ("targetList", "groupClause", "havingClause", "sortClause", "limitCount", "limitOffset", "distinctClause",
                      "windowClause"):
            self.expression(body.get(field), scope)
        derived.branches = [self.output(body.get("targetList", []), scope)]
        derived.names = self.names(body.get("targetList", []))
        return derived

    def insert(self, body, outer):
        scope = Scope(outer, outer.ctes)
        self.with_clause(body, scope)
        target = self.table(body["relation"], scope)
        names = [column["ResTarget"]["name"] for column in body.get("cols", [])]
        if isinstance(target, Occurrence):
            names = names or self.catalog.tables[target.table]
        if "selectStmt" in body:
            select = body["selectStmt"]["SelectStmt"]
            if "valuesLists" in select:
                self.with_clause(select, scope)
                self.values(select["valuesLists"], names, target, scope)
            else:
                derived = self.select(select, Scope(scope.outer, scope.ctes))
                for place, name in enumerate(names):
                    nodes = [self.branch_column(branch, derived.names, place) for branch in derived.branches]
                    if all(nodes):
                        self.combine(("column", target.number, name), nodes)
        conflict = body.get("onConflictClause")
        if conflict:
            inner = Scope(scope, scope.ctes)
            inner.sources["excluded"] = target
            for field in ("targetList", "whereClause"):
                self.expression(conflict.get(field), inner)
        return self.returning(body, scope)

    def values(self, lists, names, target, scope):
        for row in lists:
            for name, value in zip(names, row["List"]["items"]):
                node = self.value(value, scope)
                if isinstance(node, tuple) and len(lists) == 1:
                    self.join(("column", target.number, name), node)
                elif node:
                    self.pin(("column", target.number, name), ONE if len(lists) == 1 else SOME)
                self.expression(value, scope)

    def update(self, body, outer):
        scope = Scope(outer, outer.ctes)
        self.with_clause(body, scope)
        self.table(body["relation"], scope)
        for item in body.get("fromClause", []):
            self.source(item, scope)
        self.condition(body.get("whereClause"), scope)
        self.expression(body.get("targetList"), scope)
        return self.returning(body, scope)

    def delete(self, body, outer):
        scope = Scope(outer, outer.ctes)
        self.with_clause(body, scope)
        self.table(body["relation"], scope)
        for item in body.get("usingClause", []):
            self.source(item, scope)
        self.condition(body.get("whereClause"), scope)
        return self.returning(body, scope)

    def returning(self, body, scope):
        derived = Derived(self.fresh())
        targets = body.get("returningList", body.get("returningClause", {}).get("exprs", []))
        self.expression(targets, scope)
        derived.branches, derived.names = [self.output(targets, scope)], self.names(targets)
        return derived

    # What FROM names.

    def table(self, relation, scope):
        name = relation["relname"]
        alias = relation.get("alias", {}).get("aliasname", name)
        if name in scope.ctes and "schemaname" not in relation:
            scope.sources[alias] = scope.ctes[name]
        elif name in self.catalog.tables:
            scope.sources[alias] = Occurrence(name, self.fresh())
            self.occurrences.append(scope.sources[alias])
        else:
            scope.sources[alias] = Derived(self.fresh())
        return scope.sources[alias]

    def source(self, item, scope):
        kind, body = next(iter(item.items()))
        if kind == "RangeVar":
            self.table(body, scope)
        elif kind == "RangeSubselect":
            inner = Scope(scope if body.get("lateral") else scope.outer, scope.ctes)
            derived = self.select(body["subquery"]["SelectStmt"], inner)
            alias = body.get("alias", {"aliasname": f"?{self.fresh()}"})
            self.rename(derived, [name["String"]["sval"] for name in alias.get("colnames", [])])
            scope.sources[alias["aliasname"]] = derived
        elif kind == "RangeFunction":
            self.function_source(body, scope)
        elif kind == "JoinExpr":
            self.source(body["larg"], scope)
            left = set(scope.sources)
            self.source(body["rarg"], scope)
            right = set(scope.sources) - left
            self.condition(body.get("quals"), scope)
            for name in body.get("usingClause", []):
                name = name["String"]["sval"]
                nodes = [self.source_column(scope.sources[alias], name, strict=True) for alias in sorted(left) + sorted(right)]
                nodes = [node for node in nodes if node]
                for one, other in zip(nodes, nodes[1:]):
                    self.join(one, other)

    def function_source(self, body, scope):
        """A list of values: unnest of parameters, generate_series. What it hands out is a bounded list of keys, unless it reads columns."""
        derived = Derived(self.fresh())
        self.expression(body["functions"], scope)
        bound = derived.is_list = not self.columns_in(body["functions"])
        alias = body.get("alias", {"aliasname": f"?{self.fresh()}"})
        names = [name["String"]["sval"] for name in alias.get("colnames", [])] or [alias["aliasname"]]
        names += [entry["ColumnDef"]["colname"] for entry in body.get("coldeflist", [])]
        columns = {}
        for name in names:
            columns[name] = ("derived", derived.number, name)
            if bound:
                self.pin(columns[name], SOME)
        derived.branches, derived.names = [(columns, [])], names
        scope.sources[alias["aliasname"]] = derived

    # What a subquery hands out.

    @staticmethod
    def names(targets):
        """Of what a query hands out; what has no name gets one by its place."""
        return [f"?{place}" if name == "?" else name for place, name in enumerate(map(Analysis.name, targets))]

    @staticmethod
    def name(target):
        target = target["ResTarget"]
        if "name" in target:
            return target["name"]
        field = target["val"].get("ColumnRef", {}).get("fields", [{}])[-1]
        return "*" if "A_Star" in field else field.get("String", {}).get("sval", "?")

    def output(self, targets, scope):
        columns, stars = {}, []
        for name, target in zip(self.names(targets), targets):
            value = target["ResTarget"]["val"]
            if name == "*":
                fields = value["ColumnRef"]["fields"]
                stars += [scope.find(fields[0]["String"]["sval"])] if len(fields) > 1 else list(scope.sources.values())
                continue
            node = self.value(value, scope)
            if isinstance(node, tuple):
                columns[name] = node
            elif node:
                columns[name] = ("derived", self.fresh(), name)
                self.pin(columns[name], node)
        return columns, [star for star in stars if star]

    def branch_column(self, branch, names, place):
        columns, stars = branch
        if place < len(names) and names[place] != "*":
            # Columns of a later branch have the places, not the names, of the first.
            return columns.get(names[place])
        if len(names) != 1 or len(stars) != 1:
            return None
        if isinstance(stars[0], Occurrence):
            table = self.catalog.tables[stars[0].table]
            return ("column", stars[0].number, table[place]) if place < len(table) else None
        if stars[0].is_list:
            node = ("derived", self.fresh(), "*")
            self.pin(node, SOME)
            return node
        return None

    def unite(self, derived):
        """The columns of a UNION by the names of its first branch."""
        first = derived.branches[0][0]
        for name in list(first):
            place = list(first).index(name)
            nodes = []
            for columns, _ in derived.branches:
                nodes.append(columns.get(name) or (list(columns.values())[place] if place < len(columns) else None))
            if all(nodes):
                whole = ("derived", derived.number, name)
                self.unions.append((whole, nodes))
                derived.branches[0][0][name] = whole
        derived.branches = derived.branches[:1]

    def combine(self, node, branches):
        if len(branches) == 1:
            self.join(node, branches[0])
        else:
            self.unions.append((node, branches))

    @staticmethod
    def rename(derived, names):
        if not names:
            return
        derived.branches = [
            ({new: columns[old] for old, new in zip(derived.names, names) if old in columns}, []) for columns, _ in derived.branches
        ]
        derived.names = names

    def source_column(self, source, name, strict=False):
        if isinstance(source, Occurrence):
            if strict and name not in self.catalog.tables[source.table]:
                return None
            return ("column", source.number, name)
        for columns, stars in source.branches:
            if name in columns:
                return columns[name]
            for star in stars:
                found = self.source_column(star, name, strict=True)
                if found:
                    return found
        return None

    def column(self, fields, scope):
        names = [field["String"]["sval"] for field in fields if "String" in field]
        if len(names) != len(fields):
            return None
        if len(names) > 1:
            source = scope.find(names[-2])
            return self.source_column(source, names[-1]) if source else None
        level = scope
        while level:
            for source in level.sources.values():
                found = self.source_column(source, names[0], strict=True)
                if found:
                    return found
            level = level.outer
        return None

    # Expressions.

    def value(self, node, scope):
        """The column that an expression is, ONE for a bound value, else None."""
        kind, body = next(iter(node.items()))
        if kind == "ColumnRef":
            return self.column(body["fields"], scope)
        if kind == "TypeCast":
            return self.value(body["arg"], scope)
        if kind == "ParamRef":
            node = ("parameter", body["number"])
            self.pin(node, ONE)
            return node
        if kind == "A_Const":
            return None if body.get("isnull") else ONE
        if kind == "SubLink":
            if body["subLinkType"] == "EXPR_SUBLINK":
                derived = self.select(body["subselect"]["SelectStmt"], self.under(scope))
                columns = [list(columns.values()) for columns, _ in derived.branches]
                return columns[0][0] if columns and columns[0] else None
            return None
        if kind in ("FuncCall", "CoalesceExpr", "MinMaxExpr", "A_Expr", "SQLValueFunction"):
            return None if self.columns_in(node) or self.has_sublink(node) else ONE
        return None

    @staticmethod
    def under(scope):
        return Marker(scope)

    def columns_in(self, node):
        return '"ColumnRef"' in json.dumps(node)

    def has_sublink(self, node):
        return '"SubLink"' in json.dumps(node)

    def condition(self, node, scope):
        """Takes what a conjunction says of columns."""
        if not node:
            return
        kind, body = next(iter(node.items()))
        if kind == "BoolExpr" and body["boolop"] == "AND_EXPR":
            for part in body["args"]:
                self.condition(part, scope)
            return
        if kind == "A_Expr":
            operator = body["name"][-1]["String"]["sval"]
            if body["kind"] == "AEXPR_OP" and operator == "=":
                self.equal(body["lexpr"], body["rexpr"], scope)
            elif body["kind"] == "AEXPR_OP_ANY" and operator == "=":
                self.among(body["lexpr"], not self.columns_in(body["rexpr"]), scope)
            elif body["kind"] == "AEXPR_IN" and operator == "=":
                self.among(body["lexpr"], not self.columns_in(body["rexpr"]), scope)
        if kind == "SubLink" and body["subLinkType"] == "ANY_SUBLINK" and "testexpr" in body and "operName" not in body:
            derived = self.select(body["subselect"]["SelectStmt"], self.under(scope))
            left = self.value(body["testexpr"], scope)
            columns = [list(columns.values()) for columns, _ in derived.branches]
            if isinstance(left, tuple) and columns and columns[0]:
                self.join(left, columns[0][0])
            return
        self.expression(node, scope)

    def equal(self, left, right, scope):
        if "RowExpr" in left and "RowExpr" in right:
            for one, other in zip(left["RowExpr"]["args"], right["RowExpr"]["args"]):
                self.equal(one, other, scope)
            return
        one, other = self.value(left, scope), self.value(right, scope)
        if isinstance(one, tuple) and isinstance(other, tuple):
            self.join(one, other)
        elif isinstance(one, tuple) and other:
            self.pin(one, other)
        elif isinstance(other, tuple) and one:
            self.pin(other, one)
        for side in (left, right):
            if "SubLink" not in side:
                self.expression(side, scope)

    def among(self, left, is_bound, scope):
        nodes = left["RowExpr"]["args"] if "RowExpr" in left else [left]
        for node in nodes:
            node = self.value(node, scope)
            if is_bound and isinstance(node, tuple):
                self.pin(node, SOME)

    def expression(self, node, scope):
        """Finds the subqueries and functions in anything else."""
        if isinstance(node, list):
            for part in node:
                self.expression(part, scope)
        elif isinstance(node, dict):
            for kind, body in node.items():
                if kind == "SubLink":
                    self.select(body["subselect"]["SelectStmt"], self.under(scope))
                    self.expression(body.get("testexpr"), scope)
                    continue
                if kind == "FuncCall":
                    self.functions.add(body["funcname"][-1]["String"]["sval"])
                self.expression(body, scope)

    # The verdict.

    def verdict(self):
        """(what is asked for, the tables that leave their key, what Citus says to it). The first is one of `keeps its key`, `several keys`,
        `two keys`, `every shard`."""
        asked, nodes = {}, {}
        for occurrence in self.occurrences:
            key = self.catalog.key(occurrence.table)
            if key:
                node = self.root(("column", occurrence.number, key))
                asked[occurrence] = self.pins.get(node, ALL)
                nodes[occurrence] = (self.catalog.group(occurrence.table), node)
        classes = set(nodes.values())
        # Two parameters may have the same value; only one that is bound twice shows it.
        if not classes or (len(classes) == 1 and set(asked.values()) == {ONE}):
            return "keeps its key", [], "runs"
        leaving = sorted({o.table for o in asked if asked[o] != ONE} or {o.table for o in asked})
        joined = len(classes) == 1
        if ALL in asked.values():
            kind = "every shard"
        elif len(classes) > 1:
            kind = "two keys"
        else:
            kind = "several keys"
        return kind, leaving, self.citus(kind, joined)

    def citus(self, kind, joined):
        if self.locks:
            return "refused: FOR UPDATE on more than one shard"
        if self.modifies and self.functions & VOLATILE:
            return "refused: a volatile function in a change of more than one shard"
        if not joined:
            return "refused or planned in steps: tables that do not lie together"
        return "runs on every shard" if kind == "every shard" else "runs on the shards of the keys"


class Marker(Scope):
    """The scope of a subquery inside an expression: it sees the sources around it."""

    def __init__(self, around):
        super().__init__(around, around.ctes)
        self.sources = {"?": Derived(0)}


def normal(statement):
    """One line, single spaces."""
    return re.sub(r"\s+", " ", statement).strip()


def skeleton(statement):
    """The same for statements that differ in spaces, parameters, and the columns that they select. A list of columns is a hole of a literal, so
    a statement of the sources has the skeleton of the one that is sent."""
    return json.dumps(bare(json.loads(pglast.parser.parse_sql_json(statement))["stmts"]), sort_keys=True)


def bare(node, keeps=False):
    if isinstance(node, list):
        return [bare(part) for part in node]
    if not isinstance(node, dict):
        return node
    result = {}
    for name, value in node.items():
        if name in ("number", "stmt_len", "returningList") or "location" in name or name.endswith(("list_start", "list_end")):
            continue
        if name == "SelectStmt" and "targetList" in value and not keeps:
            value = {**value, "targetList": [target for target in value["targetList"] if '"SubLink"' in json.dumps(target)]}
        # What an INSERT selects are its values.
        result[name] = bare(value, keeps=name == "selectStmt")
    return result
