"""A stand-in for RevenueCat's REST API, version 1.

serve.py FOLDER: FOLDER/subscribers/<id>.json is what it says of a customer, FOLDER/mode how it behaves (ok, fail, garbage, cut, hang),
FOLDER/requests one line a request. A question about a customer it does not have makes one, as the real API does. FOLDER/ready holds the port.
"""
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder = sys.argv[1]
key = "stand-in-key"


def read(name, otherwise):
    try:
        with open(os.path.join(folder, name)) as file:
            return file.read().strip()
    except FileNotFoundError:
        return otherwise


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def customer(self):
        with open(os.path.join(folder, "requests"), "a") as file:
            file.write(f"{self.command} {self.path}\n")
        mode = read("mode", "ok")
        if mode == "hang":
            time.sleep(30)
        if mode == "cut":
            self.close_connection = True
            return None
        if mode == "fail":
            self.answer(503, {"code": 7773, "message": "busy"})
            return None
        if mode == "garbage":
            self.answer(200, b"<html>")
            return None
        if self.headers.get("Authorization") != f"Bearer {key}":
            self.answer(401, {"code": 7225, "message": "Invalid API Key."})
            return None
        parts = self.path.split("/")
        if len(parts) != 4 or parts[1:3] != ["v1", "subscribers"]:
            self.answer(404, {})
            return None
        return os.path.join(folder, "subscribers", parts[3] + ".json")

    def do_GET(self):
        path = self.customer()
        if path is None:
            return
        is_new = not os.path.exists(path)
        if is_new:
            # At once and whole: another request may read it meanwhile.
            draft = f"{path}.{threading.get_ident()}"
            with open(draft, "w") as file:
                json.dump({"subscriptions": {}, "non_subscriptions": {}}, file)
            os.replace(draft, path)
        with open(path) as file:
            subscriber = json.load(file)
        at = subscriber.pop("request_date_ms", int(time.time() * 1000))
        self.answer(201 if is_new else 200, {"request_date_ms": at, "subscriber": subscriber, "new_field": [1]})

    def do_DELETE(self):
        path = self.customer()
        if path is None:
            return
        if not os.path.exists(path):
            return self.answer(404, {"code": 7259})
        os.remove(path)
        self.answer(200, {"app_user_id": os.path.basename(path)[:-5]})

    def log_message(self, *arguments):
        pass


os.makedirs(os.path.join(folder, "subscribers"), exist_ok=True)
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(os.path.join(folder, "ready.part"), "w") as file:
    file.write(str(server.server_port))
os.rename(os.path.join(folder, "ready.part"), os.path.join(folder, "ready"))
server.serve_forever()
