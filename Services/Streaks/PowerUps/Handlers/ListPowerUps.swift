internal import Bus
internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What the caller holds, has at work, and has used.
struct ListPowerUps: QueryHandler {
    let database: Database
    let boughtShield: BoughtShield
    private static let mostShown = 50

    func handle(_: ListPowerUpsRequest, _ context: CallContext) async throws -> ListPowerUpsReply {
        let user = try context.requireUser()
        let armsShields = boughtShield == .armed
        let stock = try await GoodsStock.all(of: user, database)
        let active = try await PowerUpRepository.list(of: user, isActive: true, limit: 200, database)
        let used = try await PowerUpRepository.list(of: user, isActive: false, limit: Self.mostShown, database)
        return ListPowerUpsReply(
            held: PowerUp.order.map { good in
                HeldPowerUp(
                    good: good.rawValue,
                    title: PowerUp.title(good),
                    description: PowerUp.text(good, armsShields: armsShields),
                    count: stock[good] ?? 0,
                    needsUse: PowerUp.needsUse(good, armsShields: armsShields)
                )
            },
            active: active.map { UsedPowerUp($0) },
            used: used.map { UsedPowerUp($0) }
        )
    }
}

extension UsedPowerUp {
    init(_ stored: StoredPowerUp) {
        self.init(
            id: stored.id,
            good: stored.good.rawValue,
            state: PowerUpState(rawValue: stored.state.rawValue),
            type: stored.kind?.typeName,
            date: stored.date,
            usedAt: stored.usedAt,
            until: stored.until,
            helpedOn: stored.helpedOn,
            returnedAt: stored.returnedAt
        )
    }
}
