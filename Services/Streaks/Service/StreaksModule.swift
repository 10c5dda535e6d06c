internal import Bus
public import Runtime
public import ServiceRuntime
internal import StreaksAPI
internal import StreaksAnalytics
internal import StreaksCheckIns
internal import StreaksCore
internal import StreaksGoods
internal import StreaksHabitFiles
internal import StreaksHabitReminders
internal import StreaksHabitStatistics
internal import StreaksHabitSync
internal import StreaksHabits
internal import StreaksInspector
internal import StreaksLeaderboards
internal import StreaksMutual
internal import StreaksOutages
internal import StreaksPowerUps
internal import StreaksProgress
internal import StreaksPrompts
internal import StreaksReminders
internal import StreaksRewards
internal import StreaksTeams
internal import StreaksTyped

/// What `streaks` consists of.
public enum StreaksModule: ServiceModule {
    public static let name = "streaks"
    public static let about = "streaks of every kind, habits, XP and badges, leaderboards, analytics, daily prompts"
    public static var descriptor: (bytes: [UInt8], hash: String) { (StreaksDescriptor.bytes, StreaksDescriptor.hash) }
    public static let features = [
        CoreFeature.feature(extensions), MutualFeature.feature(extensions), PromptsFeature.feature(extensions),
        ProgressFeature.feature(extensions), RemindersFeature.feature(extensions),
        GoodsFeature.feature(extensions), CheckInsFeature.feature(extensions), TypedFeature.feature(extensions),
        PowerUpsFeature.feature(extensions), TeamsFeature.feature(extensions), RewardsFeature.feature(extensions),
        LeaderboardsFeature.feature(extensions), AnalyticsFeature.feature(extensions),
        HabitsFeature.feature(extensions),
        HabitRemindersFeature.feature(extensions),
        HabitStatisticsFeature.feature(extensions),
        HabitFilesFeature.feature(extensions),
        HabitSyncFeature.feature(extensions),
        InspectorFeature.feature(extensions), OutagesFeature.feature,
    ]
    public static var commands: [ProgramCommand] { StreaksCommands.all }

    /// What the features add to the store of streaks.
    static let extensions = StreakExtensions(
        kinds: [MutualEvents(), CheckInsFeature.events, TeamEvents(), HabitsFeature.events] + TypedFeature.kinds,
        followers: [
            ProgressFollower(), ReminderFollower(), CheckInFollower(), TypedFollower(), PowerUpFollower(), TeamFollower(),
            RewardsFollower(), SoloReminderFollower(), BoardFollower(),
            HabitReminderFollower(), HabitFollower(), AnalyticsFollower(),
        ],
        circles: [TeamCircles()]
    )
}
