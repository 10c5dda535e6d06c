internal import Bus
internal import Database
internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore

/// A user's habits: what they are, what was done of them, and the screens that show it (HA-*).
package enum HabitsFeature {
    package static let name = "habits"

    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            name,
            migrations: [
                MigrationSet(
                    "habit_clearing",
                    [Migration(version: 1, name: "clearing", sql: PackageResources.V0001_clearing_sql)]
                )
            ],
            personalData: [.habitClearing]
        ) { environment in
            let habits = HabitStore(try StreaksCore(environment, extensions), work: environment.work)
            let changes = HabitChanges(habits: habits, mutations: environment.mutations)
            return FeatureParts(
                endpoints: endpoints(habits, changes),
                consumers: [PhotoConsumer(habits: habits).handler],
                jobs: HabitPurge(work: environment.work, database: environment.database).jobs
            )
        }
    }

    private static func endpoints(_ habits: HabitStore, _ changes: HabitChanges) -> [Endpoint] {
        let (reader, accounts) = (HabitDayReader(habits: habits), HabitAccounts(habits: habits))
        return HabitsService.endpoints(
            getHabitsToday: GetHabitsToday(reader: reader),
            getHabitWidget: GetHabitWidget(reader: reader),
            listHabits: ListHabits(habits: habits),
            createHabit: CreateHabit(changes: changes),
            getHabitChoices: GetHabitChoices(accounts: accounts),
            getHabit: GetHabit(habits: habits),
            updateHabit: UpdateHabit(changes: changes),
            deleteHabit: DeleteHabit(changes: changes),
            undeleteHabit: UndeleteHabit(changes: changes),
            archiveHabit: ArchiveHabit(changes: changes),
            unarchiveHabit: UnarchiveHabit(changes: changes),
            reorderHabits: ReorderHabits(changes: changes),
            pauseHabit: PauseHabit(changes: changes),
            resumeHabit: ResumeHabit(changes: changes),
            completeHabit: CompleteHabit(changes: changes),
            updateCompletion: UpdateCompletion(changes: changes),
            deleteCompletion: DeleteCompletion(changes: changes),
            skipHabit: SkipHabit(changes: changes),
            unskipHabit: UnskipHabit(changes: changes),
            getHabitCalendar: GetHabitCalendar(habits: habits),
            listCompletions: ListCompletions(habits: habits),
            listHabitNotes: ListHabitNotes(habits: habits),
            listHabitCategories: ListHabitCategories(accounts: accounts),
            createHabitCategory: CreateHabitCategory(changes: changes),
            updateHabitCategory: UpdateHabitCategory(changes: changes),
            deleteHabitCategory: DeleteHabitCategory(changes: changes),
            reorderHabitCategories: ReorderHabitCategories(changes: changes),
            getHabitSettings: GetHabitSettings(habits: habits),
            updateHabitSettings: UpdateHabitSettings(changes: changes),
            getHabitProfile: GetHabitProfile(accounts: accounts),
            setDayNote: SetDayNote(changes: changes),
            clearHabitData: ClearHabitData(changes: changes),
            checkHabitDate: CheckHabitDate(habits: habits)
        )
    }

    /// What habits add to the store: replicas with this feature settle them.
    package static let events = HabitEvents(feature: name)
}
