package import AuthAPI
package import Database

/// What a feature does in the transaction that stores a new state of a profile. The list of features of the service puts the followers
/// together; they are the same in every replica, whichever features it runs.
package protocol ProfileFollower: Sendable {
    /// Follows a state that is newer than what was known.
    func profileChanged(_ state: ProfileState, _ sql: Transaction) async throws
}
