#pragma once

// A child process that computes crypt(3) hashes, one at a time.
//
// Why a process and not a thread: schedulers that divide processors among groups of processes (sessions under autogroup, control
// groups) apply a thread's niceness only inside its group, so a niced thread still uses its service's whole share. This child has a
// session of its own, whose niceness it sets.
typedef struct {
    int pid;
    int socket;
} HashProcess;

enum { hash_process_text_size = 128 };

// Forks the child. It has no descriptor but its end of a socket, and exits when the parent's end is closed, also by the parent's
// death. Returns 0, or an errno.
int hash_process_start(HashProcess *process, int niceness);

// The hash of a password by a setting (salt and cost), both shorter than hash_process_text_size, into `hash`.
// Returns 0, EINVAL when crypt(3) refuses or a text is too long, or EPIPE when the child has exited.
int hash_process_compute(const HashProcess *process, const char *password, const char *setting, char hash[128]);

// The same, computed by the calling thread: EINVAL when crypt(3) refuses, ENOMEM.
int hash_compute(const char *password, const char *setting, char hash[128]);

// Ends the child after its present computation, and waits for the end.
void hash_process_stop(const HashProcess *process);
