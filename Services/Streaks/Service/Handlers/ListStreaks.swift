internal import Bus
internal import Kernel
internal import StreaksAPI

extension StreaksService {
    /// MS-4.
    func listStreaks(_: ListStreaksRequest, context: CallContext) async throws -> ListStreaksReply {
        let user = try context.requireUser()
        let views = try await views(.running, of: user, withFriends: true, context)
        return ListStreaksReply(streaks: views.map(Self.item))
    }
}
