"""Sends each example of a request that an OpenAPI document has: it must be taken, or refused for what is there, not for its form.

examples.py ADDRESS PHOTO ADMINISTRATOR: PHOTO is a file for uploads, ADMINISTRATOR an access token. The others are new people, one a request,
since an example may end its session. Prints how many were sent, and then how many of them were taken.
"""

import json
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request
import uuid

address, photo, administrator = sys.argv[1:]
# A form that is refused, whatever the reason is called.
FORM = {"VALIDATION_ERROR", "UNSUPPORTED_MEDIA_TYPE", "BODY_TOO_LARGE", "PAYLOAD_TOO_LARGE", "INTERNAL"}


def call(method, path, token=None, body=None, kind="application/json"):
    headers = {"Content-Type": kind} if body is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(address + path, method=method, headers=headers, data=body)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as failure:
        return failure.code, failure.read()


def token(role):
    """Of someone new who may call the route; none where everyone may."""
    if role in ("none", "secret"):
        return None
    if role == "admin":
        return administrator
    name = f"example.{uuid.uuid4().hex[:8]}"
    person = {"email": f"{name}@example.com", "password": "correct-horse-battery", "username": name, "time_zone": "UTC"}
    status, reply = call("POST", "/api/auth/register", body=json.dumps(person).encode())
    if status != 201 and status != 200:
        sys.exit(f"register: {status} {reply}")
    return json.loads(reply)["data"]["access_token"]


def form(example):
    """The body and the media type of a form."""
    boundary = uuid.uuid4().hex
    parts = []
    for name, value in example.items():
        if value == "(the bytes of the file)":
            kind = f'; filename="photo.jpg"\r\nContent-Type: image/jpeg'
            parts.append((name, kind, pathlib.Path(photo).read_bytes()))
            continue
        for one in value if isinstance(value, list) else [value]:
            parts.append((name, "", (one if isinstance(one, str) else json.dumps(one)).encode()))
    body = b"".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{kind}\r\n\r\n'.encode() + content + b"\r\n"
        for name, kind, content in parts
    )
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def problem(status, reply):
    """What is wrong with how a request was answered; None when it was taken, or refused for what is there."""
    text = reply.decode(errors="replace")
    try:
        body = json.loads(reply)
    except ValueError:
        return None if status < 500 else text[:300]
    # Of several changes in one request each has an answer of its own.
    is_form = any(code in FORM or code.startswith(("MALFORMED", "UNKNOWN")) for code in codes(body))
    return text[:500] if is_form or (status >= 500 and status != 501) else None


def codes(body):
    """Each `code` in a reply."""
    if isinstance(body, dict):
        found = [body["code"]] if isinstance(body.get("code"), str) else []
        return found + [code for inner in body.values() for code in codes(inner)]
    return [code for inner in body for code in codes(inner)] if isinstance(body, list) else []


def requests(path, verb, operation):
    """Each request that the examples of an operation make: its path, and its body with its type."""
    parameters = [resolved(parameter) for parameter in operation.get("parameters", [])]
    query = []
    for parameter in parameters:
        if "example" not in parameter:
            continue
        value = parameter["example"]
        if parameter["in"] == "path":
            path = path.replace("{%s}" % parameter["name"], urllib.parse.quote(str(value)))
        if parameter["in"] == "query":
            texts = value if isinstance(value, list) else [value]
            query += [(parameter["name"], one if isinstance(one, str) else json.dumps(one)) for one in texts]
    target = path + ("?" + urllib.parse.urlencode(query) if query else "")
    content = operation.get("requestBody", {}).get("content", {})
    bodies = [(kind, media["example"]) for kind, media in content.items() if "example" in media]
    for kind, example in bodies or [(None, None)]:
        # A query as a whole, and none of it: what is left out of one is optional.
        for address in dict.fromkeys([target] if bodies else [target, path]):
            needed = any(parameter["in"] == "query" and parameter.get("required") for parameter in parameters)
            if address == target or not needed:
                yield address, kind, example


def resolved(parameter):
    if "$ref" not in parameter:
        return parameter
    found = page
    for part in parameter["$ref"].split("/")[1:]:
        found = found[part]
    return found


page = json.loads(call("GET", "/openapi.json")[1])
sent, taken, problems = 0, 0, []
for path, methods in page["paths"].items():
    # A service that another test brings along comes and goes; a stream does not end; the document holds the codes of all.
    if path.startswith("/api/testing/") or path in ("/api/events", "/openapi.json"):
        continue
    for verb, operation in methods.items():
        for target, kind, example in requests(path, verb, operation):
            body, media = None, None
            if kind:
                body, media = form(example) if kind == "multipart/form-data" else (json.dumps(example).encode(), kind)
            status, reply = call(verb.upper(), target, token(operation["x-auth"]), body, media)
            sent += 1
            taken += status < 400
            wrong = problem(status, reply)
            if wrong:
                problems.append(f"{verb} {target} {kind or ''} {json.dumps(example)[:300]}: {status} {wrong}")
            elif status >= 400 and operation["x-auth"] != "none" and reply[:1] == b"{":
                code = json.loads(reply).get("error", {}).get("code")
                if code not in operation["x-error-codes"]:
                    problems.append(f"{verb} {target}: {status} {code} is not among the codes of the operation")

print(sent, "sent")
print(taken, "taken")
if problems:
    sys.exit("\n".join(problems))
