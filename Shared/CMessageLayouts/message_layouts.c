// Two walks over the set: the first counts, so that everything fits into one block, the second fills it.
//
// A message is laid out in words of 8 bytes, fields in the order of their numbers:
//
//     ProtobufCMessage                            3 words
//     repeated field      n, pointer              2 words     quantifier_offset = offset - 8
//     oneof               case, value             2 words     quantifier_offset = offset - 8; 3 words when a member is bytes
//     bytes               len, data               2 words
//     anything else       value or pointer        1 word      quantifier_offset = 0
//
// A proto3 `optional` field is the only member of a oneof, as protoc writes it: the flag proto3_optional makes no difference.
// No field has a default value: for libprotobuf-c NULL is as good as "". A default would even be harmful, for
// message_init_generic(), which unpack calls when message_init is NULL, would write it into the unions.
#include "message_layouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct message_layouts {
    size_t bytes, n_messages, n_fields, n_ranges, n_name_bytes, table_mask;
    ProtobufCMessageDescriptor *messages;
    ProtobufCFieldDescriptor *fields;
    ProtobufCIntRange *ranges;
    ProtobufCMessageDescriptor **table; // by hash of the name, linear probing
    char *names;
};

// MARK: Reading protobuf bytes

typedef struct { const uint8_t *at, *end; int bad; } cursor;
typedef struct { uint32_t number; uint64_t value; cursor bytes; } wire_field;

static uint64_t varint(cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
        uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    c->bad = 1;
    return 0;
}

// Whether there was another field. Descriptors have varints and lengths only; fixed numbers of custom options are skipped.
static int next(cursor *c, wire_field *f) {
    if (c->bad || c->at == c->end) return 0;
    uint64_t tag = varint(c);
    f->number = (uint32_t)(tag >> 3);
    f->value = 0;
    f->bytes = (cursor){c->at, c->at, 0};
    size_t skip = 0;
    switch (tag & 7) {
    case 0: f->value = varint(c); break;
    case 1: skip = 8; break;
    case 2: skip = varint(c); break;
    case 5: skip = 4; break;
    default: c->bad = 1;
    }
    if (skip > (size_t)(c->end - c->at)) c->bad = 1;
    if (c->bad) return 0;
    f->bytes = (cursor){c->at, c->at + skip, 0};
    c->at += skip;
    return 1;
}

static size_t length(cursor c) { return (size_t)(c.end - c.at); }

// The last field of that number: how protobuf reads a field that is not repeated.
static wire_field get(cursor c, uint32_t number) {
    wire_field f, found = {0};
    while (next(&c, &f)) if (f.number == number) found = f;
    return found;
}

// Field numbers of descriptor.proto
enum {
    SET_FILE = 1,
    FILE_PACKAGE = 2, FILE_MESSAGE = 4, FILE_SYNTAX = 12,
    MESSAGE_NAME = 1, MESSAGE_FIELD = 2, MESSAGE_NESTED = 3, MESSAGE_OPTIONS = 7,
    FIELD_NAME = 1, FIELD_NUMBER = 3, FIELD_LABEL = 4, FIELD_TYPE = 5, FIELD_TYPE_NAME = 6, FIELD_OPTIONS = 8, FIELD_ONEOF = 9,
    OPTIONS_PACKED = 2, OPTIONS_MAP_ENTRY = 7,
};

// FieldDescriptorProto.Type to ProtobufCType; 10 is a group.
static const int8_t types[19] = {
    -1, PROTOBUF_C_TYPE_DOUBLE, PROTOBUF_C_TYPE_FLOAT, PROTOBUF_C_TYPE_INT64, PROTOBUF_C_TYPE_UINT64, PROTOBUF_C_TYPE_INT32,
    PROTOBUF_C_TYPE_FIXED64, PROTOBUF_C_TYPE_FIXED32, PROTOBUF_C_TYPE_BOOL, PROTOBUF_C_TYPE_STRING, -1, PROTOBUF_C_TYPE_MESSAGE,
    PROTOBUF_C_TYPE_BYTES, PROTOBUF_C_TYPE_UINT32, PROTOBUF_C_TYPE_ENUM, PROTOBUF_C_TYPE_SFIXED32, PROTOBUF_C_TYPE_SFIXED64,
    PROTOBUF_C_TYPE_SINT32, PROTOBUF_C_TYPE_SINT64,
};

static int is_proto3(cursor file) {
    cursor syntax = get(file, FILE_SYNTAX).bytes;
    return length(syntax) == 6 && memcmp(syntax.at, "proto3", 6) == 0;
}

// MARK: First walk

