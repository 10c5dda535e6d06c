// Countries and cities that posts are named by: see ../README.md.
#ifndef PLACE_NAMES_H
#define PLACE_NAMES_H

#include <stddef.h>

// The bytes of place-names.bin, in the program's read-only data: they are in memory as far as they are read.
const void *place_names_start(void);
size_t place_names_size(void);

#endif
