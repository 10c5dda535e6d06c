"""A service of StreakSnap in Python: deploy/docs/bus-protocol.md as a program.

    service.py --broker nats://quotes:PASSWORD@127.0.0.1:4222 --protos Proto --key secrets/service-key-quotes [--ready FILE]

services.json beside it gives it its user on the broker (deploy/docs/bus-protocol.md, “Permissions”).

Needs nats-py, protobuf and googleapis-common-protos from PyPI, protoc and openssl. SIGTERM ends it after its last reply.
"""
import argparse, asyncio, base64, hashlib, pathlib, signal, subprocess, sys, sysconfig, tempfile, time

import nats, nats.micro
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# What a call carries, in the order of the header `call`; each may also come as a header of its own.
FIELDS = [
    "traceparent", "request-id", "deadline", "principal-role", "principal-user", "principal-session", "client-address",
    "idempotency-key-seconds", "idempotency-key",
]
HTTP = {3: 400, 5: 404, 13: 500, 16: 401}


class Refusal(Exception):
    """What a caller gets: a google.rpc.Code, a reason that programs compare, a sentence, and (field, message) pairs."""

    def __init__(self, code, reason, message, details=()):
        self.code, self.reason, self.message, self.details = code, reason, message, details


def describe(protos):
    """The descriptor set of this service, with comments, as protoc makes it."""
    here = pathlib.Path(__file__).parent
    with tempfile.NamedTemporaryFile() as out:
        includes = [f"-I{folder}" for folder in [here, protos, sysconfig.get_path("purelib"), "/usr/include"]]
        options = ["--include_imports", "--include_source_info", f"--descriptor_set_out={out.name}"]
        subprocess.run(["protoc", *includes, *options, "quotes.proto", "streaksnap/common/v1/common.proto"], check=True)
        return pathlib.Path(out.name).read_bytes()


def sign(key, version, sha256):
    """The signature by which gateways know that this descriptor is the service's: Ed25519 of four lines."""
    with tempfile.NamedTemporaryFile("w") as statement:
        statement.write("\n".join(["streaksnap.descriptor.v1", "quotes", version, sha256]))
        statement.flush()
        command = ["openssl", "pkeyutl", "-sign", "-inkey", key, "-rawin", "-in", statement.name]
        signature = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return base64.urlsafe_b64encode(signature).decode().rstrip("=")


def context_of(headers):
    """The fields of a request. One that is `-` in `call` is not there; fields that a later version adds are at its end."""
    headers = headers or {}
    packed = dict(zip(FIELDS, headers.get("call", "").split(" ")))
    found = {name: value for name, value in packed.items() if value not in ("", "-")}
    return found | {name: headers[name] for name in FIELDS if name in headers}


class Quotes:
    """What the service does: requests in, replies out."""

    def __init__(self, messages):
        self.messages = messages
        self.quotes = {"habits": ("We are what we repeatedly do.", "Will Durant")}

    async def GetQuote(self, request, context):
        self.check(request, {"topic": 20})
        if request.topic not in self.quotes:
            raise Refusal(5, "QUOTE_NOT_FOUND", "There is no quote about this topic.")
        text, by = self.quotes[request.topic]
        return self.messages["Quote"](topic=request.topic, text=text, by=by)

    async def SayQuote(self, request, context):
        if context.get("principal-role") not in ("user", "admin"):
            raise Refusal(16, "UNAUTHENTICATED", "Sign in first.")
        self.check(request, {"topic": 20, "text": 200})
        self.quotes[request.topic] = (request.text, context["principal-user"])
        return await self.GetQuote(request, context)

    def check(self, request, lengths):
        """The rules of the proto: a service checks them itself, for services call it too."""
        bad = [name for name, most in lengths.items() if not 1 <= len(getattr(request, name)) <= most]
        if bad:
            raise Refusal(3, "VALIDATION_ERROR", "Some fields are not valid.", details=[(name, f"must have 1 to {lengths[name]} characters") for name in bad])


def endpoint(method, request_type, messages):
    """Answers one request: refuses, or replies; says nothing to a caller who no longer waits."""

    async def answer(request):
        context = context_of(request.headers)
        left = int(context["deadline"]) / 1000 - time.time() if "deadline" in context else 10
        if left <= 0:
            return
        try:
            try:
                message = request_type.FromString(request.data)
            except Exception:
                raise Refusal(3, "VALIDATION_ERROR", "The request is not a message of the expected type.") from None
            reply = await asyncio.wait_for(method(message, context), left)
            await request.respond(reply.SerializeToString())
        except TimeoutError:
            return
        except Exception as error:
            if not isinstance(error, Refusal):
                print(f"{context.get('request-id')}: {error!r}", file=sys.stderr)
                error = Refusal(13, "INTERNAL", "Something went wrong.")
            status = messages["Status"](code=error.code, reason=error.reason, message=error.message)
            for field, text in error.details:
                status.details.add(field=field, message=text)
            await request.respond_error(str(HTTP[error.code]), error.reason, status.SerializeToString())

    return answer


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--broker", required=True)
    parser.add_argument("--protos", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--ready")
    options = parser.parse_args()

    described = describe(options.protos)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(described).file:
        pool.Add(file)
    names = ["quotes.v1.GetQuoteRequest", "quotes.v1.SayQuoteRequest", "quotes.v1.Quote", "common.v1.Status", "common.v1.DescriptorReply"]
    messages = {n.split(".")[-1]: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"streaksnap.{n}")) for n in names}
    sha256 = hashlib.sha256(described).hexdigest()
    reply = messages["DescriptorReply"](descriptor_set=described, sha256=sha256).SerializeToString()

    broker = await nats.connect(options.broker, name="quotes", max_reconnect_attempts=-1, inbox_prefix=b"_INBOX.quotes")
    service = await nats.micro.add_service(
        broker, name="quotes", version="1.0.0", description="Quotes of known people.", queue_group="quotes",
        metadata={"descriptor": sha256, "descriptor-signature": sign(options.key, "1.0.0", sha256)},
    )
    # The descriptor first: gateways ask for it as soon as they have found the service.
    await service.add_endpoint(name="Descriptor", subject=f"rpc.quotes.v1.Descriptor.{sha256}", handler=lambda r: r.respond(reply))
    quotes = Quotes(messages)
    for name in ["GetQuote", "SayQuote"]:
        handler = endpoint(getattr(quotes, name), messages[f"{name}Request"], messages)
        await service.add_endpoint(name=name, subject=f"rpc.quotes.v1.{name}", handler=handler)
    await broker.flush()

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    if options.ready:
        pathlib.Path(options.ready).write_text("ready\n")
    await stop.wait()
    await service.stop()
    await broker.drain()


asyncio.run(main())