static int count(message_layouts *all, cursor message, size_t scope, unsigned depth) {
    size_t name = scope + length(get(message, MESSAGE_NAME).bytes);
    all->n_messages++;
    all->n_ranges++; // the last one, which ends the others
    all->n_name_bytes += name + 1;
    wire_field f;
    while (next(&message, &f)) {
        if (f.number == MESSAGE_NESTED && (depth > 30 || !count(all, f.bytes, name + 1, depth + 1))) return 0;
        if (f.number != MESSAGE_FIELD) continue;
        all->n_fields++;
        all->n_ranges++;
        all->n_name_bytes += length(get(f.bytes, FIELD_NAME).bytes) + 1;
    }
    return !message.bad;
}

// MARK: Second walk: fills the next free part of each array and counts again

static char *copy(message_layouts *all, const char *scope, cursor text) {
    char *start = all->names + all->n_name_bytes, *to = start;
    if (scope && *scope) {
        to = stpcpy(to, scope);
        *to++ = '.';
    }
    if (length(text)) memcpy(to, text.at, length(text));
    to[length(text)] = 0;
    all->n_name_bytes += (size_t)(to - start) + length(text) + 1;
    return start;
}

// Fills all but offsets. Until the end `reserved2` points to the name of the field's type in the set, which has `reserved_flags`
// bytes, and `reserved3` holds one more than the index of its oneof.
static int fill_field(message_layouts *all, cursor bytes, ProtobufCFieldDescriptor *field) {
    uint64_t type = 0, label = 0, packed = 1;
    wire_field f;
    field->name = copy(all, NULL, get(bytes, FIELD_NAME).bytes);
    while (next(&bytes, &f)) {
        switch (f.number) {
        case FIELD_NUMBER: field->id = (uint32_t)f.value; break;
        case FIELD_LABEL: label = f.value; break;
        case FIELD_TYPE: type = f.value; break;
        case FIELD_TYPE_NAME:
            field->reserved2 = (void *)f.bytes.at;
            field->reserved_flags = (unsigned)length(f.bytes);
            break;
        case FIELD_ONEOF: field->reserved3 = (void *)(uintptr_t)(f.value + 1); break;
        case FIELD_OPTIONS:
            for (wire_field o; next(&f.bytes, &o);) if (o.number == OPTIONS_PACKED) packed = o.value;
        }
    }
    if (bytes.bad || field->id == 0 || type >= sizeof types || types[type] < 0) return 0;
    field->type = (ProtobufCType)types[type];
    field->label = label == 3 ? PROTOBUF_C_LABEL_REPEATED : PROTOBUF_C_LABEL_NONE;
    int has_length = field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES
        || field->type == PROTOBUF_C_TYPE_MESSAGE;
    if (label == 3 && !has_length && packed) field->flags = PROTOBUF_C_FIELD_FLAG_PACKED;
    if (field->reserved3) field->flags = PROTOBUF_C_FIELD_FLAG_ONEOF;
    return 1;
}

static unsigned width(const ProtobufCFieldDescriptor *field) { return field->type == PROTOBUF_C_TYPE_BYTES ? 16 : 8; }

static void lay_out(ProtobufCMessageDescriptor *message, ProtobufCFieldDescriptor *fields) {
    unsigned end = sizeof(ProtobufCMessage), n = message->n_fields;
    for (unsigned i = 0; i < n; i++) {
        ProtobufCFieldDescriptor *field = fields + i;
        unsigned size = field->label == PROTOBUF_C_LABEL_REPEATED ? 8 : width(field);
        if (field->offset) continue; // a member of the oneof of an earlier field
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            for (unsigned j = i; j < n; j++) {
                if (fields[j].reserved3 != field->reserved3) continue;
                fields[j].quantifier_offset = end;
                fields[j].offset = end + 8; // all members at one place: unpack clears the old member at the new one's
                if (width(fields + j) > size) size = width(fields + j);
            }
            end += 8;
        } else {
            if (field->label == PROTOBUF_C_LABEL_REPEATED) {
                field->quantifier_offset = end;
                end += 8;
            }
            field->offset = end;
        }
        end += size;
    }
    message->sizeof_message = end;
}

// Until the end `reserved1` is set for the entry of a map.
static int fill(message_layouts *all, cursor bytes, const char *scope) {
    ProtobufCMessageDescriptor *message = all->messages + all->n_messages++;
    ProtobufCFieldDescriptor *fields = all->fields + all->n_fields;
    ProtobufCIntRange *ranges = all->ranges + all->n_ranges;
    message->magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC;
    message->name = copy(all, scope, get(bytes, MESSAGE_NAME).bytes);
    if (get(get(bytes, MESSAGE_OPTIONS).bytes, OPTIONS_MAP_ENTRY).value) message->reserved1 = message;
    wire_field f;
    for (cursor c = bytes; next(&c, &f);) {
        if (f.number != MESSAGE_FIELD) continue;
        ProtobufCFieldDescriptor field = {0};
        if (!fill_field(all, f.bytes, &field)) return 0;
        unsigned at = message->n_fields++;
        for (; at > 0 && fields[at - 1].id > field.id; at--) fields[at] = fields[at - 1];
        fields[at] = field;
    }
    // The library looks at fields[0] even when there is none, unless the pointer is NULL.
    if (message->n_fields) message->fields = fields;
    all->n_fields += message->n_fields;
    lay_out(message, fields);
    for (unsigned i = 0; i < message->n_fields; i++)
        if (i == 0 || fields[i].id != fields[i - 1].id + 1)
            ranges[message->n_field_ranges++] = (ProtobufCIntRange){(int)fields[i].id, i};
    ranges[message->n_field_ranges] = (ProtobufCIntRange){0, message->n_fields};
    message->field_ranges = ranges;
    all->n_ranges += message->n_field_ranges + 1;
    while (next(&bytes, &f)) if (f.number == MESSAGE_NESTED && !fill(all, f.bytes, message->name)) return 0;
    return 1;
}

