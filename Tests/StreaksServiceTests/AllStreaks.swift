import Bus
import BillingAPI
import CommonAPI
import Database
import Kernel
import Logging
import MediaAPI
import Outbox
import Replicas
import SocialAPI
import StreaksAPI
import StreaksDomain

@testable import Runtime
@testable import ServiceRuntime
@testable import StreaksCheckIns
@testable import StreaksCore
@testable import StreaksLeaderboards
@testable import StreaksMutual
@testable import StreaksPowerUps
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksRewards
@testable import StreaksService

/// All features of `streaks` on a database and whatever answers for the other services: what their RPCs do, without a bus.
struct AllStreaks: Sendable {
    let core: StreaksCore
    let mutations: Mutations
    let clock: any Clock
    let snapWindow: SnapWindowRule
    private let snaps: SnapsClient
    private let cards: CardsClient
    private let friends: FriendsClient
    private let billing: BillingClient
    private let logger: Logger

    static let extensions = StreakExtensions(
        kinds: [MutualEvents(), CheckInsFeature.events],
        followers: [
            ProgressFollower(), ReminderFollower(), CheckInFollower(), PowerUpFollower(), RewardsFollower(), BoardFollower(),
        ]
    )

    init(
        database: Database,
        bus: any Caller,
        mutations: Mutations,
        snapWindow: SnapWindowRule = .label,
        clock: any Clock,
        logger: Logger
    ) {
        core = StreaksCore(database: database, bus: bus, avatars: AvatarLinks(base: ""), Self.extensions)
        (self.mutations, self.clock, self.snapWindow, self.logger) = (mutations, clock, snapWindow, logger)
        (snaps, cards, friends, billing) = (SnapsClient(bus), CardsClient(bus), FriendsClient(bus), BillingClient(bus))
    }

    var store: StreakStore { core.store }
    var writer: StreakWriter { core.writer }
    private var database: Database { core.store.database }
    var reads: StreakReads { StreakReads(.mutual, store: core.store, avatars: core.avatars) }
    private var views: MutualViews {
        MutualViews(reads: reads, writer: writer, profiles: core.profiles, work: mutations.work, clock: clock)
    }
    private var operations: RecoveryOperationRepository { RecoveryOperationRepository(database: database) }
    var starts: MutualStarts { MutualStarts(writer: writer, recoveries: operations, profiles: core.profiles) }
    private var recoveries: Recoveries {
        Recoveries(
            repository: operations,
            reads: reads,
            writer: writer,
            billing: billing,
            work: mutations.work,
            logger: logger
        )
    }
    private var prompts: PromptsOfStreaks { PromptsOfStreaks(reads: reads, clock: clock) }
    private var celebrated: CelebratedStreaks {
        CelebratedStreaks(store: core.store, blocks: core.blocks, circles: core.circles, clock: clock)
    }
    private var today: Today { Today(profiles: core.profiles, clock: clock) }

    /// Everything that is consumed, by any feature.
    var consumers: [EventHandler] {
        let accounts = AccountConsumers(writer: writer)
        return [core.profiles.handler(changed: accounts.profileChanged), EntitlementReplica().handler()] + core.blocks.handlers()
            + accounts.handlers + FriendshipConsumers(starts: starts, writer: writer).handlers
    }

    func settlement(
        mostAtOnce: Int = SettlementJob.mostAtOnce,
        facts: KnownFacts? = nil,
        metrics: Metrics = Metrics()
    ) -> SettlementJob {
        SettlementJob(
            kinds: [.mutual, .checkIn],
            writer: writer,
            work: mutations.work,
            facts: facts,
            logger: Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() },
            metrics: metrics,
            mostAtOnce: mostAtOnce
        )
    }

    var totals: TotalsJob { TotalsJob(store: store, work: mutations.work) }
    var reminders: ReminderJob { ReminderJob(work: mutations.work, store: store) }
}

extension AllStreaks {
    /// What the runtime does when an account is purged.
    func erase(_ user: UserID, _ work: UnitOfWork) async throws {
        let tables = StreaksModule.personalData.flatMap(\.tables)
        try await PersonalDataEraser(tables, [PersonalData.steps(writer)]).erase(user, work)
    }

    /// What the runtime exports of a user: the rows of the first page, by their keys.
    func export(_ user: UserID) async throws -> [String: String] {
        let exporter = PersonalDataExporter(
            StreaksModule.personalData,
            database: database,
            settings: Settings(values: [:], declared: []),
            clock: clock
        )
        let page = try await exporter.page(ExportPersonalDataRequest(userID: user))
        return Dictionary(page.parts.map { ($0.key, $0.rows) }) { $0 + "," + $1 }
    }
}

