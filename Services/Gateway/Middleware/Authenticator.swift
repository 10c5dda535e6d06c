internal import Bus
internal import Kernel
internal import Logging
internal import Tokens
internal import Transcoding

/// Who a request comes from, and whether they may use the route (AU-3). No bus call per request.
struct Authenticator: Sendable {
    let verifier: TokenVerifier
    let revocations: Revocations

    /// Who a request comes from.
    struct Caller: Sendable {
        let token: AccessToken

        var principal: Principal {
            Principal(
                userID: token.userID,
                role: Principal.Role(rawValue: token.role.rawValue) ?? .guest,
                sessionID: token.sessionID
            )
        }
    }

    /// The caller of a request; nil where none has to be known.
    ///
    /// - Parameter authorization: the header as sent; nil without one.
    /// - Throws: `UNAUTHENTICATED` (`AUTHENTICATION_REQUIRED`, `INVALID_TOKEN`, `TOKEN_EXPIRED`, `SESSION_REVOKED`) and
    ///   `PERMISSION_DENIED` for roles that may not use the route.
    func caller(_ authorization: String?, for auth: MethodPolicy.Auth) async throws -> Caller? {
        switch auth {
        case .none, .secret: return nil
        case .internal: throw ServiceError.noRoute
        case .guest, .user, .admin: break
        }
        guard let token = authorization.flatMap(Self.bearer) else { throw Self.noToken(authorization) }
        let access = try verifier.verify(token)
        guard revocations.isComplete else { throw ServiceError.unavailable("Sessions cannot be checked yet.") }
        guard !revocations.contains(access) else { throw ServiceError.sessionRevoked }
        if auth == .user && access.role == .guest {
            throw ServiceError(.permissionDenied, "GUEST_NOT_ALLOWED", "Guests may not do this; sign up first.")
        }
        if auth == .admin && access.mustEnrol {
            throw ServiceError(
                .permissionDenied,
                "SECOND_FACTOR_ENROLMENT_REQUIRED",
                "Administrators need a second factor here: get one, then refresh your tokens."
            )
        }
        if auth == .admin && access.role != .admin {
            throw ServiceError(.permissionDenied, "ADMIN_ONLY", "Only administrators may do this.")
        }
        return Caller(token: access)
    }

    private static func noToken(_ header: String?) -> ServiceError {
        ServiceError(
            .unauthenticated,
            "AUTHENTICATION_REQUIRED",
            header == nil
                ? "Sign in first: Authorization: Bearer <access token>."
                : "The header Authorization must be the word Bearer once, a space and the access token."
        )
    }

    private static func bearer(_ header: String) -> String? {
        guard header.utf8.count > 7,
            header.utf8.prefix(7).elementsEqual("Bearer ".utf8) || header.lowercased().hasPrefix("bearer ")
        else { return nil }
        let token = header.dropFirst(7)
        return token.contains(" ") ? nil : String(token)
    }
}

extension ServiceError {
    /// No service has this path, or it is not for callers from outside.
    static let noRoute = unknownRoute(near: nil)

    /// - Parameter route: the one that was probably meant.
    static func unknownRoute(near route: String?) -> ServiceError {
        let meant = route.map { "There is no such route: did you mean \($0)?" } ?? "There is no such route."
        return ServiceError(.notFound, "NOT_FOUND", "\(meant) /docs lists those that there are.")
    }
}

extension ServiceError {
    /// What a client sees of the error of a service. A seal that was refused is a mistake of the installation, or an attack
    /// inside it: no client is to sign in anew for it.
    func asSeenByClients(_ method: String, _ logger: Logger) -> ServiceError {
        guard isOfSeal else { return self }
        logger.error(
            "a service has refused what was sealed: are its key and the gateway's the same?",
            metadata: ["method": "\(method)"]
        )
        return .unavailable()
    }
}
