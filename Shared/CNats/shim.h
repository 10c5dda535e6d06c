#include <nats/nats.h>

/* Exported by the library, but not in its header. */
extern void natsMsg_free(void *message) __attribute__((weak));

/* Frees a message on this thread. natsMsg_Destroy leaves one that has headers to a thread of the library: it wakes that thread for nearly
 * every message, and the two then contend for the allocator. */
static inline void natsMsg_DestroyHere(natsMsg *message) {
    if (natsMsg_free)
        natsMsg_free(message);
    else
        natsMsg_Destroy(message);
}