extension AllStreaks {
    func listStreaks(_ request: ListStreaksRequest, context: CallContext) async throws -> ListStreaksReply {
        try await ListStreaks(views: views).handle(request, context)
    }

    func getStreak(_ request: GetStreakRequest, context: CallContext) async throws -> StreakDetail {
        try await GetStreak(views: views, snaps: snaps, billing: billing, closed: ClosedDates(database: store.database)).handle(
            request,
            context
        )
    }

    func startStreak(_ request: StartStreakRequest, context: CallContext) async throws -> StartStreakReply {
        try await StartStreak(
            views: views,
            starts: starts,
            friends: friends,
            profiles: core.profiles,
            mutations: mutations
        ).handle(request, context).reply
    }

    func recover(_ request: RecoverRequest, context: CallContext) async throws -> RecoverReply {
        try await Recover(views: views, recoveries: recoveries, mutations: mutations, clock: clock).handle(request, context).reply
    }

    func getCalendar(_ request: GetCalendarRequest, context: CallContext) async throws -> MonthCalendar {
        try await GetCalendar(views: views).handle(request, context)
    }

    func getMilestoneData(_ request: GetMilestoneDataRequest, context: CallContext) async throws -> MilestoneData {
        try await GetMilestoneData(streaks: celebrated, profiles: core.profiles, cards: cards).handle(request, context)
    }

    func startForFriendship(_ request: StartForFriendshipRequest, context: CallContext) async throws -> StartForFriendshipReply {
        try await StartForFriendship(starts: starts, profiles: core.profiles, mutations: mutations).handle(request, context).reply
    }

    func getFriendSummaries(_ request: GetFriendSummariesRequest, context: CallContext) async throws -> GetFriendSummariesReply {
        try await GetFriendSummaries(views: views).handle(request, context)
    }

    func recordContribution(_ request: RecordContributionRequest, context: CallContext) async throws -> RecordContributionReply {
        try await RecordContribution(writer: writer, mutations: mutations, snapWindow: snapWindow, clock: clock)
            .handle(request, context).reply
    }

    func planContribution(_ request: PlanContributionRequest, context: CallContext) async throws -> PlanContributionReply {
        try await PlanContribution(store: store, snapWindow: snapWindow, clock: clock).handle(request, context)
    }

    func listOpenDates(_ request: ListOpenDatesRequest, context: CallContext) async throws -> ListOpenDatesReply {
        try await ListOpenDates(views: views).handle(request, context)
    }

    func getMilestoneFacts(_ request: GetMilestoneFactsRequest, context: CallContext) async throws -> GetMilestoneFactsReply {
        try await GetMilestoneFacts(streaks: celebrated).handle(request, context)
    }

    func getMembership(_ request: GetMembershipRequest, context: CallContext) async throws -> GetMembershipReply {
        try await GetMembership(reads: reads, closed: ClosedDates(database: store.database), clock: clock).handle(
            request,
            context
        )
    }

    func getTodaysPrompt(_ request: GetTodaysPromptRequest, context: CallContext) async throws -> TodaysPrompt {
        try await GetTodaysPrompt(prompts: prompts, profiles: core.profiles, clock: clock).handle(request, context)
    }

    func getStreakPrompts(_ request: GetStreakPromptsRequest, context: CallContext) async throws -> StreakPrompts {
        try await GetStreakPrompts(prompts: prompts).handle(request, context)
    }

    func setStreakPrompts(_ request: SetStreakPromptsRequest, context: CallContext) async throws -> StreakPrompts {
        try await SetStreakPrompts(reads: reads, mutations: mutations).handle(request, context).reply
    }

    func clearStreakPrompts(_ request: ClearStreakPromptsRequest, context: CallContext) async throws -> StreakPrompts {
        try await ClearStreakPrompts(reads: reads, mutations: mutations).handle(request, context).reply
    }

    func getAchievements(_ request: GetAchievementsRequest, context: CallContext) async throws -> GetAchievementsReply {
        try await GetAchievements(database: database).handle(request, context)
    }

    func getStats(_ request: GetStatsRequest, context: CallContext) async throws -> UserStats {
        try await GetStats(writer: writer, work: mutations.work, today: today).handle(request, context)
    }

    func getYearCalendar(_ request: GetYearCalendarRequest, context: CallContext) async throws -> YearCalendar {
        try await GetYearCalendar(database: database, today: today).handle(request, context)
    }
}
