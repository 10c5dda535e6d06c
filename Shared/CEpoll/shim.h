#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

// prctl has variable arguments, which Swift cannot call.
static inline void name_current_thread(const char *name) { prctl(PR_SET_NAME, name); }
