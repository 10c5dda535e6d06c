"""A stand-in for the address of Apple's public keys on this machine, until this process is ended.

    serve.py FOLDER

FOLDER/port holds the port when it listens. The one key signs nothing: no one has kept its other half.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER = sys.argv[1]
KEY = {
    "kty": "RSA",
    "kid": "stand-in",
    "use": "sig",
    "alg": "RS256",
    "e": "AQAB",
    "n": (
        "l8lGU7GSBcHs_Dzkk7Wm0ay7fW4J5yTBzxmqjoVEyPojlWDTp2_pwbkEowiG-FEMIssNYUQdh1vZMswwwGjN7tl3XoxyAHSY0bQPHz99NJUfBl"
        "v5Polkc3dSrwR035QVrSpqZBfRK49iZbgDMGYyYS-VC71yoC-su9FjHziK2UThPjcaDTO_5zWyPuOI64TCq9XMqHiHUaK06gWvD-RYe9LW-3Sk"
        "aBm7Qd9T193w65Hcu6GmfgHdS4KhFN_eWvIsVrV0a5auUSxn_lQGCxHyox-fIkO1-hDtYjb308lDTOc2U8bDOidmvZxhP8XfdKEgnzMajx0k2s"
        "I2nUoBDMFqWw"
    ),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = json.dumps({"keys": [KEY]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(f"{FOLDER}/port.new", "w") as file:
    file.write(str(server.server_port))
os.rename(f"{FOLDER}/port.new", f"{FOLDER}/port")
server.serve_forever()
