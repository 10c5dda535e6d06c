"""A connection to PostgreSQL for the benchmarks, through psql."""
import os, subprocess, sys

POSTGRES = os.environ.get("POSTGRES_BIN", "/usr/lib/postgresql/15/bin")


class Session:
    """One connection: sends a statement, returns the lines of its answer."""

    def __init__(self, arguments, schema, password=None):
        self.process = subprocess.Popen(
            [f"{POSTGRES}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-U", "postgres"] + arguments,
            env=os.environ | ({"PGPASSWORD": password} if password else {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask(f"SET search_path = {schema}")
        self.ask("SET client_min_messages = warning")

    @classmethod
    def of_system(cls, system, schema):
        """As administrator of the PostgreSQL of a running system. What it writes may be lost in a crash."""
        data = f"{system.folder}/data"
        port = open(f"{data}/postgres/cluster/postmaster.pid").read().splitlines()[3].strip()
        password = open(f"{data}/secrets/postgres-admin").read().strip()
        session = cls(["-h", "127.0.0.1", "-p", port, "-d", "streaksnap"], schema, password)
        session.ask("SET synchronous_commit = off")
        return session

    @classmethod
    def of_folder(cls, folder, database, schema):
        """By the socket in a folder."""
        return cls(["-h", folder, "-d", database], schema)

    def ask(self, statement):
        self.process.stdin.write(f"{statement};\n\\echo --end--\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline()) != "--end--\n":
            if not line:
                sys.exit(f"a statement failed: {statement[:200]}")
            lines.append(line.rstrip("\n"))
        return lines

    def number(self, statement):
        text = self.ask(statement)[0]
        return float(text) if "." in text else int(text)

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
