internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// What this feature stores itself; habits are `core`'s.
    static let habitClearing = PersonalData([
        PersonalTable("habit_clearing", users: ["user_id": .delete], growth: .perUser, references: ["token"])
    ])
}
