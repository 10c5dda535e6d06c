"""A stand-in for Expo's push service on this machine, until this process is ended.

    serve.py FOLDER PORT

PORT 0 takes a free one; FOLDER/port holds it when it listens. It speaks /send and /getReceipts as documented at
https://docs.expo.dev/push-notifications/sending-notifications/ and refuses what is not as documented there.

FOLDER/control.json says how it behaves; it is read anew for each request:

    {"mode": "ok"}                                answers
    {"mode": "status", "status": 429, "retry_after": "2", "code": "…"}  takes nothing, and says so
    {"mode": "hang", "seconds": 30}               takes nothing and does not answer in that time
    {"mode": "cut"}                               takes nothing and closes the connection
    {"mode": "lose", "seconds": 30}               takes the pushes, and closes the connection after that time instead of answering; 0 by default
    {"mode": "malformed"}                         takes the pushes, and answers with half of a JSON text
    "paths": ["/send"]                            the mode is for these paths only
    "spares_empty": true                          the mode is not for hand-overs of no pushes
    "times": 3                                    … and for so many requests since the file was written
    "slow": 0.2                                   waits so many seconds before it answers
    "tickets": {"TOKEN": "DeviceNotRegistered"}   errors of tickets
    "receipts": {"TOKEN": "MessageRateExceeded"}  errors of receipts
    "missing": true                               has no receipts
    "rate": 5000                                  takes so many pushes in a second, not 600

A token ExponentPushToken[other-…] belongs to another project; one with [bad-…] makes the whole request invalid.
FOLDER/pushes.jsonl gets a line for each push that it took, FOLDER/requests.jsonl one for each request.
"""

import gzip
import json
import os
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FIELDS = {
    "to": str, "title": str, "body": str, "data": dict, "sound": str, "badge": int, "ttl": int, "priority": str,
    "channelId": str, "categoryId": str, "collapseId": str, "tag": str,
}


