#if os(Linux) || os(macOS)
    import Foundation

    /// A running `streaksnap test-environment`. It ends when its standard input does: with this process, however that ends.
    final class EnvironmentProcess: @unchecked Sendable {
        /// Where the control API is.
        let address: URL
        /// What it asks for.
        let token: String
        // The open end of the pipe is what keeps the program running.
        private let process: Process
        private let input: Pipe

        private init(_ ready: ReadyLine, _ process: Process, _ input: Pipe) {
            (address, token, self.process, self.input) = (ready.address, ready.token, process, input)
        }

        /// Ends it.
        func end() { try? input.fileHandleForWriting.close() }

        /// Starts the program and waits until it is ready.
        ///
        /// - Parameters:
        ///   - program: `streaksnap`.
        ///   - arguments: after `test-environment`.
        ///   - limit: how long the start may take.
        /// - Throws: ``TestKitError`` `NOT_STARTED` with what the program says on standard error.
        static func start(_ program: URL, _ arguments: [String], within limit: Duration) async throws -> EnvironmentProcess {
            let process = Process()
            let (input, output, errors) = (Pipe(), Pipe(), Pipe())
            process.executableURL = program
            process.arguments = ["test-environment"] + arguments
            (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
            // Another program that the tests start must not hold the pipe open.
            for handle in [input.fileHandleForWriting, output.fileHandleForReading, errors.fileHandleForReading] {
                _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
            do { try await run(process) } catch {
                throw TestKitError("NOT_STARTED", "\(program.path) cannot be started: \(error)")
            }
            let complaints = Complaints(errors.fileHandleForReading)
            let watchdog = Task {
                try await Task.sleep(for: limit)
                kill(process.processIdentifier, SIGKILL)
            }
            defer { watchdog.cancel() }
            let line = await firstLine(of: output.fileHandleForReading)
            guard let ready = ReadyLine(line) else {
                if process.isRunning { kill(process.processIdentifier, SIGKILL) }
                let reason = await complaints.text()
                throw TestKitError("NOT_STARTED", "\(program.path) test-environment did not become ready. \(reason)")
            }
            return EnvironmentProcess(ready, process, input)
        }

        /// On a thread of its own: those that run tasks block signals, which a child would inherit and then not notice SIGTERM.
        private static func run(_ process: Process) async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let box = Unchecked(process)
                Thread.detachNewThread {
                    var none = sigset_t()
                    sigemptyset(&none)
                    pthread_sigmask(SIG_SETMASK, &none, nil)
                    continuation.resume(with: Result { try box.value.run() })
                }
            }
        }

        /// A process that one thread at a time uses.
        private struct Unchecked: @unchecked Sendable {
            let value: Process
            init(_ value: Process) { self.value = value }
        }

        /// Read on a thread of its own: reading blocks.
        private static func firstLine(of handle: FileHandle) async -> Data {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    var line = Data()
                    while true {
                        let piece = handle.availableData
                        line.append(piece)
                        if piece.isEmpty || piece.contains(UInt8(ascii: "\n")) { break }
                    }
                    continuation.resume(returning: line)
                }
            }
        }

        /// `{"control": "http://127.0.0.1:41234", "token": "3f9c…"}`
        private struct ReadyLine: Decodable {
            let control: String
            let token: String
            let address: URL

            enum CodingKeys: CodingKey { case control, token }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                control = try container.decode(String.self, forKey: .control)
                token = try container.decode(String.self, forKey: .token)
                guard let url = URL(string: control) else { throw TestKitError("NOT_STARTED", "\(control) is no address") }
                address = url
            }

            init?(_ line: Data) {
                guard let ready = try? JSONDecoder().decode(ReadyLine.self, from: line) else { return nil }
                self = ready
            }
        }
    }

    /// The end of what a program writes to standard error. All of it is read, so that the program never waits for a full pipe.
    private final class Complaints: @unchecked Sendable {
        private static let most = 8_192
        private let lock = NSLock()
        private var end = Data()
        private var isOver = false

        init(_ handle: FileHandle) {
            Thread.detachNewThread { [self] in
                while true {
                    let piece = handle.availableData
                    lock.withLock {
                        end = Data((end + piece).suffix(Self.most))
                        isOver = piece.isEmpty
                    }
                    if piece.isEmpty { break }
                }
            }
        }

        /// What was written, once the program has ended, or after two seconds.
        func text() async -> String {
            for _ in 0..<200 where !lock.withLock({ isOver }) { try? await Task.sleep(for: .milliseconds(10)) }
            return String(decoding: lock.withLock { end }, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }
#endif
