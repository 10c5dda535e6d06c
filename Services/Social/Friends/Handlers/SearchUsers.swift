internal import Bus
internal import Kernel
internal import SocialAPI
internal import SocialDomain

/// Finds users by name or verified e-mail (SO-5). E-mail addresses are never returned.
struct SearchUsers: QueryHandler {
    let users: SearchRepository

    func handle(_ request: SearchUsersRequest, _ context: CallContext) async throws -> SearchUsersReply {
        let user = try context.requireUser()
        let size = PageSize(standard: SearchText.mostResults, most: SearchText.mostResults)
        let limit = size.entries(asked: request.limit)
        return SearchUsersReply(users: try await users.search(try SearchText(request.q), by: user, limit: limit))
    }

    func problems(of request: SearchUsersRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try SearchText(request.q) }
    }
}
