internal import Bus
internal import Kernel
internal import StreaksAPI

extension StreaksService {
    /// MS-4.
    func listStreaks(_: ListStreaksRequest, context: CallContext) async throws -> ListStreaksReply {
        let user = try context.requireUser()
        let rows = try await streaks.active(of: user)
        async let people = profiles.profiles(rows.map { $0.friend(of: user) }, context: context)
        let views = try await views(rows, of: user, context).filter { $0.row.status == .active }
        let known = try await people
        return ListStreaksReply(streaks: views.map { Self.item($0, friend: known[$0.row.friend(of: user)]) })
    }
}
