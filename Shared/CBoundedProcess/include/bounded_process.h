#pragma once

// Runs a program that reads hostile files, and waits for its end.
//
// The child has no network, whichever user runs it: a seccomp filter refuses sockets, and everything by which it could reach other processes. As
// root it is in an empty network namespace besides, and has no capability. Where the kernel has Landlock, it reads only the system's programs
// and libraries, and reads and writes only its folder. It ends with its parent.
typedef struct {
    // A path, not a name.
    const char *program;
    // Both end with NULL; the first argument is the program's name.
    char *const *arguments;
    char *const *environment;
    // Where it runs: its output goes to `out.txt`, its errors to `err.txt`, both replaced.
    const char *folder;
    // Of processor time; of time as the clock has it.
    long cpu_seconds, milliseconds;
    // Of memory, and of each file that it writes.
    long memory_bytes, file_bytes;
    int niceness;
} BoundedProcess;

enum {
    // Beyond exit codes (0 to 255): it was ended by this much plus the number of a signal.
    bounded_process_signal = 256,
    // Its time was over.
    bounded_process_late = 1024,
};

// Its exit code or one of the above into `status`. Returns 0, or the errno with which it could not be started.
int bounded_process_run(const BoundedProcess *process, int *status);

// Whether this kernel has Landlock.
int bounded_process_has_landlock(void);
