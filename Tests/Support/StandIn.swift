import Foundation
import Processes
import Synchronization

/// A stand-in for a service of others: a Python script in a process of its own, with a folder of its own. It ends with this process or when this
/// is released.
final class StandIn: Sendable {
    let folder: URL
    private let name: String
    private let child = Mutex<ChildProcess?>(nil)

    /// Makes the folder; nothing runs yet.
    init(_ name: String) async throws {
        self.name = name
        folder = try await makeServerFolder(name)
    }

    deinit {
        let child = child.withLock { $0 }
        child?.signal(SIGKILL)
        Task { [folder] in
            _ = await child?.waitForExit()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// A file of its folder.
    func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    /// Runs a script, also again after it was killed, and waits until it listens.
    ///
    /// - Parameters:
    ///   - ready: the file of the folder that the script writes then, at once and whole.
    ///   - script: in `Tests/Support`.
    /// - Returns: what is in the file.
    func start(_ script: String, _ arguments: [String], by interpreter: String = "/usr/bin/python3", ready: String) async throws
        -> Data
    {
        let (ready, log) = (file(ready), file("log"))
        try? FileManager.default.removeItem(at: ready)
        let started = try await ChildProcess.spawn(
            Command(
                executable: interpreter,
                arguments: [PythonPackages.file(script)] + arguments,
                environment: Command.inherited(),
                output: log.path
            )
        )
        child.withLock { $0 = started }
        let end = ContinuousClock.now.advanced(by: .seconds(120))
        while ContinuousClock.now < end, !started.hasExited {
            if let data = try? Data(contentsOf: ready) { return data }
            try await Task.sleep(for: .milliseconds(20))
        }
        let output = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        throw PythonPackages.Failure(description: "\(name) did not start: \(output)")
    }

    /// Kills it, and waits until it is gone.
    func kill() async {
        let child = child.withLock { $0 }
        child?.signal(SIGKILL)
        _ = await child?.waitForExit()
    }
}
