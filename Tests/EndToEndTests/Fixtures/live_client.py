"""A client of GET /api/events, as an app has one: it reads until the stream ends, or until it is killed.

    live_client.py PORT TOKEN [LAST-EVENT-ID]

Prints a line of JSON for each thing that happens: {"status": 200}, or with "code" and "retry_after" what the refusal says; then
{"id": "7", "event": "notification", "data": {…}} for each event; then {"ended": true}.
"""

import http.client
import json
import sys


def say(**what):
    print(json.dumps(what), flush=True)


port, token, last = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
if last:
    headers["Last-Event-ID"] = last[0]
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
connection.request("GET", "/api/events", headers=headers)
reply = connection.getresponse()
if reply.status != 200:
    say(status=reply.status, code=json.load(reply)["error"]["code"], retry_after=reply.getheader("Retry-After"))
    sys.exit()
say(status=200, type=reply.getheader("Content-Type"))

fields = {}
try:
    while line := reply.readline():
        name, _, value = line.decode().rstrip("\n").partition(":")
        if name:
            value = value.removeprefix(" ")
            fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value
        elif not line.strip():
            if "data" in fields:
                say(id=fields["id"], event=fields["event"], data=json.loads(fields["data"]))
            fields = {}
except (http.client.HTTPException, OSError) as error:
    say(broken=repr(error))
say(ended=True)
