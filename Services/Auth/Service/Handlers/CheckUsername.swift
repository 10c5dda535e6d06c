internal import AuthAPI
internal import AuthDomain
internal import Bus

extension AuthService {
    /// AU-10. A name that nobody may have is answered like one that is taken, with the reason: the app asks while people type.
    func checkUsername(_ request: CheckUsernameRequest, context _: CallContext) async throws -> CheckUsernameReply {
        let name = request.username
        guard Username.isValid(name) else { return CheckUsernameReply(username: name, available: false, problem: .invalid) }
        if Username.isReserved(name) { return CheckUsernameReply(username: name, available: false, problem: .reserved) }
        let isTaken = try await accounts.isTaken(username: name)
        return CheckUsernameReply(username: name, available: !isTaken, problem: isTaken ? .taken : nil)
    }
}
