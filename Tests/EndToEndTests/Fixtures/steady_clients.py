"""Clients that keep their connections and never ask twice, until a file appears.

    steady_clients.py PORT TOKEN STOP QUICK SLOW

QUICK clients pause 20 ms between two requests, SLOW ones 4 s. Prints a line of JSON five times a second:
{"made": requests answered, "closed": replies that said Connection: close, "failures": [what went wrong]}
"""

import http.client
import json
import os
import sys
import threading
import time

PORT, TOKEN, STOP = int(sys.argv[1]), sys.argv[2], sys.argv[3]
QUICK, SLOW = int(sys.argv[4]), int(sys.argv[5])
# One of each service: a gateway that does not know one's routes yet would refuse them.
PATHS = [
    "/api/users/me",
    "/api/friends",
    "/api/streaks",
    "/api/photos/feed",
    "/api/notifications",
    "/api/recovery/balance",
    "/.well-known/jwks.json",
]

lock = threading.Lock()
made = closed = 0
failures = []


def client(number, pause):
    global made, closed
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    turn = number
    while not os.path.exists(STOP):
        path = PATHS[turn % len(PATHS)]
        turn += 1
        began = time.monotonic()
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            reply = connection.getresponse()
            body = reply.read()
            with lock:
                made += 1
                closed += reply.getheader("Connection") == "close"
                if reply.status != 200:
                    failures.append(f"{path}: {reply.status} {body[:200]!r}")
        except Exception as error:
            with lock:
                failures.append(f"{path}: {error!r} after {time.monotonic() - began:.3f} s")
            connection.close()
        time.sleep(pause)
    connection.close()


def report():
    with lock:
        print(json.dumps({"made": made, "closed": closed, "failures": failures[:20]}), flush=True)


threads = [threading.Thread(target=client, args=(number, 0.02 if number < QUICK else 4)) for number in range(QUICK + SLOW)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    report()
    time.sleep(0.2)
report()
