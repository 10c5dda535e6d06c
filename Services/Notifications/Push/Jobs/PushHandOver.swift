internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox

/// One hand-over of claimed pushes: asks the provider, and stores what it answers.
struct PushHandOver: Sendable {
    let client: ExpoClient
    let outcomes: PushOutcomes
    let work: UnitOfWorkFactory
    let slot: Int32
    let holder: OperationID
    /// Whether the claim and the time of these pushes are fresh: not so for the parts of a request that was refused.
    let isFirst: Bool

    private var next: PushHandOver {
        PushHandOver(client: client, outcomes: outcomes, work: work, slot: slot, holder: holder, isFirst: false)
    }

    /// Sends up to 100 pushes. A request that is refused for one of them is sent again without it, or in halves until it is found.
    func send(_ pushes: [Push]) async throws {
        guard !pushes.isEmpty, try await mayGoOn(pushes) else { return }
        switch await client.send(pushes.map(\.message)) {
        case .answered(let tickets): try await outcomes.store(tickets, of: pushes)
        case .away(let asked): try await outcomes.storeAway(pushes, asked: asked)
        case .silent: try await outcomes.storeSilence(pushes)
        case .refused(_, let errors):
            if let ours = Self.ours(among: pushes, errors, project: outcomes.project) {
                try await outcomes.storeRefusal(pushes.filter { !ours.contains($0.message.to) }, "OtherProject", endsDevice: true)
                try await next.send(pushes.filter { ours.contains($0.message.to) })
            } else if pushes.count == 1 {
                try await outcomes.storeRefusal(pushes, errors.compactMap(\.code).first ?? "Refused", endsDevice: false)
            } else {
                let half = pushes.count / 2
                try await next.send(Array(pushes[..<half]))
                try await next.send(Array(pushes[half...]))
            }
        }
    }

    /// Lengthens the claims and reserves time, for parts of a refused request. - Returns: false when another replica has them by now.
    private func mayGoOn(_ pushes: [Push]) async throws -> Bool {
        if isFirst { return true }
        let wait = try await work.run(trace: "", requestID: "") { work -> Interval? in
            guard try await ProviderRepository.renewSlot(slot, holder, work.sql),
                try await DeliveryRepository.renew(pushes.map(\.delivery.id), work.sql) == pushes.count
            else { return nil }
            return try await ProviderRepository.reserve(pushes.count, rate: client.rate, work.sql)
        }
        guard let wait else { return false }
        try await Task.sleep(for: .microseconds(wait.microseconds))
        return true
    }

    /// The tokens of our project when the provider refused a request because of several projects; nil for other refusals, and when it cannot
    /// be said which is ours.
    ///
    /// - Parameter project: ours, as the operator set it; empty: the one with the most tokens of the request.
    static func ours(among pushes: [Push], _ errors: [ExpoError], project: String) -> Set<String>? {
        guard let projects = errors.first(where: { $0.code == ExpoError.manyProjects })?.projects, projects.count > 1 else {
            return nil
        }
        let sent = Set(pushes.map(\.message.to))
        var ours: Set<String>?
        if !project.isEmpty {
            ours = projects[project].map(Set.init) ?? []
        } else {
            let sizes = projects.mapValues { Set($0).intersection(sent).count }
            let most = sizes.values.max() ?? 0
            let largest = sizes.filter { $0.value == most }.keys
            if largest.count == 1, let name = largest.first { ours = projects[name].map(Set.init) }
        }
        guard let ours else { return nil }
        // A token that the provider does not name at all is not at fault.
        let named = Set(projects.values.joined())
        let kept = sent.filter { ours.contains($0) || !named.contains($0) }
        // Something must have gone, or the same request would be sent for ever.
        return kept.count < sent.count ? kept : nil
    }
}
