internal import BillingAPI
internal import Bus
internal import Database
internal import Kernel
internal import Outbox
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// One person's daily check-in with freezes, repair, pause, milestones, tracking and XP (CI-*).
package enum CheckInsFeature {
    /// The events of check-in streaks: for `StreakExtensions`.
    package static let events = SoloEvents(.checkIn, feature: "check-ins")

    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "check-ins",
            migrations: [
                MigrationSet("check_ins", [Migration(version: 1, name: "check_ins", sql: PackageResources.V0001_check_ins_sql)])
            ],
            personalData: [.checkIns]
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let parts = CheckInsParts(
                streaks: CheckInStreaks(writer: core.writer, profiles: core.profiles, work: environment.work),
                payments: Payments(store: StoreClient(environment.bus)),
                mutations: environment.mutations,
                clock: environment.clock
            )
            return FeatureParts(endpoints: parts.endpoints, consumers: [parts.circleConsumer])
        }
    }
}

/// How the feature is put together.
struct CheckInsParts {
    let streaks: CheckInStreaks
    let payments: Payments
    let mutations: Mutations
    let clock: any Clock
    private var database: Database { streaks.writer.store.database }

    /// A check-in in a circle counts.
    var circleConsumer: EventHandler { CircleConsumer(recorder: CheckInRecorder(streaks: streaks)).handler }

    var endpoints: [Endpoint] {
        let recorder = CheckInRecorder(streaks: streaks)
        let repairs = RepairOffers(database: database)
        let histories = CheckInHistories(streaks: streaks, clock: clock)
        return CheckInsService.endpoints(
            checkIn: CheckIn(recorder: recorder, mutations: mutations, clock: clock),
            getCheckInStatus: GetCheckInStatus(streaks: streaks, repairs: repairs, clock: clock),
            getPublicStreak: GetPublicStreak(streaks: streaks),
            useFreeze: UseFreeze(streaks: streaks, mutations: mutations),
            purchaseFreezes: PurchaseFreezes(streaks: streaks, payments: payments, mutations: mutations),
            repairStreak: RepairStreak(streaks: streaks, repairs: repairs, payments: payments, mutations: mutations),
            getCheckInHistory: GetCheckInHistory(histories: histories),
            exportCheckInHistory: ExportCheckInHistory(histories: histories, clock: clock),
            pauseCheckIns: PauseCheckIns(streaks: streaks, mutations: mutations),
            resumeCheckIns: ResumeCheckIns(streaks: streaks, mutations: mutations),
            getMilestones: GetMilestones(streaks: streaks),
            logTracking: LogTracking(recorder: recorder, mutations: mutations, clock: clock),
            getTracking: GetTracking(database: database, profiles: streaks.profiles, clock: clock),
            setTrackingGoals: SetTrackingGoals(mutations: mutations),
            getXP: GetXP(database: database)
        )
    }
}
