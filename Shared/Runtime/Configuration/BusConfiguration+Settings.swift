public import Bus

extension BusConfiguration {
    /// The bus as the settings name it; the inbox prefix is the executable's own (D9). One address with `tls://` asks every server for TLS:
    /// to one that has none, or that another one stands in for, no password is sent.
    ///
    /// - Throws: `Settings.Invalid`, also for an address that is none of a broker: it would be tried for ever.
    public init(_ settings: Settings, name: String) throws {
        let setting = CommonSettings.natsURL
        let url = try settings.get(setting)
        guard url.split(separator: ",", omittingEmptySubsequences: false).allSatisfy(Self.isServer) else {
            throw setting.invalid("must be nats://host:port or tls://host:port, several separated by commas.")
        }
        self.init(
            url: url,
            name: name,
            user: try settings.find(CommonSettings.natsUser) ?? name,
            password: try settings.find(CommonSettings.natsPassword),
            inboxPrefix: "_INBOX.\(name)",
            tls: url.contains("tls://") ? TLS() : nil
        )
    }

    /// Whether a text may be the address of a server; `nats://` may be left out.
    private static func isServer(_ address: Substring) -> Bool {
        let parts = address.drop { $0 == " " }.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 ? ["nats", "tls"].contains(parts[0]) && !parts[1].isEmpty : !(parts.first?.isEmpty ?? true)
    }
}
