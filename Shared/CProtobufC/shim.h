#ifndef STREAKSNAP_CPROTOBUFC_SHIM_H
#define STREAKSNAP_CPROTOBUFC_SHIM_H

#include <protobuf-c/protobuf-c.h>

#endif
