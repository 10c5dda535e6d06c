internal import BlobStore
internal import Bus
internal import Cryptography
internal import Images
internal import Kernel
internal import Logging
internal import MediaDomain
internal import Replicas

/// Makes each card once, however many ask for it at once and whichever process dies (MC-1, D6): claimed → painted → stored → made.
///
/// The row comes first and each step may be repeated, so the next request takes over a card that is not finished; a job removes those that
/// no request asks for again.
struct MilestoneCards: Sendable {
    /// How long the maker of a card has before others take it for dead.
    static let lease = Interval.seconds(15)
    /// How often a request that waits checks whether the first has made it.
    private static let pollInterval = Duration.milliseconds(20)
    /// Least time of a request that waiting makes sense in.
    private static let leastTime = Interval.milliseconds(200)

    let repository: CardRepository
    let painter: PosterPainter
    let avatars: CardAvatars
    let blobs: any BlobStore
    let clock: any Clock
    let logger: Logger
    private let previews = SingleFlight<BlobKey, BlobKey>()

    /// The card, made now or before.
    ///
    /// - Parameters:
    ///   - wanted: what it is about; its id counts only when it is new.
    ///   - profiles: of those whom it shows.
    /// - Throws: `UNAVAILABLE` when too many are being made or another maker does not end in time; `NOT_FOUND` when one of them is gone
    ///   meanwhile.
    func made(_ wanted: StoredCard, _ profiles: [Profile], context: CallContext) async throws -> StoredCard {
        while context.remaining > Self.leastTime {
            let now = SystemClock.now()
            if try await repository.claim(wanted, until: now + Self.lease, now: clock.now()) {
                return try await make(wanted, profiles)
            }
            if let known = try await repository.find(like: wanted) {
                switch known.standing {
                case .made: return known
                case .beingMade(let lease) where lease <= now:
                    if try await repository.takeOver(known.id, seen: lease, until: now + Self.lease) {
                        return try await make(known, profiles)
                    }
                case .beingMade, .toBeRemoved: break
                }
            }
            try await Task.sleep(for: Self.pollInterval)
        }
        throw ServiceError.unavailable("The card is still being made.")
    }

    /// The key of the card's preview, painted when a link is shared for the first time: once in this replica, since the apps that show a link
    /// ask for its picture at once.
    ///
    /// - Throws: `NOT_FOUND` when the card is gone meanwhile; `UNAVAILABLE` when too many are being painted; `CancellationError`.
    func preview(of card: StoredCard, _ profiles: [Profile]) async throws -> BlobKey {
        let key = try BlobKey(card.previewKey)
        guard try await blobs.info(of: key) == nil else { return key }
        return try await previews.run(key) { try await paintPreview(key, of: card, profiles) }
    }

    private func paintPreview(_ key: BlobKey, of card: StoredCard, _ profiles: [Profile]) async throws -> BlobKey {
        // Painted since it was looked for.
        guard try await blobs.info(of: key) == nil else { return key }
        let poster = CardPoster(card: card.content(profiles), avatars: await avatars.bytes(of: profiles)).widePoster
        // Two replicas that paint it at once store the same.
        _ = try await blobs.put(key, try await painter.png(poster))
        if let stored = try await repository.find(card.id), case .made = stored.standing { return key }
        try await blobs.delete(key)
        throw ServiceError.notFound("streak")
    }

    /// An unguessable name for a public page: 192 random bits (MC-2).
    static func token() -> String { Base64URL.encode(Unguessable.bytes(24)) }

    private func make(_ card: StoredCard, _ profiles: [Profile]) async throws -> StoredCard {
        do {
            let poster = CardPoster(card: card.content(profiles), avatars: await avatars.bytes(of: profiles)).poster
            _ = try await blobs.put(try BlobKey(card.blobKey), try await painter.png(poster))
        } catch {
            try await repository.releaseLease(card.id, now: SystemClock.now())
            throw error
        }
        if try await repository.finish(card.id, now: SystemClock.now()) {
            logger.info("a milestone card was made", metadata: ["card": "\(card.id)"])
        }
        if let stored = try await repository.find(card.id), case .made = stored.standing { return stored }
        try await blobs.delete(try BlobKey(card.blobKey))
        throw ServiceError.notFound("streak")
    }
}

extension StoredCard {
    /// Where the preview of its page lies.
    var previewKey: String { String(blobKey.dropLast(4)) + ".wide.png" }

    /// What the card says.
    func content(_ profiles: [Profile]) -> MilestoneCard {
        MilestoneCard(
            count: milestone,
            style: style,
            firstDay: firstDay,
            lastDay: lastDay,
            subject: subject,
            people: profiles.map { CardPerson(id: $0.userID, displayName: $0.displayName, username: $0.username) }
        )
    }
}
