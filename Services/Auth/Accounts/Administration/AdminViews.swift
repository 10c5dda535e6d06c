internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Kernel
internal import ServiceRuntime

extension AccountEntry {
    init(_ account: Account) {
        self.init(
            userID: account.id,
            email: account.email,
            username: account.username,
            displayName: account.displayName,
            status: account.status,
            isAdmin: account.isAdmin,
            createdAt: account.createdAt
        )
    }
}

extension AccountStanding {
    init(_ life: AccountLife, of user: UserID) {
        self.init(
            userID: user,
            status: AccountStatus(rawValue: life.status.rawValue),
            suspendedUntil: life.suspendedUntil,
            bannedAt: life.bannedAt,
            deletedAt: life.deletedAt,
            purgeAt: life.purgeAt
        )
    }
}

/// A place in a list of accounts: a flag for the list of display names, and the id.
struct AccountListPlace: CursorPosition {
    let place: AccountPlace

    init(_ found: FoundAccount) { place = AccountPlace(id: found.account.id, isByDisplayName: found.isByDisplayName) }

    init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count == 17, let list = bytes.first, list <= 1 else { return nil }
        let halves = (0..<2).map { half in
            bytes.dropFirst(1 + half * 8).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        place = AccountPlace(id: UserID(high: halves[0], low: halves[1]), isByDisplayName: list == 1)
    }

    var bytes: [UInt8] {
        let id = [place.id.high, place.id.low].flatMap { half in
            (0..<8).map { UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * $0)) }
        }
        return [place.isByDisplayName ? 1 : 0] + id
    }
}
