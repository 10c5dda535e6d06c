internal import BlobConfiguration
internal import Bus
internal import Kernel

/// Gives out everything that the services hold about a user (AU-10): one document with one member a service, at once if it fits into a reply,
/// else as a file that a job makes.
struct ExportDesk: Sendable {
    enum Answer: Sendable {
        case document(String)
        /// Where the file can be downloaded.
        case file(url: String)
        /// Since when it is being made, and whether it is because of this question.
        case preparing(since: Instant, isNew: Bool)
    }

    /// How long a link to a file works.
    private static let linkLifetime = Interval.hours(24)
    /// What a reply on the bus holds (`max_payload` of the broker), with room for its envelope.
    static let mostBytes = 8_000_000

    let exports: DataExportRepository
    let sources: DataSources
    let links: BlobLinks
    let clock: any Clock
    /// The largest document that is a reply, in bytes.
    let limit: Int

    /// - Throws: `EXPORT_INCOMPLETE` naming the services that do not answer.
    func answer(for user: UserID, _ context: CallContext) async throws -> Answer {
        let now = clock.now()
        if let export = try await exports.find(user), let answer = answer(for: export, isNew: false, now) { return answer }
        if let document = try await sources.document(of: user, at: now, limit: limit, context: context) {
            return .document(document)
        }
        let export = try await exports.request(user, now: now)
        return answer(for: export, isNew: true, now) ?? .preparing(since: now, isNew: true)
    }

    /// The answer while there is an export; nil when its file is being deleted.
    private func answer(for export: DataExport, isNew: Bool, _ now: Instant) -> Answer? {
        switch export.state {
        case .preparing: .preparing(since: export.requestedAt, isNew: isNew)
        case .ready(let key): .file(url: links.link(key, expires: now + Self.linkLifetime))
        case .beingDeleted: nil
        }
    }
}
