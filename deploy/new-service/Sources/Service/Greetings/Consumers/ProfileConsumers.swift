import AuthAPI
import ServiceKit

/// Keeps the names of users as `auth` emits them.
struct ProfileConsumers: Sendable {
    let visitors: VisitorRepository

    var handlers: [EventHandler] {
        [
            EventHandler(ProfileChanged.self) { event, work in
                guard let profile = event.profile else { return }
                try await visitors.rename(event.userID, profile.displayName, version: profile.version, work.sql)
            },
            // The runtime deletes the row too, from what is declared as personal data. Here it comes after the profiles that were emitted
            // before it, none of which may bring the row back.
            EventHandler(AccountPurged.self) { event, work in try await visitors.delete(event.userID, work.sql) },
        ]
    }
}
