import AuthAPI
import BillingAPI
import Bus
import CommonAPI
import Kernel
import Runtime
import StreaksAPI
import Wire

/// Plays the turns of a plan against the services and compares every answer with what the model expects.
actor Player {
    /// Where service and model disagree first in a streak, or about a person.
    struct Disagreement: Sendable {
        let run: String?
        let at: Instant
        let text: String
    }

    /// What was played.
    struct Tally: Sendable {
        var turns = 0, streaks = 0, snaps = 0, answers = 0
        var refusals = 0, looks = 0, acts = 0, broken = 0, zones = 0, recoveries = 0
    }

    /// A service that takes longer might find itself behind the next end of a date.
    private static let longestTurn = Interval.seconds(100)
    private static let atOnce = 24

    private let system: SoakSystem
    private let streaks: MutualClient
    private let billing: BillingClient
    private let people: PersonPlayer
    private var ids: [String: StreakID] = [:]
    private var runs: [StreakID: String] = [:]
    private var nextID: UInt64 = 0
    private var disputed: Set<String> = []
    private(set) var disagreements: [Disagreement] = []
    private(set) var tally = Tally()

    struct TooSlow: Error, CustomStringConvertible {
        let at: Instant
        var description: String {
            "what happens at \(at) took longer than 100 s, so the outcome would mean nothing; take fewer --pairs and --people"
        }
    }

    init(_ system: SoakSystem) {
        self.system = system
        streaks = MutualClient(system.bus)
        billing = BillingClient(system.bus)
        people = PersonPlayer(system.bus)
    }

    /// Plays one turn.
    ///
    /// - Throws: when the clock cannot be moved, or the turn took too long.
    func play(_ turn: Turn) async throws {
        try await system.go(to: turn.at)
        if !turn.zones.isEmpty || !turn.news.isEmpty {
            try await emit(turn.zones)
            for news in turn.news { try await news.emit(id: newText(), at: turn.at, system) }
            try await system.settle()
        }
        var waiting = turn.acts.values.makeIterator()
        await withTaskGroup(of: Void.self) { tasks in
            for _ in 0..<Self.atOnce {
                guard let acts = waiting.next() else { break }
                tasks.addTask { await self.play(acts, at: turn.at) }
            }
            while await tasks.next() != nil {
                if let acts = waiting.next() { tasks.addTask { await self.play(acts, at: turn.at) } }
            }
        }
        tally.turns += 1
        guard system.clock.now() - turn.at < Self.longestTurn else { throw TooSlow(at: turn.at) }
    }

    private func play(_ acts: [Act], at now: Instant) async {
        for act in acts {
            do { try await play(act, at: now) } catch {
                let run: String? =
                    switch act {
                    case .start(let run, _, _), .look(_, let run, _), .recover(_, let run, _, _): run
                    case .post(_, _, _, let replies): replies.first?.first.map(Self.run)
                    case .list, .balance: nil
                    case .person(let act): act.run
                    }
                dispute(run, now, "\(act): \(error)")
            }
        }
    }

    private func play(_ act: Act, at now: Instant) async throws {
        switch act {
        case .start(let run, let one, let other): try await start(run, one, other)
        case .post(let user, let captured, let isRepeated, let replies):
            try await post(user, captured, isRepeated: isRepeated, replies, at: now)
        case .recover(let user, let run, let isRepeated, let expected):
            compare(run, now, "Recover by \(user)", try await recover(user, run, isRepeated: isRepeated), expected)
        case .look(let user, let run, let expected):
            let detail = try await streaks.getStreak(GetStreakRequest(streakID: try id(of: run)), context: Self.by(user))
            tally.looks += 1
            if detail.streak?.status == .broken { tally.broken += 1 }
            compare(run, now, "GetStreak", Self.text(detail), expected)
        case .list(let user, let expected):
            let reply = try await streaks.listStreaks(ListStreaksRequest(), context: Self.by(user))
            let items = reply.streaks.map { "\(runs[$0.id] ?? $0.id.description)\(Self.item($0))" }.sorted()
            tally.looks += 1
            for run in Set((items + expected).map(Self.run)) {
                let (replies, meant) = (items.filter { Self.run($0) == run }, expected.filter { Self.run($0) == run })
                compare(run, now, "ListStreaks of \(user)", replies.joined(separator: ","), meant.joined(separator: ","))
            }
        case .balance(let user, let expected):
            let reply = try await billing.getRecoveryBalance(GetRecoveryBalanceRequest(), context: Self.by(user))
            compare(nil, now, "GetRecoveryBalance of \(user)", "\(reply.balance)", expected)
        case .person(let act):
            let answer = try await people.answer(act, operation: newID())
            tally.acts += 1
            compare(act.run, now, "\(act.verb) \(act.arguments) of \(act.user)", answer, act.expected)
        }
    }

    private func start(_ run: String, _ one: Int, _ other: Int) async throws {
        let reply = try await streaks.startForFriendship(
            StartForFriendshipRequest(friendshipID: newID(), userAID: Self.id(one), userBID: Self.id(other)),
            context: .expiring(in: .seconds(30), principal: Principal(role: .service))
        )
        guard let id = reply.streakID else { throw ServiceError(.failedPrecondition, reply.reason ?? "?", "It did not start.") }
        ids[run] = id
        runs[id] = run
        tally.streaks += 1
    }

    private func post(_ user: Int, _ captured: Instant?, isRepeated: Bool, _ replies: [[String]], at now: Instant) async throws {
        let keys = replies[0].map(Self.run)
        let streakIDs = try keys.map { try id(of: $0) }
        let requests = replies.map { _ in
            RecordContributionRequest(
                operationID: newID(),
                userID: Self.id(user),
                streakIDs: streakIDs,
                receivedAt: now,
                capturedAt: captured
            )
        }
        let context = CallContext.expiring(in: .seconds(30), principal: Principal(userID: Self.id(user), role: .service))
        let answers: [[String]] = try await withThrowingTaskGroup(of: RecordContributionReply.self) { tasks in
            for request in requests {
                tasks.addTask { [streaks] in
                    let reply = try await streaks.recordContribution(request, context: context)
                    if isRepeated, try await streaks.recordContribution(request, context: context) != reply {
                        throw ServiceError(.internal, "ANOTHER_ANSWER", "The repeat got another answer.")
                    }
                    return reply
                }
            }
            var answers: [[String]] = []
            for try await reply in tasks { answers.append(reply.outcomes.map(text)) }
            return answers
        }
        tally.snaps += 1
        tally.answers += answers.count * keys.count
        tally.refusals += answers.joined().count { $0.split(separator: ":").count == 2 }
        // Which of two devices was first does not matter.
        for (index, run) in keys.enumerated() {
            let (actual, meant) = (answers.map { $0[index] }.sorted(), replies.map { $0[index] }.sorted())
            compare(run, now, "the snap of \(user)", actual.joined(separator: " "), meant.joined(separator: " "))
        }
    }

    private func recover(_ user: Int, _ run: String, isRepeated: Bool) async throws -> String {
        var context = Self.by(user)
        context.idempotencyKey = newText()
        let request = RecoverRequest(streakID: try id(of: run))
        do {
            let reply = try await streaks.recover(request, context: context)
            if isRepeated, try await streaks.recover(request, context: context) != reply { return "another answer to the repeat" }
            tally.recoveries += 1
            return "ok:\(reply.streak?.currentCount ?? -1):\(reply.balance)"
        } catch let error as ServiceError { return error.reason }
    }

    /// What `auth` emits about users' zones.
    private func emit(_ news: [ZoneNews]) async throws {
        let events = try news.map { news in
            let id = newText()
            let user = Self.id(news.user)
            let event = ProfileChanged(
                userID: user,
                profile: ProfileState(
                    userID: user,
                    version: news.version,
                    username: "person\(news.user)",
                    displayName: "Person \(news.user)",
                    timeZone: news.zone,
                    status: .active,
                    timeZoneSince: news.since
                )
            )
            return try OutgoingEvent(event, id: id, of: user.description)
        }
        tally.zones += news.count
        try await system.auth.connection.publishAll(events)
    }

    // Answers as texts

    private func text(_ outcome: ContributionOutcome) -> String {
        let run = runs[outcome.streakID] ?? outcome.streakID.description
        if let refused = outcome.refused { return "\(run):\(refused)" }
        let date = "\(outcome.date?.description ?? "-"):\(outcome.dateCompleted ? 1 : 0)"
        return "\(run):\(date):\(outcome.currentCount):\(outcome.longestCount):\(outcome.milestone)"
    }

    private static func text(_ detail: StreakDetail) -> String {
        guard let streak = detail.streak else { return "nothing" }
        let marks = detail.calendar.filter { [.broken, .recovered].contains($0.mark) }.map { "\($0.date):\($0.mark)" }
        let fields: [String] = [
            "\(streak.status)", "\(streak.currentCount)", "\(streak.longestCount)", streak.lastCompletedDate?.description ?? "-",
            streak.brokenByUserID.map { "\(number($0))" } ?? "-",
            streak.brokenAt.map { "\($0.seconds)" } ?? "-", streak.deadlineAt.map { "\($0.seconds)" } ?? "-",
            streak.atRisk ? "1" : "0", marks.isEmpty ? "-" : marks.joined(separator: ","),
        ]
        return fields.joined(separator: " ")
    }

    private static func item(_ streak: StreakItem) -> String {
        let posted = "\(streak.youPostedToday ? 1 : 0):\(streak.friendPostedToday ? 1 : 0)"
        return
            ":\(streak.currentCount):\(streak.longestCount):\(posted):\(streak.atRisk ? 1 : 0):\(streak.deadlineAt?.seconds ?? 0)"
    }

    private static func run(_ text: String) -> String { String(text.prefix { $0 != ":" }) }

    private func compare(_ run: String?, _ at: Instant, _ what: String, _ actual: String, _ expected: String) {
        if actual != expected { dispute(run, at, "\(what): the service says \(actual), the model \(expected)") }
    }

    /// After its first disagreement a streak says nothing new.
    private func dispute(_ run: String?, _ at: Instant, _ text: String) {
        if let run, !disputed.insert(run).inserted { return }
        disagreements.append(Disagreement(run: run, at: at, text: text))
        // At once: a long soak that is stopped has still said it.
        Console.error("  DISAGREEMENT at \(at): \(text)\n")
    }

    // Ids

    /// The streak of a run of the model.
    private func id(of run: String) throws -> StreakID {
        guard let id = ids[run] else { throw ServiceError(.notFound, "NOT_STARTED", "The streak of \(run) did not start.") }
        return id
    }

    private func newID<Entity>() -> ID<Entity> {
        nextID += 1
        return ID(high: 0x0190_0000_0000_7000, low: 0x9000_0000_0000_0000 + nextID)
    }

    private func newText() -> String {
        let id: OperationID = newID()
        return id.description
    }

    static func id(_ user: Int) -> UserID {
        UserID(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0000 + UInt64(user))
    }
    private static func number(_ user: UserID) -> UInt64 { user.low - 0x8000_0000_0000_0000 }
    static func by(_ user: Int) -> CallContext {
        .expiring(in: .seconds(30), principal: Principal(userID: id(user), role: .user))
    }
}
