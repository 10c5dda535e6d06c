internal import Kernel
internal import Runtime

/// Whose purchases in the stores' sandboxes count: they cost nothing (`billing.accept-sandbox`).
enum SandboxRule: SettingValue, CustomStringConvertible {
    case none
    case all
    /// Of these accounts: those of app review, for example.
    case accounts(Set<UserID>)

    init?(settingText text: String) {
        switch text {
        case "false": self = .none
        case "true": self = .all
        default:
            let names = text.settingEntries
            let ids = names.compactMap { UserID($0) }
            guard !ids.isEmpty, ids.count == names.count else { return nil }
            self = .accounts(Set(ids))
        }
    }

    static var settingTypeName: String { "true, false, or ids of accounts separated by commas" }

    var description: String {
        switch self {
        case .none: "false"
        case .all: "true"
        case .accounts(let ids): ids.sorted().map(\.description).joined(separator: ",")
        }
    }

    /// The same of a user who may not be known yet: then the event waits for one.
    func mayAccept(_ user: UserID?) -> Bool {
        if case .none = self { return false }
        return user.map(accepts) ?? true
    }

    func accepts(_ user: UserID) -> Bool {
        switch self {
        case .none: false
        case .all: true
        case .accounts(let ids): ids.contains(user)
        }
    }
}
