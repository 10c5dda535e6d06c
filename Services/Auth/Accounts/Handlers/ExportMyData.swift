internal import AuthAPI
internal import AuthCore
internal import BlobConfiguration
internal import Bus
internal import Kernel

/// AU-10: one document with one member a service, at once if it fits into a reply, else as a file that a job makes.
struct ExportMyData: QueryHandler {
    let accounts: AccountRepository
    let exports: DataExportRepository
    let sources: DataSources
    let links: BlobLinks
    let clock: any Clock
    /// The largest document that is a reply, in bytes.
    let limit: Int

    /// How long a link to a file works.
    private static let linkLifetime = Interval.hours(24)
    /// What a reply on the bus holds (`max_payload` of the broker), with room for its envelope.
    static let mostBytes = 8_000_000

    func handle(_: ExportMyDataRequest, _ context: CallContext) async throws -> ExportMyDataReply {
        let user = try context.requireUser()
        guard try await accounts.find(user) != nil else { throw ServiceError.sessionRevoked }
        let now = clock.now()
        if let export = try await exports.find(user), let reply = reply(for: export, now) { return reply }
        if let json = try await sources.document(of: user, at: now, limit: limit, context: context) {
            return ExportMyDataReply(json: json)
        }
        let export = try await exports.request(user, now: now)
        return reply(for: export, now) ?? Self.preparing(since: now)
    }

    /// The answer while there is an export; nil when its file is being deleted.
    private func reply(for export: DataExport, _ now: Instant) -> ExportMyDataReply? {
        switch export.state {
        case .preparing: Self.preparing(since: export.requestedAt)
        case .ready(let key): ExportMyDataReply(url: links.link(key, expires: now + Self.linkLifetime))
        case .beingDeleted: nil
        }
    }

    private static func preparing(since requestedAt: Instant) -> ExportMyDataReply {
        ExportMyDataReply(json: "{\"status\":\"preparing\",\"requested_at\":\"\(requestedAt)\"}", status: 202)
    }
}
