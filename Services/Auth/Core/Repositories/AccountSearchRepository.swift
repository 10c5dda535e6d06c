package import AuthDomain
package import Database
package import Kernel

/// An account that a search has found, and in which of its lists: usernames come before display names.
package struct FoundAccount: Sendable {
    package let account: Account
    package let isByDisplayName: Bool
}

/// The last account of a page of a search.
package struct AccountPlace: Hashable, Sendable {
    package let id: UserID
    package let isByDisplayName: Bool

    package init(id: UserID, isByDisplayName: Bool) { (self.id, self.isByDisplayName) = (id, isByDisplayName) }
}

/// Searches accounts for administrators, deleted ones too. Each statement walks along one index from where the page before ended.
package struct AccountSearchRepository: Sendable {
    let database: Database

    /// In the service's schema.
    package init(database: Database) { self.database = database }

    /// Up to `limit` accounts after a place.
    package func accounts(_ search: AccountSearch, after place: AccountPlace?, limit: Int) async throws -> [FoundAccount] {
        switch search {
        case .everyone:
            let newest = place?.id ?? UserID(high: .max, low: .max)
            return try await found("WHERE id < \(newest) ORDER BY id DESC LIMIT \(limit)")
        case .id(let id):
            return place == nil ? try await found("WHERE id = \(id)") : []
        case .email(let beginning):
            return try await found(Self.beginning("email_key", with: beginning, after: place?.id, limit: limit))
        case .name(let beginning):
            var accounts: [FoundAccount] = []
            if place?.isByDisplayName != true {
                accounts = try await found(Self.beginning("username", with: beginning, after: place?.id, limit: limit))
            }
            guard accounts.count < limit else { return accounts }
            let last = place?.isByDisplayName == true ? place?.id : nil
            let rest = limit - accounts.count
            return accounts + (try await found(Self.named(beginning, after: last, limit: rest), isByDisplayName: true))
        }
    }

    private func found(_ rest: Query, isByDisplayName: Bool = false) async throws -> [FoundAccount] {
        try await database.query("SELECT \(AccountRepository.columns) FROM account \(rest)").map {
            FoundAccount(account: try AccountRepository.account($0), isByDisplayName: isByDisplayName)
        }
    }

    /// Those whose display name begins with a text and whose username does not: these come in the other list.
    private static func named(_ text: String, after last: UserID?, limit: Int) -> Query {
        beginning("lower(display_name)", with: text, after: last, limit: limit, "AND NOT starts_with(username, \(text))")
    }

    private static func beginning(
        _ key: StaticString,
        with text: String,
        after last: UserID?,
        limit: Int,
        _ condition: Query = ""
    ) -> Query {
        let key: Query = "\(raw: key) COLLATE \"C\""
        // No text with this beginning comes after it and the last character there is.
        let end = text + "\u{10FFFF}"
        let rest: Query = last.map { "AND (\(key), id) > ((SELECT \(key) FROM account WHERE id = \($0)), \($0))" } ?? ""
        return """
            WHERE \(key) >= \(text) AND \(key) < \(end) \(condition) \(rest)
            ORDER BY \(key), id LIMIT \(limit)
            """
    }
}
