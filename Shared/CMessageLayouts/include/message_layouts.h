#pragma once

#include <protobuf-c/protobuf-c.h>

// Descriptors for libprotobuf-c, made at program start from a serialized google.protobuf.FileDescriptorSet: no C is generated.
typedef struct message_layouts message_layouts;

// The proto3 messages of a set that holds its imports too; files of another syntax are left out. The bytes are not needed
// afterwards. NULL for malformed bytes, a field of a message that is not there, a group, or no memory.
// Nothing is changed afterwards, so all threads may read it.
message_layouts *message_layouts_build(const uint8_t *set, size_t length);
void message_layouts_free(message_layouts *layouts);

// A message by its full name ("streaksnap.streaks.v1.StreakItem"); NULL when there is none.
const ProtobufCMessageDescriptor *message_layouts_find(const message_layouts *layouts, const char *full_name);

// The same for a name that must be there. Ends the process otherwise, also for layouts that are NULL: a program whose set is not the
// one that its code was generated from would read wrong memory.
const ProtobufCMessageDescriptor *message_layouts_require(const message_layouts *layouts, const char *full_name);

// Bytes that it takes, all in one block.
size_t message_layouts_bytes(const message_layouts *layouts);
