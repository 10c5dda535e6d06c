"""A mail server for tests: aiosmtpd, with behaviour by the recipient's name.

serve.py READY FOLDER PORT plain|starttls|smtps [USER:PASSWORD] [refuse-sender]

READY is written with {"port", "certificate"} once it listens. Each message that is accepted becomes a file of FOLDER, in JSON.
"""

import asyncio
import base64
import datetime
import ipaddress
import itertools
import json
import os
import pathlib
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ready, folder, port, mode = sys.argv[1:5]
login = sys.argv[5] if len(sys.argv) > 5 else ""
refuses_sender = "refuse-sender" in sys.argv[6:]
folder = pathlib.Path(folder)
numbers = itertools.count(1)


def certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "server.pem", folder / "server.key"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return public, private


def write(path, value):
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(value))
    os.replace(draft, path)


class Handler:
    async def handle_MAIL(self, server, session, envelope, address, options):
        if refuses_sender:
            return "553 5.7.1 this sender is not wanted"
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.split("@")[0]
        if name == "unknown":
            return f"550 5.1.1 <{address}>: no such user"
        if name == "greylisted":
            return "450 4.2.0 try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        name = envelope.rcpt_tos[0].split("@")[0]
        # What was handed over whole, whatever is answered.
        write(
            folder / f"{next(numbers):06}-{name}.json",
            {
                "from": envelope.mail_from,
                "to": envelope.rcpt_tos,
                "content": base64.b64encode(envelope.original_content).decode(),
                "encrypted": session.ssl is not None or mode == "smtps",
                "user": session.auth_data.login.decode() if session.auth_data else "",
            },
        )
        if name == "silent":
            await asyncio.sleep(3600)
        if name == "cut":
            server.transport.abort()
            await asyncio.sleep(3600)
        return {"spam": "554 5.7.1 rejected", "full": "452 4.3.1 no space"}.get(name, "250 2.0.0 taken")


def authenticate(server, session, envelope, mechanism, data):
    given = b":".join([data.login, data.password])
    return AuthResult(success=given == login.encode(), handled=False, auth_data=data)


async def main():
    public, private = certificate()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(public, private)
    rules = {"hostname": "mail.test", "enable_SMTPUTF8": False}
    if mode == "starttls":
        rules |= {"tls_context": context, "require_starttls": True}
    if login:
        rules |= {"authenticator": authenticate, "auth_required": True, "auth_require_tls": mode == "starttls"}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(Handler(), loop=loop, **rules), "127.0.0.1", int(port), ssl=context if mode == "smtps" else None
    )
    write(pathlib.Path(ready), {"port": server.sockets[0].getsockname()[1], "certificate": str(public)})
    await server.serve_forever()


asyncio.run(main())
