#define _GNU_SOURCE
#include "bounded_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
// Calls of the x32 interface, which have the same architecture.
#define FOREIGN_CALLS 0x40000000
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#define FOREIGN_CALLS 0x40000000
#else
#error "which system calls to refuse is known for x86-64 and arm64 only"
#endif

// After a fork of a process with threads only async-signal-safe functions may be called.

// Refuses a call with EPERM.
#define REFUSE(call) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static int refuse_calls(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FOREIGN_CALLS, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        // The network; a ring of requests could make sockets too.
        REFUSE(SYS_socket),
        REFUSE(SYS_socketpair),
        REFUSE(SYS_connect),
        REFUSE(SYS_bind),
        REFUSE(SYS_io_uring_setup),
        // Other processes, among them the parent, which runs as the same user.
        REFUSE(SYS_kill),
        REFUSE(SYS_ptrace),
        REFUSE(SYS_process_vm_readv),
        REFUSE(SYS_process_vm_writev),
        REFUSE(SYS_pidfd_open),
        REFUSE(SYS_prlimit64),
        // Parts of the kernel that a decoder has no use for.
        REFUSE(SYS_bpf),
        REFUSE(SYS_unshare),
        REFUSE(SYS_setns),
        REFUSE(SYS_mount),
        REFUSE(SYS_userfaultfd),
        REFUSE(SYS_perf_event_open),
        REFUSE(SYS_add_key),
        REFUSE(SYS_request_key),
        REFUSE(SYS_keyctl),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof rules / sizeof rules[0], .filter = rules};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int landlock_version(void) {
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static void allow(int rules, const char *path, unsigned long long access) {
    int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0) return;
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = place};
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(place);
}

// Of the first version of Landlock.
#define READING (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define CHANGING ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

// To the working folder. Returns 0 too where the kernel has no Landlock.
static int restrict_files(void) {
    if (landlock_version() < 1) return 0;
    struct landlock_ruleset_attr attributes = {.handled_access_fs = CHANGING};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0);
    if (rules < 0) return -1;
    const char *readable[] = {"/usr", "/lib", "/lib64", "/opt", "/etc/ld.so.cache", "/etc/alternatives", NULL};
    for (const char **path = readable; *path != NULL; path++) {
        struct stat status;
        int isFile = stat(*path, &status) == 0 && S_ISREG(status.st_mode);
        allow(rules, *path, isFile ? LANDLOCK_ACCESS_FS_READ_FILE : READING);
    }
    allow(rules, ".", CHANGING & ~(unsigned long long)LANDLOCK_ACCESS_FS_EXECUTE);
    int result = (int)syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
    return result;
}

static int set_limit(int resource, rlim_t value) {
    struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    return setrlimit(resource, &limit);
}

static int set_limits(const BoundedProcess *process) {
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        // When memory runs out this is what ends, not the service.
        ssize_t ignored = write(file, "1000", 4);
        (void)ignored;
        close(file);
    }
    setpriority(PRIO_PROCESS, 0, process->niceness);
    return set_limit(RLIMIT_CPU, (rlim_t)process->cpu_seconds) | set_limit(RLIMIT_AS, (rlim_t)process->memory_bytes)
        | set_limit(RLIMIT_FSIZE, (rlim_t)process->file_bytes) | set_limit(RLIMIT_CORE, 0) | set_limit(RLIMIT_NOFILE, 64);
}

static int replace(int descriptor, const char *path, int flags) {
    int file = open(path, flags, 0600);
    if (file < 0) return -1;
    if (file == descriptor) return 0;
    int result = dup2(file, descriptor);
    close(file);
    return result < 0 ? -1 : 0;
}

static _Noreturn void become(const BoundedProcess *process, pid_t parent) {
    setsid();
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    if (chdir(process->folder) != 0 || replace(0, "/dev/null", O_RDONLY) != 0
        || replace(1, "out.txt", O_WRONLY | O_CREAT | O_TRUNC) != 0 || replace(2, "err.txt", O_WRONLY | O_CREAT | O_TRUNC) != 0) {
        _exit(126);
    }
    close_range(3, ~0U, 0);
    if (set_limits(process) != 0) _exit(126);
    if (geteuid() == 0) {
        // In a container root may not; the filter below holds anyway.
        unshare(CLONE_NEWNET | CLONE_NEWIPC);
        for (int capability = 0; capability < 64; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || restrict_files() != 0 || refuse_calls() != 0) _exit(126);
    execve(process->program, process->arguments, process->environment);
    _exit(127);
}

static long long now_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int bounded_process_run(const BoundedProcess *process, int *status) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) become(process, parent);
    long long end = now_milliseconds() + process->milliseconds;
    struct timespec pause = {.tv_nsec = 2000000};
    int raw = 0, isLate = 0;
    for (;;) {
        pid_t ended = waitpid(child, &raw, WNOHANG);
        if (ended == child) break;
        if (ended < 0 && errno != EINTR) return errno;
        if (!isLate && now_milliseconds() >= end) {
            isLate = 1;
            // With what it may have started.
            kill(-child, SIGKILL);
            kill(child, SIGKILL);
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 20000000) pause.tv_nsec += 1000000;
    }
    *status = isLate ? bounded_process_late
        : WIFSIGNALED(raw) ? bounded_process_signal + WTERMSIG(raw)
        : WEXITSTATUS(raw);
    return 0;
}

int bounded_process_has_landlock(void) { return landlock_version() >= 1; }
