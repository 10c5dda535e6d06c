internal import Bus
internal import Database
internal import Kernel
internal import MediaAPI
internal import ServiceRuntime
internal import Wire

/// What a user says of a post (PL-3).
enum Vote: String, Sendable {
    case up, down

    /// As it is stored.
    var number: Int16 { self == .up ? 1 : -1 }

    init?(number: Int16?) {
        guard let number else { return nil }
        self = number > 0 ? .up : .down
    }
}

/// A post's votes, with the reader's own.
struct VoteCounts: Sendable {
    var up: Int64
    var down: Int64
    var own: Vote?

    /// up − down
    var count: Int64 { up - down }
}

/// Changes votes (PL-3). A vote is a row of its own and locks no other; counts follow by a trigger.
struct Votes: Sendable {
    let mutations: Mutations
    let quotas: Quotas
    let database: Database

    /// Sets the caller's vote.
    ///
    /// - Parameter vote: nil takes it back.
    /// - Throws: `NOT_FOUND` for a post that the caller may not see; `OWN_POST` for a vote on one of their own; `QUOTA_EXCEEDED`.
    func set<Request: Message>(_ vote: Vote?, on post: PostID, _ request: Request, _ context: CallContext) async throws
        -> Once<VoteReply>
    {
        let user = try context.requireUser()
        if vote != nil, try await quotas.room(for: 1, in: .votes, of: user, database) == 0,
            try await VoteRepository(database: database).isNew(on: post, by: user)
        {
            // A repeat of a vote that had room and was taken back since.
            if let known: Once<VoteReply> = try await mutations.known(context, request) { return known }
            throw quotas.refusal(.votes)
        }
        return try await mutations.once(
            context,
            request,
            isShared: true,
            loading: { work, key in
                try VoteRepository.enqueue(vote, on: post, by: user, if: key, work.sql)
            },
            { _, voted in
                guard let (author, counts) = try await VoteRepository.votes(voted) else { throw ServiceError.notFound("post") }
                if vote != nil, author == user {
                    throw ServiceError(.failedPrecondition, "OWN_POST", "You cannot vote on a post of your own.")
                }
                // What became of the post between the two statements, such as the end of its hiding.
                guard counts.own == vote else { throw ServiceError.unavailable("The post has just changed.") }
                return VoteReply(
                    postID: post,
                    myVote: counts.own?.rawValue,
                    up: counts.up,
                    down: counts.down,
                    voteCount: counts.count
                )
            }
        )
    }
}
