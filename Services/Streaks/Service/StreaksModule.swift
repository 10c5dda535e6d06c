internal import Bus
public import Runtime
public import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksGoods
internal import StreaksMutual
internal import StreaksProgress
internal import StreaksPrompts
internal import StreaksReminders

/// What `streaks` consists of.
public enum StreaksModule: ServiceModule {
    public static let name = "streaks"
    public static let about = "streaks, their day ledgers and the daily prompt"
    public static var descriptor: (bytes: [UInt8], hash: String) { (StreaksDescriptor.bytes, StreaksDescriptor.hash) }
    public static let features = [
        CoreFeature.feature(extensions), MutualFeature.feature(extensions), PromptsFeature.feature(extensions),
        ProgressFeature.feature(extensions), RemindersFeature.feature(extensions),
        GoodsFeature.feature(),
    ]
    public static var commands: [ProgramCommand] { StreaksCommands.all }

    /// What the features add to the store of streaks.
    static let extensions = StreakExtensions(kinds: [MutualEvents()], followers: [ProgressFollower(), ReminderFollower()])
}
