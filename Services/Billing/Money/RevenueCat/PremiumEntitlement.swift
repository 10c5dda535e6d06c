internal import Runtime

/// Which of RevenueCat's entitlements means premium (`billing.premium-entitlement`). A purchase gives premium by naming it, whatever its kind.
struct PremiumEntitlement: SettingValue, CustomStringConvertible {
    /// As it is called at RevenueCat.
    let name: String

    /// nil for a blank text: no purchase would give premium.
    init?(settingText text: String) {
        guard let name = text.settingEntries.first, name == text else { return nil }
        self.name = name
    }

    private init(name: String) { self.name = name }

    static let premium = PremiumEntitlement(name: "premium")

    static var settingTypeName: String { "the name of one entitlement" }

    var description: String { name }
}
