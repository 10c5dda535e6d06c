internal import Bus
internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Experience points and the level they make (CI-6).
struct GetXP: QueryHandler {
    let database: Database

    func handle(_: GetXPRequest, _ context: CallContext) async throws -> GetXPReply {
        let user = try context.requireUser()
        let account = try await XPLedger.account(of: user, database)
        let level = XPLevel(lifetime: account.lifetime)
        return GetXPReply(
            balance: account.balance,
            lifetime: account.lifetime,
            level: Int32(level.number),
            levelFrom: level.from,
            nextLevelAt: level.nextAt,
            postings: try await XPLedger.latest(of: user, limit: 50, database).map {
                XPPosting(amount: Int64($0.amount), cause: $0.cause, postedAt: $0.at)
            }
        )
    }
}
