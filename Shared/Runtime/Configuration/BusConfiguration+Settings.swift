public import Bus

extension BusConfiguration {
    /// The bus as the settings name it; the inbox prefix is the executable's own (D9).
    ///
    /// - Throws: `Settings.Invalid`.
    public init(_ settings: Settings, name: String) throws {
        self.init(
            url: try settings.get(CommonSettings.natsURL),
            name: name,
            user: try settings.find(CommonSettings.natsUser) ?? name,
            password: try settings.find(CommonSettings.natsPassword),
            inboxPrefix: "_INBOX.\(name)"
        )
    }
}
