internal import Bus
internal import FoundationEssentials
internal import Kernel
internal import Logging
internal import Transcoding

/// Learns from `auth` which sessions ended (AU-3): at once by its event, and by asking every second, so that nothing is missed by a gateway
/// that restarts, or while the broker was away.
struct RevocationFeed: Sendable {
    /// Transactions may become visible a little after the instant they bear.
    private static let overlap = Interval.seconds(10)

    let bus: BusConnection
    let catalog: ServiceCatalog
    let revocations: Revocations
    let clock: any Clock
    let logger: Logger

    /// Receives events. A plain subscription, since every gateway needs them all.
    func listen() throws -> BusSubscription {
        try bus.subscribe("evt.auth.v1.SessionsRevoked") { message in
            do {
                let event: SessionsRevoked = try decode("SessionsRevoked", message.body)
                try take(event.session_ids, event.revoked_at)
            } catch { logger.error("a revocation was not understood", metadata: ["error": "\(error)"]) }
        }
    }

    /// Asks until cancelled.
    func run() async {
        var since = clock.now() - Revocations.horizon
        while !Task.isCancelled {
            do {
                since = max(since, try await ask(since: since) - Self.overlap)
                revocations.complete()
                try? await Task.sleep(for: .seconds(1))
            } catch {
                if revocations.isComplete { logger.warning("revocations were not asked for", metadata: ["error": "\(error)"]) }
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// Takes all that was revoked after an instant. - Returns: the newest instant seen.
    private func ask(since: Instant) async throws -> Instant {
        guard let set = authSet, let request = RequestTranscoder(set, message: Self.package + "ListRevocationsRequest") else {
            throw ServiceError.unavailable()
        }
        var (newest, last) = (since, "")
        while true {
            let after = last.isEmpty ? "" : ",\"after\":\"\(last)\""
            let reply = try await bus.callRaw(
                subject: "rpc.auth.v1.ListRevocations",
                body: request.transcode(body: Array("{\"since\":\"\(newest)\"\(after)}".utf8)),
                context: CallContext(deadline: SystemClock.now() + .seconds(5)),
                idempotent: true
            )
            let page: Page = try decode("ListRevocationsReply", reply)
            for entry in page.revocations {
                newest = max(newest, try take([entry.session_id], entry.revoked_at))
                last = entry.session_id
            }
            if page.revocations.count < 1_000 { return newest }
        }
    }

    @discardableResult
    private func take(_ sessions: [String], _ revokedAt: String?) throws -> Instant {
        guard let at = revokedAt.flatMap({ Instant(rfc3339: $0) }) else { throw ServiceError.internal }
        revocations.add(sessions.compactMap { SessionID($0) }, revokedAt: at)
        return at
    }

    private static let package = "streaksnap.auth.v1."

    /// The gateway knows no service's messages (D2): it reads them by the descriptor that `auth` brings.
    private var authSet: DescriptorSet? { catalog.routes.installed.first { $0.service == "auth" }?.set }

    private func decode<Value: Decodable>(_ message: String, _ bytes: [UInt8]) throws -> Value {
        guard let set = authSet, let transcoder = ReplyTranscoder(set, message: Self.package + message, bare: true),
            case .json(let json) = try transcoder.transcode(bytes, requestID: "")
        else { throw ServiceError.internal }
        return try JSONDecoder().decode(Value.self, from: Data(json))
    }

    private struct SessionsRevoked: Decodable {
        let session_ids: [String]
        let revoked_at: String?
    }

    private struct Page: Decodable {
        struct Entry: Decodable {
            let session_id: String
            let revoked_at: String?
        }
        let revocations: [Entry]
    }
}
