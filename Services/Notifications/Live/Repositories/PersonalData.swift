internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Which streams of a user are open, for as long as they are.
    static let leases = PersonalData([
        PersonalTable("live_lease", users: ["user_id": .delete], growth: .bounded("5 open streams"), references: ["id"])
    ])
}
