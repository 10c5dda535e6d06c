#!/usr/bin/env python3
"""Writes Shared/Kernel/ZoneAliasTable.swift: names of time zones that clients send and an installed tz database may not have.

    deploy/zone_aliases.py          writes the table
    deploy/zone_aliases.py --check  only says whether it is as these sources have it (ends with 1 when not)

From PyPI's packages, which are loaded into a folder that is deleted afterwards:
- tzdata: the links of IANA's file `backward` (`US/Pacific`), which some distributions install with a package of its own;
- babel: CLDR's aliases of zones that IANA has removed (`US/Pacific-New`), and CLDR's names of Windows (`Pacific Standard Time`).
"""
import pathlib
import re
import subprocess
import sys
import tempfile

TARGET = pathlib.Path(__file__).resolve().parent.parent / "Shared/Kernel/ZoneAliasTable.swift"
# Of IANA's file `backzone`, which phones' databases are compiled with; of its zones all others are links in `backward`.
BACKZONE = {"Asia/Hanoi": "Asia/Ho_Chi_Minh"}

HEAD = """\
// Made by deploy/zone_aliases.py from tzdata {tzdata} and CLDR (babel {babel}). Do not edit.

extension Zone {{
    /// A name and the zone of the tz database that it means, one pair a line.
    static let aliasTable = \"\"\"
"""
TAIL = '        """\n}\n'


def load(folder):
    """The packages, in a folder."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", folder]
    subprocess.run(command + ["babel", "tzdata"], check=True, timeout=300)
    sys.path.insert(0, folder)


def links(text):
    """The links of tzdata.zi: a name and what it is another name of. Its other lines are rules and zones."""
    return {name: target for target, name in re.findall(r"^L (\S+) (\S+)$", text, re.MULTILINE)}


def table():
    import babel
    import tzdata
    from babel.core import get_global

    folder = pathlib.Path(tzdata.__file__).parent
    linked = links((folder / "zoneinfo/tzdata.zi").read_text())
    names = set((folder / "zones").read_text().split())
    removed = {name: target for name, target in get_global("zone_aliases").items() if name not in names}
    found = BACKZONE | removed | dict(get_global("windows_zone_mapping")) | linked
    pairs = {}
    for name, target in found.items():
        while target in linked:
            target = linked[target]
        if target not in names:
            sys.exit(f"zone_aliases: {name} means {target}, which tzdata does not have")
        # Offsets are not names: Zone reads them itself.
        if not re.match(r"(GMT|UTC)[+-]?\d|Etc/|UTC$", name):
            pairs[name] = target
    lines = [f"        {name}={target}\n" for name, target in sorted(pairs.items())]
    return HEAD.format(tzdata=tzdata.IANA_VERSION, babel=babel.__version__) + "".join(lines) + TAIL


def main():
    with tempfile.TemporaryDirectory() as folder:
        load(folder)
        text = table()
    if "--check" in sys.argv[1:]:
        if TARGET.read_text() != text:
            sys.exit(f"zone_aliases: {TARGET.name} is of other sources: run deploy/zone_aliases.py")
        return
    TARGET.write_text(text)


if __name__ == "__main__":
    main()
