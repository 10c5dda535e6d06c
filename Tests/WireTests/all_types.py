"""Google's own Python protobuf beside our codec, over all message types.

    all_types.py make FOLDER COUNT SEED    writes FOLDER/sent: COUNT random messages of each type of FOLDER/*.set
    all_types.py judge FOLDER              compares FOLDER/got, what our codec made of messages, with what Python makes of them

A file has records: index of the type in FOLDER/types, verdict (one byte: 1 for accepted), length of the bytes sent, length of the bytes got, both bytes.
Of `sent` verdict is 1 and nothing is got. FOLDER/types has one full name a line. `judge` prints what differs.
"""
import pathlib
import random
import struct
import sys
from collections import Counter

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, unknown_fields
from google.protobuf.descriptor import FieldDescriptor as F

HEAD = struct.Struct("<IBII")
INTEGERS = {
    F.CPPTYPE_INT32: (-2**31, 2**31 - 1), F.CPPTYPE_INT64: (-2**63, 2**63 - 1),
    F.CPPTYPE_UINT32: (0, 2**32 - 1), F.CPPTYPE_UINT64: (0, 2**64 - 1),
}
TEXT = "abcdefghijklmnopqrstuvwxyz0123456789 -_.\n\"äßλ日本🔥"
TIMESTAMP = "google.protobuf.Timestamp"
# What a newer sender may add: a text and a number.
UNKNOWN = b"\xc2\xb8\x02\x03new\xc8\xb8\x02\x05"


def load(folder):
    """The messages of all sets by full name."""
    pool, seen = descriptor_pool.DescriptorPool(), set()
    for path in sorted(folder.glob("*.set")):
        for file in descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()).file:
            if file.name not in seen:
                pool.Add(file)
                seen.add(file.name)
    names = (folder / "types").read_text().split()
    return [pool.FindMessageTypeByName(name) for name in names]


def fields(data):
    """Number, wire type and value of each field of well-formed bytes."""
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    at = 0
    while at < len(data):
        tag = varint()
        kind = tag & 7
        size = {0: 0, 1: 8, 5: 4}.get(kind)
        if kind == 0:
            yield tag >> 3, kind, varint()
            continue
        size = varint() if kind == 2 else size
        yield tag >> 3, kind, data[at:at + size]
        at += size


class Rules:
    """What the options of a field say its text is: `id`, `date` or nothing."""
    known = {}

    @classmethod
    def text(cls, field):
        if field.full_name not in cls.known:
            kind = None
            for option in unknown_fields.UnknownFieldSet(field.GetOptions()):
                if option.field_number == 50001:
                    numbers = {number for number, _, _ in fields(option.data)}
                    kind = "id" if 15 in numbers else "date" if 16 in numbers else None
            cls.known[field.full_name] = kind
        return cls.known[field.full_name]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def scalar(self, field):
        chance, kind = self.random, field.cpp_type
        if kind in INTEGERS:
            low, high = INTEGERS[kind]
            return chance.choice([0, 1, low, high, chance.randint(low, high), chance.randint(max(low, -300), 300)])
        if kind == F.CPPTYPE_ENUM:
            return chance.choice([value.number for value in field.enum_type.values] + [0, 77, -1])
        if kind == F.CPPTYPE_BOOL:
            return chance.random() < 0.5
        if kind in (F.CPPTYPE_DOUBLE, F.CPPTYPE_FLOAT):
            return chance.choice([0.0, 1.5, -2.25, float("inf"), chance.uniform(-1e6, 1e6)])
        if field.type == F.TYPE_BYTES:
            return chance.randbytes(chance.choice([0, 1, 16, 200 if chance.random() < 0.1 else 3]))
        if Rules.text(field) == "id":
            text = f"{chance.getrandbits(127):032x}"
            text = "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])
            return text.upper() if chance.random() < 0.1 else text
        if Rules.text(field) == "date":
            return f"{chance.randint(1, 9999):04}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        length = chance.choice([0, 1, 5, 36, 130 if chance.random() < 0.1 else 8])
        return "".join(chance.choice(TEXT) for _ in range(length))

    def fill(self, message, depth=0):
        chance = self.random
        if message.DESCRIPTOR.full_name == TIMESTAMP:
            message.seconds = chance.choice([0, -1, chance.randint(-62135596800, 253402300799)])
            message.nanos = chance.choice([0, 999999999, chance.randint(0, 999999999)])
            return
        density = chance.choice([0.15, 0.5, 0.9])
        for field in message.DESCRIPTOR.fields:
            needed = not field.is_repeated and needs(field, field.has_presence and not field.message_type)
            if not needed and (chance.random() > density or (field.message_type and depth > 3 and chance.random() < 0.9)):
                continue
            value = getattr(message, field.name)
            if is_map(field):
                key, inner = field.message_type.fields
                for _ in range(chance.randint(1, 3)):
                    if inner.message_type:
                        self.fill(value[self.scalar(key)], depth + 1)
                    else:
                        value[self.scalar(key)] = self.scalar(inner)
            elif field.is_repeated:
                for _ in range(chance.randint(1, 3)):
                    if field.message_type:
                        self.fill(value.add(), depth + 1)
                    else:
                        value.append(self.scalar(field))
            elif field.message_type:
                value.SetInParent()
                self.fill(value, depth + 1)
            else:
                setattr(message, field.name, self.scalar(field))


