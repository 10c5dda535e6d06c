import BillingAPI
import Bus
import CommonAPI
import Kernel
import StreaksAPI

/// What one person does or reads, with the answer that the model expects.
struct PersonAct: Sendable {
    let user: Int
    let verb: String
    let arguments: [String]
    let expected: String

    /// The streak that it is about, as plans name it; nil for what belongs to none.
    var run: String? {
        switch verb {
        case "check_in", "repair", "freezes", "freeze", "pause", "resume", "status": "c\(user)"
        case "activity": "t\(user).\(argument(0))"
        case "circle", "team": "g\(argument(0))"
        case _ where isOfHabits && argument(0) != "-": "h\(user).\(argument(0))"
        default: nil
        }
    }

    /// Done by `HabitPlayer`.
    var isOfHabits: Bool { verb.hasPrefix(HabitPlayer.prefix) }

    func argument(_ index: Int) -> String { arguments.indices.contains(index) ? arguments[index] : "-" }
    func number(_ index: Int) -> Int { Int(argument(index)) ?? 0 }
    func instant(_ index: Int) -> Instant? { Int64(argument(index)).map { Instant(seconds: $0) } }
    func date(_ index: Int) -> CalendarDate? { CalendarDate(argument(index)) }
}

/// Does what people with streaks of their own do, and writes the answers as plans have them (`people_plan.py`).
struct PersonPlayer: Sendable {
    private let checkIns: CheckInsClient
    private let typed: TypedClient
    private let powerUps: PowerUpsClient
    private let teams: TeamsClient
    private let rewards: RewardsClient
    private let goods: GoodsClient
    private let store: StoreClient
    private let habits: HabitPlayer

    init(_ bus: BusConnection) {
        (checkIns, typed, powerUps) = (CheckInsClient(bus), TypedClient(bus), PowerUpsClient(bus))
        (teams, rewards, goods, store) = (TeamsClient(bus), RewardsClient(bus), GoodsClient(bus), StoreClient(bus))
        habits = HabitPlayer(bus)
    }

    /// - Parameter operation: names the request; unique.
    /// - Returns: the answer, or the reason of the refusal.
    func answer(_ act: PersonAct, operation: OperationID) async throws -> String {
        var context = Player.by(act.user)
        do {
            if let shown = try await read(act, context) { return shown }
            context.idempotencyKey = operation.description
            if act.isOfHabits { return try await habits.answer(act, context) }
            return try await done(act, operation, context)
        } catch let refusal as ServiceError where refusal.code != .unavailable && refusal.code != .internal {
            return refusal.reason
        }
    }

    private func done(_ act: PersonAct, _ operation: OperationID, _ context: CallContext) async throws -> String {
        switch act.verb {
        case "check_in":
            let request = CheckInRequest(moodScore: 7, energyLevel: 6, checkInTime: act.instant(0))
            let streak = try await checkIns.checkIn(request, context: context).data?.streak ?? CheckInStreak()
            let counts = "\(streak.currentStreak):\(streak.longestStreak):\(streak.freezesAvailable)"
            return "\(streak.isFirstCheckInToday ? 1 : 0):\(counts)"
        case "activity":
            let request = RecordActivityRequest(type: act.argument(0), capturedAt: act.instant(1))
            let reply = try await typed.recordActivity(request, context: context)
            let counts = "\(reply.streak?.currentStreak ?? -1):\(reply.streak?.longestStreak ?? -1)"
            return "\(reply.alreadyRecorded ? 1 : 0):\(counts)"
        case "circle":
            let request = CheckInToCircleRequest(circleID: PersonNews.id(circle: act.number(0)))
            return try await teams.checkInToCircle(request, context: context).counted ? "1" : "0"
        case "give": return try await give(act, operation)
        case "fund": return try await fund(act, operation)
        case "buy":
            let bought = try await store.purchase(PurchaseRequest(item: act.argument(0)), context: context)
            return Self.coins(bought.balances)
        case "use":
            let request = UsePowerUpRequest(
                good: act.argument(0),
                type: act.argument(1) == "-" ? nil : act.argument(1),
                date: act.date(2)
            )
            let used = try await powerUps.usePowerUp(request, context: context)
            return "\(used.left):\(used.currentStreak.map { "\($0)" } ?? "-")"
        default: return try await doneToCheckIns(act, context)
        }
    }

