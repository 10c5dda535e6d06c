internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import ServiceRuntime

/// Hands queued pushes to the provider (NO-3, NO-6).
///
/// One turn: a transaction claims up to 100 pushes and notes that they are handed over; the provider is asked; a transaction stores its
/// answers. A process that dies before the first commit has done nothing. One that dies between the two leaves pushes whose hand-over is
/// noted and whose answer is not: when the claim has run out, after 60 s, they are handed over once more, and if that is unanswered too, no
/// third time (`DeliveryLife`). So a crash sends a push at most twice, and loses one only if it strikes twice the same one.
///
/// A provider that did not answer gets no push until it has answered a hand-over of no pushes: so however long it is silent, that costs a
/// push one of its two hand-overs. After it, pushes on their last one go alone in a request, behind all
/// others, until one was taken.
struct PushJob: Sendable {
    /// Turns at once in one replica: as many as all replicas together have connections for pushes (`push_slot`), so that one replica keeps the
    /// provider busy while it takes up to a second for an answer.
    static let lanes = ProviderRepository.pushSlots

    let core: NotificationsCore
    /// nil: pushes are off.
    let client: ExpoClient?
    let outcomes: PushOutcomes
    let work: UnitOfWorkFactory
    let ids: any IDSource

    var job: Job {
        Job(
            "pushes",
            every: .seconds(1),
            lanes: Self.lanes,
            oldestDue: { [core] in try await DeliveryRepository.oldestDue(core.log.database) }
        ) { [self] _ in
            // What was handed over must be noted, also when the process is about to end.
            try await Task { try await takeTurn() }.value
        }
    }

    /// What a turn has begun.
    private struct Turn: Sendable {
        var pushes: [Push] = []
        var handled = 0
        var slot: Int32?
        var wait = Interval.zero
        var isProbe = false
        var plan: PushPlan?
    }

    /// - Returns: how many pushes were dealt with.
    private func takeTurn() async throws -> Int {
        let holder: OperationID = ids.make()
        let turn = try await begin(holder)
        if let plan = turn.plan { outcomes.note(plan) }
        guard let slot = turn.slot, let client else { return turn.handled }
        do {
            if turn.isProbe {
                try await probe(client)
            } else {
                try await Task.sleep(for: .microseconds(turn.wait.microseconds))
                let handOver = PushHandOver(
                    client: client,
                    outcomes: outcomes,
                    work: work,
                    slot: slot,
                    holder: holder,
                    isFirst: true
                )
                try await handOver.send(turn.pushes)
            }
        } catch {
            try? await free(slot, holder)
            throw error
        }
        try await free(slot, holder)
        return turn.handled
    }

    private func free(_ slot: Int32, _ holder: OperationID) async throws {
        try await work.run(trace: "", requestID: "") { work in try await ProviderRepository.freeSlot(slot, holder, work.sql) }
    }

    private func begin(_ holder: OperationID) async throws -> Turn {
        try await work.run(trace: "", requestID: "") { work in
            var turn = Turn()
            let gate = client == nil ? ProviderRepository.Gate.open : try await ProviderRepository.gate(work.sql)
            switch gate {
            case .closed: return turn
            case .probe:
                turn.isProbe = true
                turn.slot = try await ProviderRepository.takeSlot(holder, isForPushes: false, work.sql)
                return turn
            case .open: break
            }
            let due = try await DeliveryRepository.lockDue(at: work.now, limit: ExpoClient.mostPushes, work.sql)
            guard !due.isEmpty else { return turn }
            let trust = client == nil ? ProviderRepository.Trust.full : try await ProviderRepository.trust(work.sql)
            guard trust != .none else { return turn }
            // Before anything is read for them: without a connection they stay as they are.
            let slot =
                client == nil ? nil : try await ProviderRepository.takeSlot(holder, isForPushes: true, work.sql)
            guard client == nil || slot != nil else { return turn }
            var plan = try await PushPlan(due, core: core, isOn: client != nil, work)
            if trust == .doubtful { plan.spareLastChances() }
            try await DeliveryRepository.store(plan.results, from: .queued, work.sql)
            turn.plan = plan
            turn.handled = plan.results.count
            guard let slot, let client else { return turn }
            guard !plan.pushes.isEmpty else {
                try await ProviderRepository.freeSlot(slot, holder, work.sql)
                return turn
            }
            try await DeliveryRepository.noteHandOver(plan.pushes.map(\.delivery.id), work.sql)
            turn.slot = slot
            turn.pushes = plan.pushes
            turn.handled = due.count
            turn.wait = try await ProviderRepository.reserve(plan.pushes.count, rate: client.rate, work.sql)
            return turn
        }
    }

    /// Hands over nothing, to see whether the provider answers again.
    private func probe(_ client: ExpoClient) async throws {
        let answer = await client.probe()
        let random = ids.fraction()
        try await work.run(trace: "", requestID: "") { work in
            switch answer {
            case .answered, .refused: try await ProviderRepository.noteAnswer(work.sql)
            case .away(let asked): try await ProviderRepository.noteFailedProbe(random: random, asked: asked, work.sql)
            case .silent: try await ProviderRepository.noteFailedProbe(random: random, asked: nil, work.sql)
            }
        }
    }
}

extension IDSource {
    /// Evenly in 0..<1: the random bits of a new id.
    func fraction() -> Double {
        let id: OperationID = make()
        return Double(id.low & 0xFFFF_FFFF) / 4_294_967_296
    }
}
