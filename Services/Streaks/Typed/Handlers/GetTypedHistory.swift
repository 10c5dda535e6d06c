internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksDomain

/// The runs of a typed streak, newest first.
struct GetTypedHistory: QueryHandler {
    let views: TypedViews

    func handle(_ request: GetTypedHistoryRequest, _ context: CallContext) async throws -> GetTypedHistoryReply {
        let user = try context.requireUser()
        let page = try Page<CalendarDate>(request, context)
        let folded = try await views.folded(request.type, of: user, isWhole: true, context)
        guard let id = folded.id, let ledger = folded.ledger, let state = folded.state else {
            return GetTypedHistoryReply(meta: page.entries([]) { $0 }.meta)
        }
        let restored = try await RestoreRepository.dates(of: id, views.store.database)
        let runs = StreakRun.all(ledger, state, restored: restored).reversed().filter { run in
            page.position.map { run.start < $0 } ?? true
        }
        let (shown, meta) = page.entries(Array(runs.prefix(page.limit + 1))) { $0.start }
        return GetTypedHistoryReply(runs: shown.map { TypedRun($0) }, meta: meta)
    }
}

extension TypedRun {
    fileprivate init(_ run: StreakRun) {
        let reason: RunEnd =
            switch run.reason {
            case .running: .running
            case .missed: .missed
            case .moderation: .moderation
            case .ended: .ended
            }
        self.init(
            length: Int32(run.length),
            startDate: run.start,
            endDate: run.end,
            breakReason: reason,
            missedDate: run.missed,
            restored: run.isRestored
        )
    }
}
