public import Runtime

/// What the setting `quotas` says: other limits than the declared ones (`Quota`).
public struct QuotaLimits: Sendable {
    /// By `Quota.name`.
    let most: [String: Int]

    /// - Parameter text: `table=rows` or `table.column=megabytes`, separated by commas.
    /// - Throws: `Settings.Invalid` for an entry that is something else.
    public init(_ text: String) throws(Settings.Invalid) {
        var limits: [String: Int] = [:]
        for entry in text.settingEntries {
            let parts = entry.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let most = Int(parts[1]), (1...1_000_000_000).contains(most) else {
                throw ServiceSettings.quotas.invalid("must be table=rows or table.column=megabytes, not “\(entry)”.")
            }
            limits[String(parts[0])] = most
        }
        most = limits
    }

    /// Refuses a misspelt name: its limit would hold for nothing.
    ///
    /// - Parameter names: of the quotas that there are.
    /// - Throws: `Settings.Invalid` naming one that is not among them.
    public func check(_ names: Set<String>) throws(Settings.Invalid) {
        guard let unknown = Set(most.keys).subtracting(names).min() else { return }
        let known = names.isEmpty ? "no table has one" : "those of \(names.sorted().joined(separator: ", ")) can be set"
        throw ServiceSettings.quotas.invalid("names the quota of “\(unknown)”, which there is not: \(known).")
    }

    /// As the setting of a service, with its own quotas.
    public func text(of names: Set<String>) -> String {
        most.filter { names.contains($0.key) }.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: ",")
    }
}

extension ServiceModule {
    /// The quotas that the setting `quotas` may name.
    public static var quotaNames: Set<String> { Set(personalData.flatMap(\.tables).flatMap(\.quotas).map(\.name)) }
}
