import Foundation

/// What a call has beside its request.
struct Extras {
    var file: UploadFile?
    var progress: UploadProgress.Handler?
    var destination: URL?
}

// One call: its attempts, its token, its deadline.
extension StreakSnap {
    /// Sends until there is a success, a refusal that stays one, or the deadline.
    func send(_ prepared: PreparedRequest, _ route: Route, _ extras: Extras, _ options: CallOptions) async throws
        -> TransportReply
    {
        try await send(prepared, extras, options, Demand(auth: route.auth, silence: max(route.timeout * 2, .seconds(30))))
    }

    /// What a call asks of the client.
    struct Demand {
        var auth: Route.Auth
        var silence: Duration
    }

    func send(
        _ prepared: PreparedRequest,
        _ extras: Extras,
        _ options: CallOptions,
        _ demand: Demand
    ) async throws -> TransportReply {
        let key = prepared.verb == "GET" ? nil : options.idempotencyKey ?? surroundings.name()
        let limit = options.deadline ?? (prepared.isForm ? .seconds(600) : max(.seconds(60), demand.silence))
        let end = ContinuousClock.now + limit
        let policy = options.retries ?? settings.retries
        let (body, contentType, temporary) = try form(prepared, extras, key)
        defer { if let temporary { try? FileManager.default.removeItem(at: temporary) } }
        var request = try transportRequest(prepared, key, contentType, body, demand.silence)
        request.destination = extras.destination
        request.progress = extras.progress
        var attempt = 1
        var hasRenewed = false
        // A renewal is sent again by itself: its failure is that of the call.
        var isRenewing = false
        while true {
            try Task.checkCancellation()
            let remaining = ContinuousClock.now.duration(to: end)
            guard remaining > .zero else { throw StreakSnapError(kind: .timedOut, message: "The deadline has passed.") }
            do {
                let session = try await authorise(&request, demand.auth, &isRenewing)
                let reply = try await self.reply(to: request, before: end)
                if (200..<300).contains(reply.status) { return reply }
                let error = ErrorReader.error(reply)
                if error.isAboutToken, let session, session.refreshToken != nil, !hasRenewed {
                    (hasRenewed, isRenewing) = (true, true)
                    _ = try await renewed(session)
                    isRenewing = false
                    continue
                }
                throw error
            } catch let error as StreakSnapError {
                let left = ContinuousClock.now.duration(to: end)
                guard !isRenewing,
                    let pause = policy.pause(after: error, attempt: attempt, random: surroundings.fraction(), remaining: left)
                else { throw error }
                try await surroundings.sleep(pause)
                attempt += 1
            }
        }
    }

    private func reply(to request: TransportRequest, before end: ContinuousClock.Instant) async throws -> TransportReply {
        try await withThrowingTaskGroup(of: TransportReply?.self) { [transport] group in
            group.addTask { try await transport.send(request) }
            group.addTask {
                try await Task.sleep(until: end, clock: .continuous)
                return nil
            }
            defer { group.cancelAll() }
            guard case let reply?? = try await group.next() else {
                throw StreakSnapError(kind: .timedOut, message: "The server did not answer before the deadline.")
            }
            return reply
        }
    }

    /// Sets the token. Without a session a method that needs one is not sent at all.
    private func authorise(
        _ request: inout TransportRequest,
        _ auth: Route.Auth,
        _ isRenewing: inout Bool
    ) async throws -> Session? {
        guard auth != .none else { return nil }
        guard var session = try await sessions.current() else {
            throw StreakSnapError(kind: .signedOut, code: .authenticationRequired, message: "No user is signed in.")
        }
        // An upload that is refused for its token is sent a second time as a whole: renew it before.
        if session.refreshToken != nil, session.expiresAt < surroundings.now().addingTimeInterval(10) {
            isRenewing = true
            session = try await renewed(session)
            isRenewing = false
        }
        request.headers["Authorization"] = "Bearer \(session.accessToken)"
        return session
    }

    /// A session in place of one whose access token has ended.
    func renewed(_ session: Session) async throws -> Session {
        try await sessions.renewed(session) { [self] stale in
            guard let token = stale.refreshToken else {
                throw StreakSnapError(kind: .signedOut, code: .authenticationRequired, message: "The session has ended.")
            }
            let prepared = try PreparedRequest(Auth.AccountsEndpoints.refresh.route, Auth.RefreshRequest(refreshToken: token))
            let options = CallOptions(idempotencyKey: stale.refreshKey)
            do {
                let reply = try await send(prepared, Auth.AccountsEndpoints.refresh.route, Extras(), options)
                return self.session(try Auth.AccountsEndpoints.refresh.value(of: reply))
            } catch var error as StreakSnapError
                where error.kind == .refused && (400..<500).contains(error.status ?? 0)
                && !error.isTransient
            {
                error.kind = .signedOut
                throw error
            }
        }
    }

    private func form(
        _ prepared: PreparedRequest,
        _ extras: Extras,
        _ key: String?
    ) throws -> (body: TransportBody, contentType: String?, temporary: URL?) {
        switch prepared.content {
        case .none: return (prepared.verb == "GET" ? .none : .data(Data()), nil, nil)
        case .json(let data): return (.data(data), "application/json", nil)
        case .raw(let contentType, let data): return (.data(data), contentType, nil)
        case .form(let part, let fields):
            let form = Multipart(boundary: "streaksnap-\(surroundings.name())", part: part, fields: fields, file: extras.file)
            let body = try form.body(in: settings.temporaryFolder)
            if case .file(let file) = body { return (body, form.contentType, file) }
            return (body, form.contentType, nil)
        }
    }

    func transportRequest(
        _ prepared: PreparedRequest,
        _ key: String?,
        _ contentType: String?,
        _ body: TransportBody,
        _ silence: Duration
    ) throws -> TransportRequest {
        let base = url.absoluteString.hasSuffix("/") ? String(url.absoluteString.dropLast()) : url.absoluteString
        guard let address = URL(string: base + prepared.target) else {
            throw StreakSnapError(kind: .badReply, message: "\(prepared.target) is no address.")
        }
        var headers = prepared.headers
        headers["User-Agent"] = settings.userAgent
        headers["Accept"] = "application/json, */*"
        headers["Idempotency-Key"] = key
        headers["Content-Type"] = contentType
        return TransportRequest(url: address, verb: prepared.verb, headers: headers, body: body, silence: silence)
    }
}

extension PreparedRequest {
    var isForm: Bool {
        if case .form = content { return true }
        return false
    }
}
