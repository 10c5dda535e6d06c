"""An S3 server on this machine, moto's, until this process is ended.

    serve.py FILE PORT checked|unchecked BUCKET...

PORT 0 takes a free one. “checked” checks the signature of every request; of links moto cannot. When it listens, FILE holds {"port": …, "key": …, "secret": …}; key and secret are the same at every start.
"""

import json
import os
import sys
import threading

import boto3
from moto import mock_aws, settings
from moto.moto_api._internal import mock_random
from moto.moto_server.threaded_moto_server import ThreadedMotoServer


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
    if mode == "checked":
        settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=int(port), verbose=False)
    server.start()
    with open(file + ".new", "w") as out:
        json.dump(
            {"port": server.get_host_and_port()[1], "key": key["AccessKeyId"], "secret": key["SecretAccessKey"]}, out
        )
    os.rename(file + ".new", file)
    threading.Event().wait()


main(*sys.argv[1:])
