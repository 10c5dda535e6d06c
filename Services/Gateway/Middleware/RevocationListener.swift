internal import Bus
internal import FoundationEssentials
internal import Kernel
internal import Logging
internal import Transcoding

/// Hears `auth`'s SessionsRevoked as it is published: every gateway, not one of them, so it is a plain subscription (AU-3).
struct RevocationListener: Sendable {
    let catalog: ServiceCatalog
    let revocations: Revocations
    let logger: Logger

    func listen(_ bus: BusConnection) throws -> BusSubscription {
        try bus.subscribe("evt.auth.v1.SessionsRevoked") { message in
            do { try take(message.body) } catch {
                logger.error("a revocation was not understood", metadata: ["error": "\(error)"])
            }
        }
    }

    private func take(_ body: [UInt8]) throws {
        guard let set = catalog.routes.installed.first(where: { $0.service == "auth" })?.set,
            let transcoder = ReplyTranscoder(set, message: "streaksnap.auth.v1.SessionsRevoked", bare: true),
            case .json(let json) = try transcoder.transcode(body, requestID: "")
        else { throw ServiceError.internal }
        let event = try JSONDecoder().decode(Event.self, from: Data(json))
        guard let user = UserID(event.user_id), let at = event.revoked_at.flatMap({ Instant(rfc3339: $0) }) else {
            throw ServiceError.internal
        }
        revocations.add(user: user, sessions: event.session_ids.compactMap { SessionID($0) }, revokedAt: at)
    }

    private struct Event: Decodable {
        let user_id: String
        let session_ids: [String]
        let revoked_at: String?
    }
}
