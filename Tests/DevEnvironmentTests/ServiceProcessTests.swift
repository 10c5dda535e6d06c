import Foundation
import Logging
import Processes
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
        try await until("another is named") { pid().map { $0 != first } ?? false }
        let second = try #require(pid())
        #expect(second != first && kill(second, 0) == 0)
        await processes.stop()
        #expect(kill(second, 0) != 0)
        #expect(!FileManager.default.fileExists(atPath: file.path), "nothing runs any more")
    }

    @Test func `a program accepts from the socket that is kept open while it restarts`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("processes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = folder.appendingPathComponent("program")
        // Answers one connection by what it was given, and ends.
        try """
        #!/usr/bin/env python3
        import os, socket, stat
        def is_socket(descriptor):
            try:
                return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
            except OSError:
                return False
        inherited = [descriptor for descriptor in range(3, 256) if is_socket(descriptor)]
        connection, _ = socket.socket(fileno=3).accept()
        is_ours = os.environ["LISTEN_PID"] == str(os.getpid())
        connection.sendall(f"{os.environ['LISTEN_FDS']} {is_ours} {inherited}".encode())
        """.write(to: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
        let processes = ServiceProcesses(
            logFolder: folder.path,
            pidFolder: folder.path,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let socket = try ListeningSocket()
        var executable = ServiceProcesses.Executable(name: "one", path: program.path, environment: ["PATH": "/usr/bin:/bin"])
        executable.listener = socket
        try await processes.start([executable])
        // The second and third connect while no process accepts.
        let client = "import socket, sys; print(socket.create_connection(('127.0.0.1', int(sys.argv[1])), 30).recv(100).decode())"
        for _ in 0..<3 {
            let result = try await run("python3", ["-c", client, "\(socket.port)"])
            #expect(result.text == "1 True [3]\n", "\(result.transcript)")
        }
        await processes.stop()
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