class Service:
    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.tickets = {}
        self.taken = []
        self.open = 0
        self.most_open = 0
        self.control_written = None
        self.used = 0

    def control(self):
        """How to behave now."""
        path = os.path.join(self.folder, "control.json")
        with self.lock:
            try:
                status = os.stat(path)
                # Files that are written within a few milliseconds have the same time.
                written = (status.st_mtime_ns, status.st_ino)
            except FileNotFoundError:
                return {}
            if written != self.control_written:
                self.control_written, self.used = written, 0
            with open(path) as file:
                return json.load(file)

    def mode(self, control, path, is_empty):
        mode = control.get("mode", "ok")
        if mode == "ok" or path not in control.get("paths", [path]) or (is_empty and control.get("spares_empty")):
            return "ok"
        with self.lock:
            self.used += 1
            return mode if self.used <= control.get("times", 1 << 60) else "ok"

    def write(self, name, lines):
        with self.lock, open(os.path.join(self.folder, name), "a") as file:
            for line in lines:
                file.write(json.dumps(line) + "\n")

    def rate_allows(self, count, most):
        with self.lock:
            now = time.monotonic()
            self.taken = [(at, n) for at, n in self.taken if now - at < 1]
            if sum(n for _, n in self.taken) + count > most:
                return False
            self.taken.append((now, count))
            return True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        service = self.server.service
        with service.lock:
            service.open += 1
            service.most_open = max(service.most_open, service.open)

    def finish(self):
        with self.server.service.lock:
            self.server.service.open -= 1
        try:
            super().finish()
        except OSError:
            pass

    def log_message(self, *_):
        pass

    def do_POST(self):
        service = self.server.service
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        control = service.control()
        try:
            body = json.loads(gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw)
        except ValueError:
            body = None
        mode = service.mode(control, self.path, body == [])
        time.sleep(control.get("slow", 0))
        self.entry = {"path": self.path, "mode": mode, "at": time.time(), "authorization": self.headers.get("Authorization")}
        if body is None:
            return self.refuse(400, "VALIDATION_ERROR", "not JSON")
        self.entry["count"] = len(body) if isinstance(body, list) else len(body.get("ids", []))
        if mode == "hang":
            self.note(0)
            time.sleep(control.get("seconds", 30))
            self.close_connection = True
            return
        if mode == "cut":
            self.note(0)
            self.close_connection = True
            return
        if mode == "status":
            return self.refuse(control["status"], control.get("code", "ERROR"), "as asked", control.get("retry_after"))
        if self.path == "/send":
            self.send(body, mode, control)
        elif self.path == "/getReceipts":
            self.receipts(body, mode, control)
        else:
            self.refuse(404, "NOT_FOUND", self.path)

    def send(self, body, mode, control):
        service = self.server.service
        problem = invalid(body)
        if problem and mode in ("lose", "malformed"):
            return self.answer(mode, {"errors": [{"code": "VALIDATION_ERROR", "message": problem}]}, control)
        if problem:
            return self.refuse(400, "VALIDATION_ERROR", problem)
        if len(body) > 100:
            return self.refuse(400, "PUSH_TOO_MANY_NOTIFICATIONS", "more than 100")
        projects = {}
        for push in body:
            name = "@other/app" if "[other-" in push["to"] else "@streaksnap/app"
            projects.setdefault(name, []).append(push["to"])
        if len(projects) > 1:
            return self.refuse(400, "PUSH_TOO_MANY_EXPERIENCE_IDS", "several projects", details=projects)
        most = control.get("rate", 600)
        if not service.rate_allows(len(body), most):
            return self.refuse(429, "TOO_MANY_REQUESTS", f"more than {most} in a second", "1")
        tickets, taken = [], []
        for push in body:
            error = control.get("tickets", {}).get(push["to"])
            if error:
                tickets.append({"status": "error", "message": "refused", "details": {"error": error}})
                continue
            ticket = str(uuid.uuid4())
            with service.lock:
                service.tickets[ticket] = push["to"]
            tickets.append({"status": "ok", "id": ticket})
            taken.append(push)
        service.write("pushes.jsonl", taken)
        self.answer(mode, {"data": tickets}, control)

    def receipts(self, body, mode, control):
        ids = body["ids"]
        if len(ids) > 1000:
            return self.refuse(400, "PUSH_TOO_MANY_RECEIPTS", "more than 1000")
        found = {}
        for ticket in ids:
            with self.server.service.lock:
                token = self.server.service.tickets.get(ticket)
            if token is None or control.get("missing"):
                continue
            error = control.get("receipts", {}).get(token)
            found[ticket] = (
                {"status": "error", "message": "refused", "details": {"error": error}} if error else {"status": "ok"}
            )
        self.answer(mode, {"data": found}, control)

    def answer(self, mode, reply, control):
        if mode == "lose":
            self.note(0)
            time.sleep(control.get("seconds", 0))
            self.close_connection = True
            return
        text = json.dumps(reply)
        self.reply(200, text[: len(text) // 2] if mode == "malformed" else text)

    def refuse(self, status, code, message, retry_after=None, details=None):
        error = {"code": code, "message": message}
        if details:
            error["details"] = details
        self.reply(status, json.dumps({"errors": [error]}), retry_after)

    def reply(self, status, text, retry_after=None):
        self.note(status)
        content = text.encode()
        self.send_response(status)
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def note(self, status):
        service = self.server.service
        with service.lock:
            most = service.most_open
        service.write("requests.jsonl", [{**self.entry, "status": status, "most_open": most}])


def invalid(body):
    """What is wrong with a list of pushes; None when nothing is."""
    if not isinstance(body, list) or not body:
        return "not a list of pushes"
    for push in body:
        for name, value in push.items():
            if name not in FIELDS or not isinstance(value, FIELDS[name]):
                return f"field {name}"
        if "[bad-" in push["to"]:
            return "token"
        if push.get("priority") not in ("default", "normal", "high"):
            return "priority"
        if len(push.get("collapseId", "").encode()) > 64:
            return "collapseId"
        shown = {name: push.get(name) for name in ("title", "body", "data")}
        if len(json.dumps(shown, ensure_ascii=False).encode()) > 4096:
            return "size"
    return None


def main(folder, port):
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.daemon_threads = True
    server.service = Service(folder)
    with open(os.path.join(folder, "port.new"), "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
    server.serve_forever()


main(*sys.argv[1:])
