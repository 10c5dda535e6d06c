"""Takes the code of every route from the page, and runs the commands of reads: snippets.py ADDRESS TOKEN FOLDER.

Their examples are made from the protos: what a read is asked with is never wrong in itself, though the ids in it name nothing."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from browser import browser

# A user must not sign out; a stream does not end; what the gateway answers by itself is no JSON of the envelope.
EXCEPT = {"notificationsWatch"}
WRONG = {"VALIDATION_ERROR", "MALFORMED_BODY", "MALFORMED_PATH", "MALFORMED_REQUEST", "METHOD_NOT_ALLOWED", "INTERNAL"}


def codes(address):
    with browser(address) as it:
        page = it.page()
        it.open(page, "/docs")
        return page.evaluate(
            """async (origin) => {
                const { load } = await import("/pages/reference.js");
                const { curl, swift, example } = await import("/pages/snippets.js");
                const { operations } = await load();
                return operations
                    .filter((one) => !one.path.startsWith("/api/testing/"))
                    .map((one) => ({ id: one.id, method: one.method, auth: one.auth, tag: one.tag, codes: one.codes,
                        curl: curl(example(one), origin), swift: swift(example(one), origin) }));
            }""",
            address,
        )


def run(one, token):
    """What is wrong with the answer to a command; None when nothing is."""
    command = one["curl"] + " -sS --max-time 60"
    result = subprocess.run(["bash", "-c", command], capture_output=True, env={**os.environ, "TOKEN": token}, check=False)
    if result.returncode != 0:
        return f"{one['id']}: {command}: {result.stderr.decode()}"
    try:
        reply = json.loads(result.stdout)
    except ValueError:
        return None if result.stdout else f"{one['id']}: {command} answers nothing"
    code = reply.get("error", {}).get("code") if isinstance(reply, dict) else None
    if code in WRONG or (code and code not in one["codes"]):
        return f"{one['id']}: {command}: {json.dumps(reply)}"
    return None


def main(address, token, folder):
    all_codes = codes(address)
    assert len(all_codes) > 200, len(all_codes)
    imports = all_codes[0]["swift"].split("func ")[0]
    functions = [one["swift"].removeprefix(imports) for one in all_codes]
    with open(os.path.join(folder, "Calls.swift"), "w", encoding="utf-8") as out:
        out.write(imports + "\n\n".join(functions) + "\n")
    reads = [one for one in all_codes if one["method"] == "GET" and one["id"] not in EXCEPT and one["auth"] in ("user", "guest", "none")]
    assert len(reads) > 80, len(reads)
    with ThreadPoolExecutor(4) as pool:
        wrong = [problem for problem in pool.map(lambda one: run(one, token), reads) if problem]
    assert not wrong, "\n".join(wrong)
    print("copied")


if __name__ == "__main__":
    main(*sys.argv[1:])
