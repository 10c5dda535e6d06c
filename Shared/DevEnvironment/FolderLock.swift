private import Glibc

/// Holds a data folder for this process; the operating system lets go of it when the process ends, however it ends.
final class FolderLock: Sendable {
    private let descriptor: Int32

    init(folder: String) throws(DevEnvironmentError) {
        let path = "\(folder)/.lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else {
            throw DevEnvironmentError(
                "The data folder \(folder) cannot be written: \(Files.reason(errno)).",
                wayOut: "Give it to the user who runs this, or choose another with --data."
            )
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let holder = (try? Files.read(path)) ?? ""
            close(descriptor)
            throw DevEnvironmentError(
                "The data folder \(folder) is in use\(holder.isEmpty ? "" : " by process \(holder)").",
                wayOut: "Stop that environment first, or choose another data folder and ports."
            )
        }
        let process = "\(getpid())"
        _ = ftruncate(descriptor, 0)
        _ = process.withCString { write(descriptor, $0, strlen($0)) }
        self.descriptor = descriptor
    }

    deinit {
        // Closing alone would not do: a child being made at this moment may hold a copy of the descriptor until it runs its program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
