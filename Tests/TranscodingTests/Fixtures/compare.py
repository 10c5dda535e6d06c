"""Checks the transcoder against Google's own Python protobuf: standard input has lines of three JSON values, our input JSON, the wire
bytes in hex that we made of it, and the JSON that we made of those. Prints what differs."""

import base64
import json
import math
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory


def enum_prefix(enum):
    out = ""
    for index, char in enumerate(enum.name):
        out += "_" + char if char.isupper() and index else char
    return out.upper() + "_"


def is_map(field):
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def to_canonical(descriptor, value):
    """Our JSON in the form that json_format reads: enums by their full names."""
    result = {}
    for name, member in value.items():
        field = descriptor.fields_by_name[name]
        if is_map(field):
            inner = field.message_type.fields_by_name["value"]
            result[name] = {key: one_to_canonical(inner, entry) for key, entry in member.items()}
        elif isinstance(member, list):
            result[name] = [one_to_canonical(field, entry) for entry in member]
        else:
            result[name] = one_to_canonical(field, member)
    return result


def one_to_canonical(field, value):
    if field.enum_type is not None:
        return enum_prefix(field.enum_type) + value.upper()
    if field.message_type is not None and field.message_type.full_name != "google.protobuf.Timestamp":
        return to_canonical(field.message_type, value)
    return value


def expected(message):
    """What our reply JSON must be, from the parsed message."""
    result = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if is_map(field):
            inner = field.message_type.fields_by_name["value"]
            names = {True: "true", False: "false"}
            result[field.name] = {names.get(k, str(k)) if isinstance(k, bool) else str(k): one_expected(inner, value[k]) for k in value}
        elif field.label == field.LABEL_REPEATED if hasattr(field, "label") else field.is_repeated:
            result[field.name] = [one_expected(field, entry) for entry in value]
        elif field.has_presence and not message.HasField(field.name):
            result[field.name] = None
        else:
            result[field.name] = one_expected(field, value)
    return result


def one_expected(field, value):
    if field.message_type is not None:
        return value.ToJsonString() if field.message_type.full_name == "google.protobuf.Timestamp" else expected(value)
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name[len(enum_prefix(field.enum_type)):].lower()
    if field.type == field.TYPE_BYTES:
        return base64.b64encode(value).decode()
    return value


def same(left, right):
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right))
    if isinstance(left, float) or isinstance(right, float):
        return not isinstance(left, (str, bool, type(None))) and math.isclose(left, right, rel_tol=1e-6)
    return type(left) is type(right) and left == right


def sort_maps(descriptor, value):
    for field in descriptor.fields:
        member = value.get(field.name)
        if not member or field.message_type is None:
            continue
        if is_map(field):
            value[field.name] = dict(sorted(member.items()))
            inner = field.message_type.fields_by_name["value"]
            if inner.message_type is not None:
                [sort_maps(inner.message_type, entry) for entry in member.values()]
        elif isinstance(member, list):
            [sort_maps(field.message_type, entry) for entry in member if isinstance(entry, dict)]
        elif isinstance(member, dict):
            sort_maps(field.message_type, member)
    return value


def main():
    files = descriptor_pb2.FileDescriptorSet.FromString(open(sys.argv[1], "rb").read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    descriptor = pool.FindMessageTypeByName(sys.argv[2])
    message_class = message_factory.GetMessageClass(descriptor)
    count = 0
    for line in sys.stdin:
        given, wire, ours = json.loads("[" + line + "]")
        parsed = message_class.FromString(bytes.fromhex(wire))
        theirs = json_format.ParseDict(to_canonical(descriptor, given), message_class(), descriptor_pool=pool)
        if parsed != theirs:
            print("wire differs for", given)
        if not same(sort_maps(descriptor, ours), sort_maps(descriptor, expected(parsed))):
            print("JSON differs for", given, "ours", ours, "theirs", expected(parsed))
        count += 1
    print("compared", count)


main()
