#pragma once

#include <spawn.h>

// glibc 2.34; its header shows it only with _GNU_SOURCE, which Swift's Glibc module is built without.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
