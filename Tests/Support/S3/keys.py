"""Prints the key of every object of a bucket: keys.py ENDPOINT KEY SECRET BUCKET."""

import sys

import boto3
from botocore.config import Config

endpoint, key, secret, bucket = sys.argv[1:]
client = boto3.client(
    "s3",
    endpoint_url=endpoint,
    region_name="us-east-1",
    aws_access_key_id=key,
    aws_secret_access_key=secret,
    config=Config(s3={"addressing_style": "path"}),
)
for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
    for entry in page.get("Contents", []):
        print(entry["Key"])
