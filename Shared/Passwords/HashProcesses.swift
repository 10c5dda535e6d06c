internal import CHashProcess
internal import Kernel
private import Glibc
private import Synchronization

/// Child processes that compute hashes, so that hashing gives way to requests of every service (see `hash_process.h`). Each caller
/// that blocks in `compute` has one to itself; they start when needed, are used again, and end with this object or its process.
final class HashProcesses: Sendable {
    /// Hashes of a lower cost take at most 4 ms: the calling thread computes them. A process costs as much, for the memory of this one
    /// is then copied page by page as it is written to.
    static let leastCost = 7

    private let niceness: Int32
    private let idle = Mutex<[HashProcess]>([])

    /// - Parameter niceness: 0…19, of the processes and of their sessions.
    init(niceness: Int) { self.niceness = Int32(min(max(0, niceness), 19)) }

    deinit {
        for process in idle.withLock({ $0 }) { stop(process) }
    }

    /// What crypt(3) makes of a password; blocks for as long as the cost says, that of `setting`.
    ///
    /// - Throws: `INTERNAL` when libxcrypt refuses; `UNAVAILABLE` when no process can be started.
    func compute(_ password: String, setting: [CChar], cost: Int) throws -> String {
        var hash = [CChar](repeating: 0, count: Int(hash_process_text_size))
        if cost < Self.leastCost {
            guard hash_compute(password, setting, &hash) == 0 else { throw ServiceError.internal }
            return Self.text(hash)
        }
        // A process that was killed while idle is found out by using it; a new one in its place answers.
        while let process = idle.withLock({ $0.popLast() }) {
            if try compute(password, setting, by: process, &hash) { return Self.text(hash) }
        }
        guard try compute(password, setting, by: try start(), &hash) else { throw ServiceError.unavailable() }
        return Self.text(hash)
    }

    /// Ids of the processes that wait for work.
    var idleProcessIDs: [Int32] { idle.withLock { $0.map(\.pid) } }

    /// False when the process is gone.
    private func compute(_ password: String, _ setting: [CChar], by process: HashProcess, _ hash: inout [CChar]) throws -> Bool {
        var process = process
        switch hash_process_compute(&process, password, setting, &hash) {
        case EPIPE:
            stop(process)
            return false
        case let failure:
            idle.withLock { $0.append(process) }
            guard failure == 0 else { throw ServiceError.internal }
            return true
        }
    }

    private func start() throws -> HashProcess {
        var process = HashProcess()
        guard hash_process_start(&process, niceness) == 0 else { throw ServiceError.unavailable() }
        return process
    }

    private func stop(_ process: HashProcess) {
        var process = process
        hash_process_stop(&process)
    }

    private static func text(_ hash: [CChar]) -> String {
        String(decoding: hash.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
