internal import BillingAPI
internal import Bus
internal import Kernel
internal import MediaAPI
internal import Replicas
internal import Runtime
internal import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// How the feature is put together.
struct MutualParts {
    private let core: StreaksCore
    private let environment: ServiceEnvironment
    private let snapWindow: SnapWindowRule
    private let views: MutualViews
    private let starts: MutualStarts
    private let recoveries: Recoveries

    init(_ core: StreaksCore, _ environment: ServiceEnvironment, snapWindow: SnapWindowRule) {
        (self.core, self.environment, self.snapWindow) = (core, environment, snapWindow)
        let reads = StreakReads(.mutual, store: core.store, avatars: core.avatars)
        let operations = RecoveryOperationRepository(database: environment.database)
        views = MutualViews(
            reads: reads,
            writer: core.writer,
            profiles: core.profiles,
            work: environment.work,
            clock: environment.clock
        )
        starts = MutualStarts(writer: core.writer, recoveries: operations, profiles: core.profiles)
        recoveries = Recoveries(
            repository: operations,
            reads: reads,
            writer: core.writer,
            billing: BillingClient(environment.bus),
            work: environment.work,
            logger: environment.logger
        )
    }

    var all: FeatureParts {
        FeatureParts(
            endpoints: endpoints,
            consumers: FriendshipConsumers(starts: starts, writer: core.writer).handlers,
            jobs: jobs
        )
    }

    private var endpoints: [Endpoint] {
        let (mutations, clock) = (environment.mutations, environment.clock)
        let (snaps, friends) = (SnapsClient(environment.bus), FriendsClient(environment.bus))
        return MutualService.endpoints(
            listStreaks: ListStreaks(views: views),
            getStreak: GetStreak(
                views: views,
                snaps: snaps,
                billing: BillingClient(environment.bus),
                closed: ClosedDates(database: environment.database)
            ),
            listSampleStreaks: ListSampleStreaks(clock: clock),
            startStreak: StartStreak(
                views: views,
                starts: starts,
                friends: friends,
                profiles: core.profiles,
                mutations: mutations
            ),
            recover: Recover(views: views, recoveries: recoveries, mutations: mutations, clock: clock),
            getCalendar: GetCalendar(views: views),
            startForFriendship: StartForFriendship(starts: starts, profiles: core.profiles, mutations: mutations),
            getFriendSummaries: GetFriendSummaries(views: views),
            planContribution: PlanContribution(store: core.store, snapWindow: snapWindow, clock: clock),
            recordContribution: RecordContribution(
                writer: core.writer,
                mutations: mutations,
                snapWindow: snapWindow,
                clock: clock
            ),
            listOpenDates: ListOpenDates(views: views),
            countEndedStreaks: CountEndedStreaks(database: environment.database),
            getMembership: GetMembership(
                reads: views.reads,
                closed: ClosedDates(database: environment.database),
                clock: clock
            )
        )
    }

    private var jobs: [Job] {
        let (recoveries, database) = (recoveries, environment.database)
        return [
            Job("unfinished_recoveries", every: .seconds(2), oldestDue: { try await recoveries.repository.oldestStranded() }) {
                _ in
                try await recoveries.sweep()
            },
            Job("old_operations", every: .seconds(600)) { now in
                let ended = try await recoveries.repository.purge(before: now - .days(7))
                return ended + (try await StartRepository.purgeEnds(before: now - .days(1), database))
            },
        ]
    }
}

/// What becomes of a snap that was not captured inside its author's window, give or take 30 min (PW-3).
enum SnapWindowRule: String, SettingValue, CustomStringConvertible {
    /// It counts and is called late.
    case label
    /// It is refused with OUTSIDE_SNAP_WINDOW.
    case enforce

    init?(settingText text: String) { self.init(rawValue: text) }
    static var settingTypeName: String { "label or enforce" }
    var description: String { rawValue }
}
