public import Runtime

/// What the setting `quotas` says: other limits than the declared ones (`Quota`).
public struct QuotaLimits: Sendable {
    /// By table.
    let rows: [String: Int]

    /// - Parameter text: `table=rows`, separated by commas.
    /// - Throws: `Settings.Invalid` for an entry that is something else.
    public init(_ text: String) throws(Settings.Invalid) {
        var rows: [String: Int] = [:]
        for entry in text.settingEntries {
            let parts = entry.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let most = Int(parts[1]), (1...1_000_000_000).contains(most) else {
                throw ServiceSettings.quotas.invalid("must be table=rows, separated by commas, not “\(entry)”.")
            }
            rows[String(parts[0])] = most
        }
        self.rows = rows
    }

    /// Refuses a misspelt table: its limit would hold for nothing.
    ///
    /// - Parameter tables: those that have a quota.
    /// - Throws: `Settings.Invalid` naming one that is not among them.
    public func check(_ tables: Set<String>) throws(Settings.Invalid) {
        guard let unknown = Set(rows.keys).subtracting(tables).min() else { return }
        let known = tables.isEmpty ? "no table has one" : "those of \(tables.sorted().joined(separator: ", ")) can be set"
        throw ServiceSettings.quotas.invalid("names the quota of “\(unknown)”, which there is not: \(known).")
    }

    /// As the setting of a service, with its own tables.
    public func text(of tables: Set<String>) -> String {
        rows.filter { tables.contains($0.key) }.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: ",")
    }
}

extension ServiceModule {
    /// The tables whose rows of one user have a quota, which the setting `quotas` may name.
    public static var quotaTables: Set<String> { Set(personalData.flatMap(\.tables).compactMap { $0.quota?.table }) }
}