// MARK: Names

static ProtobufCMessageDescriptor **slot(const message_layouts *all, const char *name, size_t count) {
    uint32_t hash = 2166136261u; // FNV-1a
    for (size_t i = 0; i < count; i++) hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    for (size_t at = hash & all->table_mask;; at = (at + 1) & all->table_mask) {
        const char *other = all->table[at] ? all->table[at]->name : NULL;
        if (!other || (strncmp(other, name, count) == 0 && other[count] == 0)) return all->table + at;
    }
}

static int link_types(message_layouts *all) {
    for (size_t i = 0; i < all->n_messages; i++) {
        const char *name = all->messages[i].name;
        *slot(all, name, strlen(name)) = all->messages + i;
    }
    for (size_t i = 0; i < all->n_fields; i++) {
        ProtobufCFieldDescriptor *field = all->fields + i;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) { // ".package.Message"; of enums the library reads nothing
            if (field->reserved_flags == 0) return 0;
            ProtobufCMessageDescriptor *type = *slot(all, (const char *)field->reserved2 + 1, field->reserved_flags - 1);
            if (!type) return 0;
            field->descriptor = type;
            // An error in a key or value names the map.
            if (type->reserved1)
                for (unsigned j = 0; j < type->n_fields; j++) ((ProtobufCFieldDescriptor *)type->fields)[j].name = field->name;
        }
        field->reserved_flags = 0;
        field->reserved2 = field->reserved3 = NULL;
    }
    for (size_t i = 0; i < all->n_messages; i++) all->messages[i].reserved1 = NULL;
    return 1;
}

// MARK: Interface

message_layouts *message_layouts_build(const uint8_t *set, size_t size) {
    message_layouts all = {0};
    cursor files = {set, set + size, 0}, members;
    wire_field file, f;
    while (next(&files, &file)) {
        if (file.number != SET_FILE || !is_proto3(file.bytes)) continue;
        cursor package = get(file.bytes, FILE_PACKAGE).bytes;
        all.n_name_bytes += length(package) + 1;
        for (members = file.bytes; next(&members, &f);)
            if (f.number == FILE_MESSAGE && !count(&all, f.bytes, length(package) + 1, 0)) return NULL;
        if (members.bad) return NULL;
    }
    if (files.bad) return NULL;
    size_t table = 2;
    while (table < 2 * all.n_messages) table *= 2;
    all.bytes = sizeof all + all.n_messages * sizeof *all.messages + all.n_fields * sizeof *all.fields
        + all.n_ranges * sizeof *all.ranges + table * sizeof *all.table + all.n_name_bytes;
    message_layouts *made = calloc(1, all.bytes);
    if (!made) return NULL;
    made->bytes = all.bytes;
    made->table_mask = table - 1;
    made->messages = (void *)(made + 1);
    made->fields = (void *)(made->messages + all.n_messages);
    made->ranges = (void *)(made->fields + all.n_fields);
    made->table = (void *)(made->ranges + all.n_ranges);
    made->names = (void *)(made->table + table);
    int good = 1;
    files.at = set;
    while (good && next(&files, &file)) {
        if (file.number != SET_FILE || !is_proto3(file.bytes)) continue;
        const char *package = copy(made, NULL, get(file.bytes, FILE_PACKAGE).bytes);
        for (members = file.bytes; good && next(&members, &f);)
            if (f.number == FILE_MESSAGE) good = fill(made, f.bytes, package);
    }
    if (good && link_types(made)) return made;
    free(made);
    return NULL;
}

void message_layouts_free(message_layouts *layouts) { free(layouts); }

const ProtobufCMessageDescriptor *message_layouts_find(const message_layouts *layouts, const char *full_name) {
    return *slot(layouts, full_name, strlen(full_name));
}

const ProtobufCMessageDescriptor *message_layouts_require(const message_layouts *layouts, const char *full_name) {
    const ProtobufCMessageDescriptor *found = layouts ? message_layouts_find(layouts, full_name) : NULL;
    if (found) return found;
    fprintf(stderr, "the descriptor set of this program does not hold the message %s\n", full_name);
    abort();
}

size_t message_layouts_bytes(const message_layouts *layouts) { return layouts->bytes; }
