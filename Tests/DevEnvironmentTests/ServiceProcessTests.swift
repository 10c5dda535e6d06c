import Foundation
import Logging
import Testing

@testable import DevEnvironment

@Suite struct ServiceProcessTests {
    @Test func `the file names the process that runs now`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("processes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = folder.appendingPathComponent("program")
        try "#!/bin/sh\nexec sleep 600\n".write(to: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
        let processes = ServiceProcesses(
            logFolder: folder.path,
            pidFolder: folder.path,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await processes.start([.init(name: "one", path: program.path, environment: ["PATH": "/usr/bin:/bin"])])
        let file = folder.appendingPathComponent("one.pid")
        func pid() -> pid_t? {
            guard let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
            return pid_t(text.trimmingCharacters(in: .newlines))
        }
        let first = try #require(pid())
        #expect(kill(first, SIGKILL) == 0)
        let deadline = ContinuousClock.now.advanced(by: .seconds(30))
        while pid() == first, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(10)) }
        let second = try #require(pid())
        #expect(second != first && kill(second, 0) == 0)
        await processes.stop()
        #expect(kill(second, 0) != 0)
        #expect(!FileManager.default.fileExists(atPath: file.path), "nothing runs any more")
    }

    @Test func `a server that cannot start is tried less and less often`() {
        var pause = RestartPause()
        var pauses: [Duration] = []
        for _ in 0..<7 {
            pauses.append(pause.next())
            pause.ended(after: .milliseconds(100))
        }
        #expect(pauses == [200, 400, 800, 1_600, 3_200, 5_000, 5_000].map { .milliseconds($0) })
        pause.ended(after: .seconds(51))
        #expect(pause.next() == .milliseconds(200))
    }

    @Test func `a server that ran is back at once however often it is killed`() {
        var pause = RestartPause()
        for _ in 0..<100 {
            #expect(pause.next() == .milliseconds(200))
            pause.ended(after: .seconds(5))
        }
    }
}
