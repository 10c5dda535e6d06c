internal import FoundationEssentials
internal import Gzip
internal import Kernel
internal import Logging
internal import NotificationsCore
internal import NotificationsDomain
internal import OutgoingHTTP

/// Speaks with Expo's push service as documented: JSON compressed by gzip, at most 100 pushes or 1,000 receipts a request.
struct ExpoClient: Sendable {
    static let mostPushes = 100
    static let mostReceipts = 1_000
    /// Of one request. Claims last several times as long.
    static let timeout = Interval.seconds(15)

    let http: OutgoingHTTP
    /// The address before `/send` and `/getReceipts`.
    let base: String
    /// Sent as `Authorization`; nil: the project does not ask for it.
    let token: String?
    /// Pushes a second that all replicas together hand over.
    let rate: Int
    let metrics: PushMetrics
    let logger: Logger

    /// Hands over pushes. - Returns: their tickets, in the same order and as many.
    func send(_ messages: [ExpoMessage]) async -> ExpoAnswer<[ExpoTicket]> {
        let answer: ExpoAnswer<[ExpoTicket]> = await ask("/send", messages)
        if case .answered(let tickets) = answer, tickets.count != messages.count {
            logger.error("the push service answered with another number of tickets", metadata: ["tickets": "\(tickets.count)"])
            return .silent
        }
        return answer
    }

    /// Asks for what has no effect where pushes are handed over: no pushes. So it is seen whether hand-overs are answered, and none is spent
    /// on that.
    ///
    /// - Returns: `answered` also for a refusal: it was read and answered.
    func probe() async -> ExpoAnswer<[ExpoTicket]> {
        let answer: ExpoAnswer<[ExpoTicket]> = await ask("/send", [ExpoMessage](), isProbe: true)
        if case .refused = answer { return .answered([]) }
        return answer
    }

    /// Asks what has become of pushes. - Returns: by ticket; those that it does not know yet, or any more, are absent.
    func receipts(_ tickets: [String]) async -> ExpoAnswer<[String: ExpoTicket]> {
        await ask("/getReceipts", ["ids": tickets])
    }

    private func ask<Content: Decodable & Sendable>(_ path: String, _ body: some Encodable, isProbe: Bool = false) async
        -> ExpoAnswer<Content>
    {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        guard let json = try? encoder.encode(body), let compressed = Gzip.compress(Array(json)) else { return .away(asked: nil) }
        var headers = [
            ("Accept", "application/json"), ("Content-Type", "application/json"), ("Content-Encoding", "gzip"),
        ]
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        let request = OutgoingHTTP.Request(
            "POST",
            base + path,
            headers: headers,
            body: compressed,
            timeout: Self.timeout,
            mostBytes: 4 << 20
        )
        do {
            return read(try await http.send(request), path, isProbe: isProbe)
        } catch OutgoingHTTP.Failure.timedOut {
            return failed("timeout", .silent)
        } catch OutgoingHTTP.Failure.unreachable(let cause) {
            return failed("cut", .silent, cause)
        } catch OutgoingHTTP.Failure.tooLarge {
            return failed("too_large", .silent)
        } catch {
            // Not a URL, no connection, or too many requests wait here: nothing has left.
            return failed("no_connection", .away(asked: nil), "\(error)")
        }
    }

    private func read<Content: Decodable & Sendable>(_ reply: OutgoingHTTP.Reply, _ path: String, isProbe: Bool)
        -> ExpoAnswer<Content>
    {
        metrics.requested("\(reply.status)")
        let errors = (try? JSONDecoder().decode(ExpoRefusal.self, from: Data(reply.body)))?.errors ?? []
        switch reply.status {
        case 200..<300 where errors.isEmpty:
            guard let body = try? JSONDecoder().decode(ExpoReply<Content>.self, from: Data(reply.body)) else {
                return failed("malformed", .silent)
            }
            return .answered(body.data)
        case 401, 403, 404, 429, 500...:
            let asked = reply.header("retry-after").flatMap { RetryDelay.asked($0, at: SystemClock.now()) }
            report("the push service takes nothing now", path, reply.status, errors)
            return .away(asked: asked)
        default:
            if !isProbe { report("the push service refused a request", path, reply.status, errors) }
            return .refused(status: reply.status, errors: errors)
        }
    }

    private func failed<Content: Sendable>(_ result: String, _ answer: ExpoAnswer<Content>, _ cause: String = "") -> ExpoAnswer<
        Content
    > {
        metrics.requested(result)
        logger.warning("the push service did not answer", metadata: ["result": "\(result)", "cause": "\(cause)"])
        return answer
    }

    /// Without the messages of errors: they name tokens.
    private func report(_ text: Logger.Message, _ path: String, _ status: Int, _ errors: [ExpoError]) {
        let codes = errors.compactMap(\.code).joined(separator: ",")
        logger.error(text, metadata: ["path": "\(path)", "status": "\(status)", "codes": "\(codes)"])
    }
}
