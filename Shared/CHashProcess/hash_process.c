#define _GNU_SOURCE
#include "hash_process.h"

#include <crypt.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    char password[hash_process_text_size];
    char setting[hash_process_text_size];
} Request;

static struct crypt_data scratch;

// After a fork of a process with threads only async-signal-safe functions may be called; crypt_rn computes in `scratch` only.
static void become_session(int niceness) {
    setsid();
    setpriority(PRIO_PROCESS, 0, niceness);
    int file = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        char text[2] = {(char)('0' + niceness / 10), (char)('0' + niceness % 10)};
        // Kernels without autogroup have no such file, and those with it may refuse: the thread's own niceness stays.
        ssize_t ignored = write(file, text, sizeof text);
        (void)ignored;
        close(file);
    }
    prctl(PR_SET_NAME, "passwords");
    // Reset the parent's signal handlers; signals that it ignores must still end this child.
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void serve(int socket) {
    for (;;) {
        Request request;
        ssize_t size = recv(socket, &request, sizeof request, 0);
        if (size < 0 && errno == EINTR) continue;
        if (size != sizeof request) return;
        char reply[hash_process_text_size] = {0};
        const char *hash = crypt_rn(request.password, request.setting, &scratch, sizeof scratch);
        if (hash != NULL) strncpy(reply, hash, sizeof reply - 1);
        explicit_bzero(&request, sizeof request);
        explicit_bzero(&scratch, sizeof scratch);
        if (send(socket, reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply) return;
    }
}

int hash_process_start(HashProcess *process, int niceness) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    int child = fork();
    if (child < 0) {
        int failure = errno;
        close(ends[0]);
        close(ends[1]);
        return failure;
    }
    if (child == 0) {
        // Close all other descriptors: a listening socket held here would outlive the parent.
        if (dup2(ends[1], 0) < 0) _exit(1);
        close_range(1, ~0U, 0);
        become_session(niceness);
        serve(0);
        _exit(0);
    }
    close(ends[1]);
    process->pid = child;
    process->socket = ends[0];
    return 0;
}

int hash_process_compute(const HashProcess *process, const char *password, const char *setting, char hash[128]) {
    Request request = {0};
    if (strlen(password) >= sizeof request.password || strlen(setting) >= sizeof request.setting) return EINVAL;
    strcpy(request.password, password);
    strcpy(request.setting, setting);
    ssize_t size = send(process->socket, &request, sizeof request, MSG_NOSIGNAL);
    explicit_bzero(&request, sizeof request);
    if (size != sizeof request) return EPIPE;
    do size = recv(process->socket, hash, hash_process_text_size, 0);
    while (size < 0 && errno == EINTR);
    if (size != hash_process_text_size) return EPIPE;
    return hash[0] == 0 ? EINVAL : 0;
}

int hash_compute(const char *password, const char *setting, char hash[128]) {
    struct crypt_data *data = calloc(1, sizeof *data);
    if (data == NULL) return ENOMEM;
    const char *computed = crypt_rn(password, setting, data, sizeof *data);
    if (computed != NULL) strncpy(hash, computed, hash_process_text_size - 1);
    explicit_bzero(data, sizeof *data);
    free(data);
    return computed == NULL ? EINVAL : 0;
}

void hash_process_stop(const HashProcess *process) {
    close(process->socket);
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR) {}
}
