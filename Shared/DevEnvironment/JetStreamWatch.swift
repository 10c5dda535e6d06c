private import Glibc
internal import Logging

/// Whether to restart a broker whose JetStream no longer answers: observations in, decision out, no I/O.
///
/// nats-server 2.9, Debian's, stops answering JetStream's API for good once its disk was full, also when there is space again, and writes
/// nothing about it into its log.
struct JetStreamSilence: Sendable {
    /// What one look at the broker found.
    enum Observation: Sendable {
        case answers
        /// The broker answers, its JetStream does not.
        case silent
        /// The broker itself does not answer: it is starting, or was ended, which its supervisor sees.
        case away
    }

    /// How long it must have been silent.
    let limit: Duration
    /// How long after a restart the next one is made at the earliest: with a disk that stays full each lasts only for a moment.
    let pause: Duration
    private var silentSince: ContinuousClock.Instant?
    private var notBefore: ContinuousClock.Instant?

    init(limit: Duration, pause: Duration) { (self.limit, self.pause) = (limit, pause) }

    /// - Returns: whether to restart the broker now.
    mutating func observed(_ observation: Observation, at now: ContinuousClock.Instant) -> Bool {
        guard observation == .silent else {
            silentSince = nil
            return false
        }
        let since = silentSince ?? now
        silentSince = since
        guard since.duration(to: now) >= limit, notBefore.map({ $0 <= now }) ?? true else { return false }
        silentSince = nil
        notBefore = now.advanced(by: pause)
        return true
    }
}

/// Looks after the private broker's JetStream: restarts the broker when it no longer answers.
struct JetStreamWatch: Sendable {
    let server: SupervisedServer
    let probe: JetStreamProbe
    let logger: Logger
    /// Between two looks.
    var interval = Duration.seconds(2)
    var silence = JetStreamSilence(limit: .seconds(6), pause: .seconds(30))

    /// Until the task is cancelled.
    func run() async {
        var silence = silence
        while (try? await Task.sleep(for: interval)) != nil {
            let observation = await Blocking.run { [probe] in probe.look() }
            guard silence.observed(observation, at: .now), !Task.isCancelled else { continue }
            logger.error(
                "JetStream does not answer although the broker does, as after a full disk; the broker is restarted",
                metadata: ["wayOut": "Make space on the disk of the data folder."]
            )
            await server.restart()
        }
    }
}

/// Asks a broker on 127.0.0.1 whether it and its JetStream answer, in NATS' text protocol over a connection of its own: one that has
/// published may be stuck in the broker, and the library would connect again for ever.
struct JetStreamProbe: Sendable {
    let port: UInt16
    let user: String
    let password: String
    /// How long each answer may take, in seconds.
    var timeout = 2

    /// Blocks for some seconds at most.
    func look() -> JetStreamSilence.Observation {
        guard let descriptor = Ports.connected(to: port, timeout: timeout) else { return .away }
        defer { close(descriptor) }
        let inbox = "_INBOX.\(user).watch"
        let login =
            "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1,\"user\":\"\(user)\",\"pass\":\"\(password)\"}"
        // The ping first: the broker handles the question in its place, and one that hangs there reads no further from this connection.
        let lines = [login, "PING", "SUB \(inbox) 1", "PUB $JS.API.INFO \(inbox) 0", "", ""].joined(separator: "\r\n")
        guard Self.send(lines, over: descriptor) else { return .away }
        var received: [UInt8] = []
        let deadline = ContinuousClock.now + .seconds(timeout)
        var part = [UInt8](repeating: 0, count: 4_096)
        while ContinuousClock.now < deadline {
            let count = recv(descriptor, &part, part.count, 0)
            guard count > 0 else { break }
            received += part[..<count]
            let text = String(decoding: received, as: UTF8.self)
            if text.contains("-ERR") { return .away }
            if text.contains("account_info_response\""), !text.contains("\"error\"") { return .answers }
        }
        return String(decoding: received, as: UTF8.self).contains("PONG") ? .silent : .away
    }

    private static func send(_ text: String, over descriptor: Int32) -> Bool {
        let bytes = Array(text.utf8)
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }
}
