internal import Bus
internal import Kernel
internal import Logging
internal import Synchronization
internal import Tokens

/// Reports ended sessions to every gateway by the stream `REVOKED` (AU-3).
///
/// The table is the truth. A handler that has ended sessions waits until the stream has them; the job repeats what could not be stored, and
/// fills the stream again when it has lost some.
final class RevocationPublisher: Sendable {
    /// How long a handler waits for the broker.
    static let timeout = Interval.seconds(2)
    private static let pause = Interval.milliseconds(100)

    private let repository: RevocationRepository
    private let jetStream: JetStream
    private let logger: Logger
    private let loss = Mutex(RevocationLoss())

    init(repository: RevocationRepository, jetStream: JetStream, logger: Logger) {
        self.repository = repository
        self.jetStream = jetStream
        self.logger = logger
    }

    /// Stores what ended of an account in the stream. Call it after the commit, also when a repeat gets a stored reply.
    ///
    /// - Throws: `UNAVAILABLE` when the stream has not confirmed within 2 s. The sessions have ended all the same, and the job repeats it.
    func publish(of account: UserID) async throws {
        let deadline = SystemClock.now() + Self.timeout
        while true {
            let page = try await repository.unpublished(of: account)
            guard !page.isEmpty else { return }
            try await publish(page, until: deadline)
        }
    }

    /// Stores up to `RevocationRepository.pageSize` ended sessions of any account that the stream does not have yet.
    ///
    /// - Returns: how many there were.
    /// - Throws: `UNAVAILABLE` as `publish(of:)`.
    @discardableResult
    func publishDue() async throws -> Int {
        let page = try await repository.unpublished()
        if !page.isEmpty { try await publish(page, until: SystemClock.now() + Self.timeout) }
        return page.count
    }

    /// Fills the stream when it is new to this replica or has lost something, and stores what is due.
    ///
    /// - Parameter now: by the product clock.
    /// - Returns: how many were due.
    func maintain(now: Instant) async throws -> Int {
        let info = try await jetStream.streamInfo(RevocationStream.name)
        let mustFill = loss.withLock { loss in
            loss.observed(info, at: SystemClock.now())
            return loss.mustFill
        }
        if mustFill {
            let count = try await fill(since: now - RevocationStream.lifetime)
            loss.withLock { $0.filled() }
            if count > 0 { logger.info("the stream of revocations was filled", metadata: ["revocations": "\(count)"]) }
        }
        return try await publishDue()
    }

    /// Stores everything that ended after an instant.
    private func fill(since: Instant) async throws -> Int {
        var (since, last, count) = (since, SessionID?.none, 0)
        while true {
            let page = try await repository.page(since: since, after: last)
            if !page.isEmpty { try await publish(page, until: SystemClock.now() + Self.timeout) }
            count += page.count
            guard page.count == RevocationRepository.pageSize, let end = page.last else { return count }
            (since, last) = (end.revokedAt, end.session)
        }
    }

    private func publish(_ revocations: [Revocation], until deadline: Instant) async throws {
        var rest = revocations
        while true {
            let results = await jetStream.publish(rest.map(RevocationStream.message), deadline: deadline)
            var confirmed: [SessionID] = []
            var failed: [Revocation] = []
            for (revocation, result) in zip(rest, results) {
                if case .success(let ack) = result, ack.stream == RevocationStream.name {
                    confirmed.append(revocation.session)
                    loss.withLock { $0.stored(ack.sequence, at: SystemClock.now()) }
                } else {
                    failed.append(revocation)
                }
            }
            if !confirmed.isEmpty { try await repository.markPublished(confirmed) }
            guard !failed.isEmpty else { return }
            guard SystemClock.now() + Self.pause < deadline else {
                logger.warning("ended sessions could not be reported yet", metadata: ["sessions": "\(failed.count)"])
                throw ServiceError.unavailable("The session has ended, but it takes a moment until every gateway refuses it.")
            }
            try await Task.sleep(for: .microseconds(Self.pause.microseconds))
            rest = failed
        }
    }
}