def needs(field, has_presence):
    """Whether a message without the field is refused."""
    if Rules.text(field) is None or has_presence:
        return False
    return any(
        number == 1 and value
        for option in unknown_fields.UnknownFieldSet(field.GetOptions()) if option.field_number == 50001
        for number, _, value in fields(option.data)
    )


def is_map(field):
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def make(folder, count, seed):
    maker = Maker(seed)
    with open(folder / "sent", "wb") as out:
        for index, descriptor in enumerate(load(folder)):
            for turn in range(count):
                message = message_factory.GetMessageClass(descriptor)()
                maker.fill(message)
                data = message.SerializeToString() + (UNKNOWN if turn % 10 == 9 else b"")
                out.write(HEAD.pack(index, 1, len(data), 0) + data)


def normalise(message):
    """What is left of a message in Swift: no unknown fields, instants to the microsecond, ids in lower case, no empty ids and dates."""
    message.DiscardUnknownFields()
    if message.DESCRIPTOR.full_name == TIMESTAMP:
        message.nanos -= message.nanos % 1000
        return message
    for field, value in message.ListFields():
        if is_map(field):
            if field.message_type.fields_by_name["value"].message_type:
                for inner in value.values():
                    normalise(inner)
        elif field.message_type:
            for inner in value if field.is_repeated else [value]:
                normalise(inner)
        elif Rules.text(field) == "id" and field.is_repeated:
            value[:] = [text.lower() for text in value]
        elif Rules.text(field) == "id" and value:
            setattr(message, field.name, value.lower())
        elif Rules.text(field) and not value and not (field.containing_oneof and len(field.containing_oneof.fields) > 1):
            message.ClearField(field.name)
    return message


def merges(descriptor, data):
    """Whether a message that is not repeated occurs twice: libprotobuf-c merges some of that differently. No sender writes it."""
    seen = set()
    for number, kind, value in fields(data):
        field = descriptor.fields_by_number.get(number)
        if not field or not field.message_type or kind != 2:
            continue
        place = field.number if not field.containing_oneof else field.containing_oneof.name
        if not field.is_repeated and place in seen:
            return True
        seen.add(place)
        if merges(field.message_type, value):
            return True
    return False


def judge(folder):
    types = load(folder)
    verdicts, problems = Counter(), []
    data = (folder / "got").read_bytes()
    at = 0
    while at < len(data):
        index, accepted, n, m = HEAD.unpack_from(data, at)
        at += HEAD.size
        sent, got = data[at:at + n], data[at + n:at + n + m]
        at += n + m
        if not accepted:
            verdicts["refused"] += 1
            continue
        verdicts["accepted"] += 1
        cls = message_factory.GetMessageClass(types[index])
        try:
            expected = normalise(cls.FromString(sent)).SerializeToString(deterministic=True)
            ours = cls.FromString(got).SerializeToString(deterministic=True)
        except Exception as error:
            problems.append(f"{types[index].full_name}: {sent.hex()}: accepted, but {error}")
            continue
        if expected == ours:
            continue
        if merges(types[index], sent):
            verdicts["merged"] += 1
        else:
            problems.append(f"{types[index].full_name}: {sent.hex()} became {got.hex()}")
    print("\n".join(problems[:20]))
    print(", ".join(f"{count} {what}" for what, count in sorted(verdicts.items())), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if command == "make":
        sys.exit(make(folder, int(sys.argv[3]), int(sys.argv[4])))
    sys.exit(judge(folder))
