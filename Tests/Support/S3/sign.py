"""Signs with botocore what it reads as JSON, and writes what came out as JSON: an independent implementation to compare with."""

import datetime
import json
import sys
import urllib.parse

import boto3
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials


def at(seconds):
    time = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    botocore.auth.get_current_datetime = lambda remove_tzinfo=True: time.replace(tzinfo=None) if remove_tzinfo else time


def link(case):
    """What botocore's presigner makes of an operation."""
    client = boto3.client(
        "s3",
        endpoint_url=case["endpoint"],
        region_name=case["region"],
        aws_access_key_id=case["key_id"],
        aws_secret_access_key=case["secret"],
        aws_session_token=case.get("token"),
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "path" if case["path_style"] else "virtual"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
    parameters = {"Bucket": case["bucket"], "Key": case["key"], **case["parameters"]}
    return client.generate_presigned_url(case["operation"], Params=parameters, ExpiresIn=case["seconds"])


def headers(case):
    """The headers that botocore adds to a request."""
    url = "%s://%s%s" % (case["scheme"], case["host"], urllib.parse.quote(case["path"], safe="/~"))
    request = AWSRequest(case["method"], url, dict(case["headers"]), case["body"].encode(), dict(case["query"]))
    request.context["payload_signing_enabled"] = True
    credentials = Credentials(case["key_id"], case["secret"], case.get("token"))
    if case.get("service", "s3") == "s3":
        botocore.auth.S3SigV4Auth(credentials, "s3", case["region"]).add_auth(request)
    else:
        botocore.auth.SigV4Auth(credentials, case["service"], case["region"]).add_auth(request)
    return request.headers["Authorization"]


results = []
for case in json.load(sys.stdin):
    at(case["time"])
    results.append(link(case) if "operation" in case else headers(case))
json.dump(results, sys.stdout)
