internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus

/// Whether a username is free (AU-10). A reserved name is answered like one that is taken, with the reason: apps ask while a user types.
struct CheckUsername: QueryHandler {
    let accounts: AccountRepository

    func handle(_ request: CheckUsernameRequest, _: CallContext) async throws -> CheckUsernameReply {
        let name = request.username
        guard Username.isValid(name) else { return CheckUsernameReply(username: name, available: false, problem: .invalid) }
        if Username.isReserved(name) { return CheckUsernameReply(username: name, available: false, problem: .reserved) }
        let isTaken = try await accounts.isTaken(username: name)
        return CheckUsernameReply(username: name, available: !isTaken, problem: isTaken ? .taken : nil)
    }
}
