internal import Bus
internal import Kernel
internal import Logging
internal import MediaAPI
internal import MediaDomain
internal import Outbox
internal import ServiceRuntime

/// The moderation of pictures before they are published (PL-5). Without a moderator every picture is.
struct PostScreening: Sendable {
    let moderator: PictureModerator?
    let rule: ScreeningRule
    let work: UnitOfWorkFactory
    let logger: Logger

    /// - Throws: `Settings.Invalid`.
    init(_ environment: ServiceEnvironment) throws {
        self.init(
            moderator: try ScreeningSettings.moderator(environment),
            rule: try ScreeningSettings.rule(environment.settings),
            work: environment.mutations.work,
            logger: environment.logger
        )
    }

    init(moderator: PictureModerator?, rule: ScreeningRule = ScreeningRule(), work: UnitOfWorkFactory, logger: Logger) {
        (self.moderator, self.rule, self.work, self.logger) = (moderator, rule, work, logger)
    }

    /// What was found, to be recorded with the publication.
    struct Outcome: Sendable {
        let event: PostScreened?

        /// Puts the post into the moderators' queue, when it is to be there. In the transaction that shows the post.
        func note(_ work: UnitOfWork) async throws {
            guard var event else { return }
            event.screenedAt = work.now
            try await work.emit(event)
        }
    }

    /// Asks the moderator about the picture of a post that is not stored yet: of a photo its rendition, of a video its poster.
    ///
    /// - Throws: `CONTENT_REJECTED`; it is in the moderators' log then.
    func screen(_ picture: [UInt8], of post: PostID, by user: UserID, _ context: CallContext) async throws -> Outcome {
        guard let moderator else { return Outcome(event: nil) }
        switch try await moderator.labels(of: picture) {
        case .unreachable(let cause):
            logger.warning("a post is published unseen", metadata: ["post": "\(post)", "cause": "\(cause)"])
            return Outcome(event: PostScreened(postID: post, userID: user, outcome: .unreachable))
        case .labels(let labels):
            switch rule.verdict(labels) {
            case .harmless: return Outcome(event: nil)
            case .doubtful(let found):
                return Outcome(event: PostScreened(postID: post, userID: user, outcome: .doubtful, labels: found.map(\.wire)))
            case .rejected(let found):
                let event = PostScreened(postID: post, userID: user, outcome: .rejected, labels: found.map(\.wire))
                try await work.run(context) { work in try await Outcome(event: event).note(work) }
                throw ServiceError(.invalidArgument, "CONTENT_REJECTED", "This picture shows what may not be posted here.")
            }
        }
    }
}

extension ModerationLabel {
    fileprivate var wire: ScreenedLabel { ScreenedLabel(name: name, confidence: confidence) }
}
