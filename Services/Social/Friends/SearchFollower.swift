package import AuthAPI
package import Database
internal import SocialCore

/// Keeps the search index in step with the profiles (SO-5).
package struct SearchFollower: ProfileFollower {
    package init() {}

    package func profileChanged(_ state: ProfileState, _ sql: Transaction) async throws {
        try await SearchRepository.store(state, sql)
    }
}
