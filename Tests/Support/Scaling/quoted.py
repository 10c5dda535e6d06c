"""Whether the tables of deploy/docs/beyond-one-machine.md are what the programs print.   quoted.py ROOT [--write]"""
import pathlib
import subprocess
import sys

root = pathlib.Path(sys.argv[1]).resolve()
document = root / "deploy/docs/beyond-one-machine.md"
programs = {
    "simulation": [root / "deploy/scaling/simulate.py"],
    "statements": [root / "Tests/Support/Scaling/statement_keys.py", root, "--table"],
}
text = written = document.read_text()
for name, command in programs.items():
    printed = subprocess.run([sys.executable, *map(str, command)], check=True, capture_output=True, text=True).stdout.strip()
    before, start, rest = written.partition(f"<!-- {name} -->\n")
    old, end, after = rest.partition(f"\n<!-- end of {name} -->")
    if not start or not end:
        sys.exit(f"{document} has no place for the table {name}")
    written = before + start + printed + end + after
if "--write" in sys.argv:
    document.write_text(written)
elif text != written:
    sys.exit(f"{document} quotes other tables than the programs print: Tests/Support/Scaling/quoted.py ROOT --write")
print("ok")