    private func doneToCheckIns(_ act: PersonAct, _ context: CallContext) async throws -> String {
        switch act.verb {
        case "repair":
            let request = RepairStreakRequest(paymentMethod: act.argument(0), streakValue: Int32(act.number(1)))
            return "\(try await checkIns.repairStreak(request, context: context).data?.restoredStreak ?? -1)"
        case "freezes":
            let request = PurchaseFreezesRequest(quantity: Int32(act.number(0)), paymentMethod: act.argument(1))
            return "\(try await checkIns.purchaseFreezes(request, context: context).data?.freezesAvailable ?? -1)"
        case "freeze":
            guard let date = act.date(0) else { throw PlanError(line: "\(act)") }
            let used = try await checkIns.useFreeze(UseFreezeRequest(date: date), context: context)
            return "\(used.data?.freezesRemaining ?? -1)"
        case "pause":
            guard let date = act.date(0) else { throw PlanError(line: "\(act)") }
            let request = PauseCheckInsRequest(resumeDate: date, reason: "vacation")
            return "\(try await checkIns.pauseCheckIns(request, context: context).data?.currentStreak ?? -1)"
        case "resume":
            let resumed = try await checkIns.resumeCheckIns(ResumeCheckInsRequest(), context: context)
            return "\(resumed.data?.streakPreserved ?? -1)"
        default: throw PlanError(line: "\(act)")
        }
    }

    /// As billing does when something was bought with money.
    private func give(_ act: PersonAct, _ operation: OperationID) async throws -> String {
        let request = GrantGoodsRequest(
            operationID: operation,
            userID: Player.id(act.user),
            goods: [GoodCount(good: act.argument(0), count: Int32(act.number(1)))],
            keepsCredit: true
        )
        let context = CallContext.expiring(in: .seconds(30), principal: Principal(role: .service))
        return "\(try await goods.grantGoods(request, context: context).stock.first?.count ?? -1)"
    }

    /// An administrator grants coins.
    private func fund(_ act: PersonAct, _ operation: OperationID) async throws -> String {
        let request = GrantToUserRequest(
            userID: Player.id(act.user),
            currency: .coins,
            amount: Int64(act.number(0)),
            reason: "a soak"
        )
        let admin = Principal(userID: Player.id(999_999_999), role: .admin)
        var context = CallContext.expiring(in: .seconds(30), principal: admin)
        context.idempotencyKey = operation.description
        return "\(try await store.grantToUser(request, context: context).balance?.balance ?? -1)"
    }

    /// nil when it is nothing that is read.
    private func read(_ act: PersonAct, _ context: CallContext) async throws -> String? {
        switch act.verb {
        case "status":
            let shown = try await checkIns.getCheckInStatus(GetCheckInStatusRequest(), context: context).data ?? CheckInStatus()
            let counts = "\(shown.currentStreak):\(shown.longestStreak):\(shown.freezesAvailable)"
            let lost = shown.repair.map { "\($0.brokenStreakValue)" } ?? "-"
            return "\(counts):\(shown.checkedInToday ? 1 : 0):\(shown.paused ? 1 : 0):\(lost)"
        case "typed":
            let streaks = try await typed.listTyped(ListTypedRequest(), context: context).streaks.filter { $0.id != nil }
            return Self.list(
                streaks.sorted { $0.type < $1.type }
                    .map { "\($0.type):\($0.currentStreak):\($0.longestStreak):\($0.freeDatesLeft)" }
            )
        case "xp":
            let account = try await checkIns.getXP(GetXPRequest(), context: context)
            return "\(account.balance):\(account.lifetime)"
        case "coins": return Self.coins(try await store.getWallet(GetWalletRequest(), context: context).balances)
        case "badges":
            let badges = try await rewards.getBadges(GetBadgesRequest(), context: context).badges
            return Self.list(badges.filter(\.earned).map(\.id).sorted())
        case "goods": return try await heldGoods(context)
        case "team":
            let request = GetTeamStreakRequest(circleID: PersonNews.id(circle: act.number(0)))
            let team = try await teams.getTeamStreak(request, context: context)
            let (last, grace) = (team.lastCompletedDate?.description ?? "-", team.graceUntil.map { "\($0.seconds)" } ?? "-")
            return "\(team.currentCount):\(team.longestCount):\(last):\(grace)"
        default: return nil
        }
    }

    private func heldGoods(_ context: CallContext) async throws -> String {
        let shown = try await powerUps.listPowerUps(ListPowerUpsRequest(), context: context)
        let held = shown.held.filter { $0.count > 0 }.map { "\($0.good):\($0.count)" }.sorted()
        let active = Dictionary(grouping: shown.active, by: \.good).map { "+\($0.key):\($0.value.count)" }.sorted()
        return Self.list(held + active)
    }

    private static func coins(_ balances: [WalletBalance]) -> String {
        "\(balances.first { $0.currency == .coins }?.balance ?? 0)"
    }

    private static func list(_ texts: [String]) -> String { texts.isEmpty ? "-" : texts.joined(separator: ",") }
}
