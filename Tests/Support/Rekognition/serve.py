"""A stand-in for Rekognition's DetectModerationLabels on this machine, until this process is ended.

    serve.py FOLDER PORT KEY_ID SECRET REGION

PORT 0 takes a free one; FOLDER/port holds it when it listens. It refuses what AWS refuses: another target or content type, a signature that
does not follow from KEY_ID and SECRET by SigV4 (written here from its description), what is neither JPEG nor PNG, and more than 5 MB.

FOLDER/control.json says how it behaves; it is read anew for each request:

    {"labels": [{"Name": "Explicit", "ParentName": "", "Confidence": 99}]}   finds these
    {"status": 400, "type": "ThrottlingException"}                           answers so
    {"hang": 30}                                                             does not answer in so many seconds
    {"malformed": true}                                                      answers with half of a JSON text

FOLDER/requests.jsonl gets a line for each request.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, PORT, KEY_ID, SECRET, REGION = sys.argv[1:]
LOCK = threading.Lock()


def signature(headers, names, body, scope):
    """The signature that AWS expects of a POST to /."""
    lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names)
    canonical = "\n".join(["POST", "/", "", lines, ";".join(names), hashlib.sha256(body).hexdigest()])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def problem(headers, body):
    """The name of the error that AWS answers; None when it takes the request."""
    if headers.get("content-type") != "application/x-amz-json-1.1":
        return "SerializationException"
    if headers.get("x-amz-target") != "RekognitionService.DetectModerationLabels":
        return "UnknownOperationException"
    parts = headers.get("authorization", "").replace(",", "").split()
    fields = dict(part.split("=", 1) for part in parts[1:])
    date = headers.get("x-amz-date", "")
    scope = f"{date[:8]}/{REGION}/rekognition/aws4_request"
    if fields.get("Credential") != f"{KEY_ID}/{scope}":
        return "UnrecognizedClientException"
    names = fields["SignedHeaders"].split(";")
    if not {"host", "x-amz-date", "x-amz-target", "content-type"} <= set(names):
        return "InvalidSignatureException"
    if fields["Signature"] != signature(headers, names, body, scope):
        return "InvalidSignatureException"
    request = json.loads(body)
    if set(request) != {"Image", "MinConfidence"} or set(request["Image"]) != {"Bytes"}:
        return "InvalidParameterException"
    picture = base64.b64decode(request["Image"]["Bytes"], validate=True)
    if len(picture) > 5 << 20:
        return "ImageTooLargeException"
    if not picture.startswith((b"\xff\xd8\xff", b"\x89PNG")):
        return "InvalidImageFormatException"
    return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            with open(os.path.join(FOLDER, "control.json")) as file:
                control = json.load(file)
        except FileNotFoundError:
            control = {}
        refusal = problem(headers, body)
        with LOCK, open(os.path.join(FOLDER, "requests.jsonl"), "a") as file:
            file.write(json.dumps({"refusal": refusal, "bytes": len(body)}) + "\n")
        if "hang" in control:
            time.sleep(control["hang"])
            self.close_connection = True
            return
        if refusal or "status" in control:
            name = refusal or control["type"]
            self.reply(400 if refusal else control["status"], json.dumps({"__type": f"com.amazon.coral#{name}", "message": name}))
        elif control.get("malformed"):
            self.reply(200, '{"ModerationLabels": [{')
        else:
            self.reply(200, json.dumps({"ModerationLabels": control.get("labels", []), "ModerationModelVersion": "7.0",
                                        "ContentTypes": []}))

    def reply(self, status, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(PORT)), Handler)
server.daemon_threads = True
with open(os.path.join(FOLDER, "port.new"), "w") as ready:
    ready.write(str(server.server_address[1]))
os.rename(os.path.join(FOLDER, "port.new"), os.path.join(FOLDER, "port"))
server.serve_forever()
