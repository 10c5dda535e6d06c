import CBoundedProcess
import Foundation
import Processes
import TestSupport
import Testing

/// What a process that reads hostile files cannot do, whichever user runs it.
struct ConfinementTests {
    /// Runs a program in a folder of its own. - Returns: its status, and what it wrote.
    private func confined(_ arguments: [String], milliseconds: Int = 60_000, in folder: URL) throws -> (
        status: Int32, text: String
    ) {
        var status: Int32 = -1
        let pointers = arguments.map { strdup($0) } + [nil]
        let environment = [strdup("PATH=/usr/bin:/bin"), nil]
        defer { for pointer in pointers + environment { free(pointer) } }
        let failure = folder.path.withCString { place in
            var process = BoundedProcess()
            process.program = UnsafePointer(pointers[0])
            process.folder = place
            (process.cpu_seconds, process.milliseconds) = (2, milliseconds)
            (process.memory_bytes, process.file_bytes, process.niceness) = (512 << 20, 1 << 20, 5)
            return pointers.withUnsafeBufferPointer { arguments in
                environment.withUnsafeBufferPointer { environment in
                    (process.arguments, process.environment) = (arguments.baseAddress, environment.baseAddress)
                    return bounded_process_run(&process, &status)
                }
            }
        }
        try #require(failure == 0)
        let text = try ["out.txt", "err.txt"].map { try String(contentsOf: folder.appending(path: $0), encoding: .utf8) }
        return (status, text.joined())
    }

    private func inFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "confined-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }

    private func python(_ code: String, in folder: URL) throws -> (status: Int32, text: String) {
        try confined(["/usr/bin/python3", "-c", code], in: folder)
    }

    @Test func `it has no socket of any kind, and reaches no other process`() throws {
        let socket = try ListeningSocket()
        try inFolder { folder in
            let code = """
                import socket, os
                for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
                    try: socket.socket(family); print("made", family)
                    except PermissionError: print("refused")
                try: os.kill(\(ProcessInfo.processInfo.processIdentifier), 0); print("made signal")
                except PermissionError: print("refused")
                """
            let result = try python(code, in: folder)
            #expect(result.status == 0 && result.text == String(repeating: "refused\n", count: 5), "\(result.text)")
            let shell = "exec 3<>/dev/tcp/127.0.0.1/\(socket.port)"
            #expect(try confined(["/usr/bin/bash", "-c", shell], in: folder).status == 1)
        }
    }

    @Test func `it reads only programs and libraries, and writes only its folder`() throws {
        try #require(bounded_process_has_landlock() == 1, "this kernel has no Landlock")
        try inFolder { other in
            let secret = other.appending(path: "secret")
            try Data("hidden".utf8).write(to: secret)
            try inFolder { folder in
                for path in [secret.path, "/etc/passwd", "/proc/self/environ", "/proc/\(getpid())/environ"] {
                    let result = try confined(["/usr/bin/cat", path], in: folder)
                    #expect(result.status == 1 && result.text.contains("Permission denied"), "\(path): \(result.text)")
                }
                #expect(try confined(["/usr/bin/touch", other.appending(path: "new").path], in: folder).status == 1)
                #expect(try confined(["/usr/bin/touch", "new"], in: folder).status == 0)
                #expect(try confined(["/usr/bin/ls", "/usr/bin"], in: folder).status == 0)
            }
        }
    }

    @Test func `memory, processor time, time and files are bounded`() throws {
        try inFolder { folder in
            let greedy = try python("bytearray(1 << 30)", in: folder)
            #expect(greedy.status == 1 && greedy.text.contains("MemoryError"), "\(greedy.text)")
            let busy = try python("while True: pass", in: folder)
            #expect(busy.status >= Int32(bounded_process_signal), "\(busy.status)")
            let writing = try python("f = open('f', 'wb')\nfor _ in range(9): f.write(bytes(1 << 19)); f.flush()", in: folder)
            #expect(writing.status != 0)
            let size = try FileManager.default.attributesOfItem(atPath: folder.appending(path: "f").path)[.size] as? Int
            #expect(size ?? 0 <= 1 << 20)
            #expect(try confined(["/usr/bin/sleep", "1000"], milliseconds: 50, in: folder).status == Int32(bounded_process_late))
            #expect(try confined(["/usr/bin/false"], in: folder).status == 1)
            #expect(try confined(["/nonexistent"], in: folder).status == 127)
        }
    }
}
