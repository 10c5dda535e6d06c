#pragma once

// A child process that computes crypt(3) hashes, one at a time.
//
// Why a process and not a thread: schedulers that share processors between groups of processes (sessions under autogroup, control
// groups) weigh a thread's niceness only inside its group, so that a niced thread still takes its service's whole share. This child has
// a session of its own, and its niceness is that of the session.
typedef struct {
    int pid;
    int socket;
} HashProcess;

enum { hash_process_text_size = 128 };

// Forks the child; it computes nothing and holds no descriptor of its parent but its end of a socket, and ends when the parent's end is
// closed, thus also when the parent dies. Answers 0, or an errno.
int hash_process_start(HashProcess *process, int niceness);

// The hash of a password by a setting (salt and cost), both shorter than hash_process_text_size, into `hash`.
// Answers 0, EINVAL when crypt(3) refuses or a text is too long, or EPIPE when the process is gone.
int hash_process_compute(const HashProcess *process, const char *password, const char *setting, char hash[128]);

// Ends the child, once it has finished what it computes, and waits for that.
void hash_process_stop(const HashProcess *process);
