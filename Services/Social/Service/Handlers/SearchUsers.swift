internal import Bus
internal import Kernel
internal import SocialAPI
internal import SocialDomain

extension SocialService {
    /// SO-5. E-mail addresses are never returned.
    func searchUsers(_ request: SearchUsersRequest, context: CallContext) async throws -> SearchUsersReply {
        let user = try context.requireUser()
        let limit = PageSize.of(request.limit, standard: SearchText.mostResults, most: SearchText.mostResults)
        return SearchUsersReply(users: try await people.search(try SearchText(request.q), by: user, limit: limit))
    }
}
