#include "place_names.h"

#pragma clang diagnostic ignored "-Wc23-extensions"
static const unsigned char data[] = {
#embed "place-names.bin"
};

const void *place_names_start(void) { return data; }

size_t place_names_size(void) { return sizeof data; }
