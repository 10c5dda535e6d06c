"""An S3 server on this machine, moto's, until this process is ended.

    serve.py FILE PORT headers|links BUCKET...

PORT 0 takes a free one. “headers” checks the signature in the headers of every request, which moto does. “links” checks those of links instead,
which moto cannot: they are compared with what botocore signs for what has come. When it listens, FILE holds {"port": …, "key": …, "secret": …}; key and secret are the same at every start.
"""

import base64
import datetime
import hashlib
import io
import json
import os
import sys
import threading
import urllib.parse

import boto3
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto import mock_aws, settings
from moto.moto_api._internal import mock_random
from moto.moto_server.threaded_moto_server import ThreadedMotoServer


class Links:
    """A WSGI application before moto's: refuses a link as S3 documents it, if anything that is signed is not what was signed."""

    one_at_a_time = threading.Lock()

    def __init__(self, app, key):
        self.app, self.credentials = app, Credentials(key["AccessKeyId"], key["SecretAccessKey"])

    def __call__(self, environ, respond):
        query = urllib.parse.parse_qsl(environ["QUERY_STRING"], keep_blank_values=True)
        if "X-Amz-Signature" not in dict(query):
            return self.app(environ, respond)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        refused = self.refusal(environ, query, body)
        if refused is None:
            return self.app(environ, respond)
        status, code = refused
        answer = f"<Error><Code>{code}</Code></Error>".encode()
        respond(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(answer)))])
        return [answer]

    def refusal(self, environ, query, body):
        given = dict(query)
        sent = {"content-length": environ.get("CONTENT_LENGTH"), "content-type": environ.get("CONTENT_TYPE")}
        sent |= {name[5:].lower().replace("_", "-"): value for name, value in environ.items() if name.startswith("HTTP_")}
        signed = given["X-Amz-SignedHeaders"].split(";")
        if any(name.startswith("x-amz-") and name not in signed for name in sent):
            return "403 Forbidden", "AccessDenied"
        time = datetime.datetime.strptime(given["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
        lives = datetime.timedelta(seconds=int(given["X-Amz-Expires"]))
        if datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) > time + lives:
            return "403 Forbidden", "AccessDenied"
        path = environ["REQUEST_URI"].split("?")[0]
        rest = urllib.parse.urlencode([pair for pair in query if not pair[0].startswith("X-Amz-")])
        request = AWSRequest(environ["REQUEST_METHOD"], f"http://{environ['HTTP_HOST']}{path}" + (f"?{rest}" if rest else ""))
        for name in signed:
            request.headers[name] = sent.get(name) or ""
        region = given["X-Amz-Credential"].split("/")[2]
        with self.one_at_a_time:
            botocore.auth.get_current_datetime = lambda remove_tzinfo=True: time
            botocore.auth.S3SigV4QueryAuth(self.credentials, "s3", region, int(given["X-Amz-Expires"])).add_auth(request)
        ours = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.url).query))
        if any(ours[name] != given[name] for name in ours if name.startswith("X-Amz-")):
            return "403 Forbidden", "SignatureDoesNotMatch"
        checksum = sent.get("x-amz-checksum-sha256")
        if checksum is not None and checksum != base64.b64encode(hashlib.sha256(body).digest()).decode():
            return "400 Bad Request", "BadDigest"
        return None


def main(file, port, mode, *buckets):
    mock_random.seed(20260102)
    # Everything is there before a client can ask.
    mock_aws().start()
    iam = boto3.client("iam", region_name="us-east-1")
    iam.create_user(UserName="streaksnap")
    key = iam.create_access_key(UserName="streaksnap")["AccessKey"]
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="streaksnap", PolicyName="all", PolicyDocument=json.dumps(policy))
    s3 = boto3.client("s3", region_name="us-east-1")
    for bucket in buckets:
        s3.create_bucket(Bucket=bucket)
    # From now on every request needs a right signature.
    if mode == "headers":
        settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=int(port), verbose=False)
    server.start()
    if mode == "links":
        server._server.app = Links(server._server.app, key)
    with open(file + ".new", "w") as out:
        json.dump(
            {"port": server.get_host_and_port()[1], "key": key["AccessKeyId"], "secret": key["SecretAccessKey"]}, out
        )
    os.rename(file + ".new", file)
    threading.Event().wait()


main(*sys.argv[1:])
