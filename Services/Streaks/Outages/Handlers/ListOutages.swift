internal import Bus
internal import Database
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// The declared outages, the one that began last first.
struct ListOutages: QueryHandler {
    let database: Database

    func handle(_ request: ListOutagesRequest, _ context: CallContext) async throws -> ListOutagesReply {
        _ = try context.requireAdmin()
        let page = try Page<PageCursor>(request, context)
        let found = try await OutageRepository.list(
            before: page.position.map { ($0.instant, $0.id()) },
            limit: page.limit + 1,
            database
        )
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.from, $0.id) }
        return ListOutagesReply(outages: shown.map { Outage($0) }, meta: meta)
    }
}

extension Outage {
    init(_ declared: DeclaredOutage) {
        self.init(
            outageID: declared.id,
            from: declared.from,
            until: declared.until,
            reason: declared.reason,
            status: OutageStatus(declared.standing),
            settledStreaks: declared.settledStreaks
        )
    }
}

extension OutageStatus {
    init(_ standing: DeclaredOutage.Standing) {
        switch standing {
        case .waiting: self = .waiting
        case .underWay: self = .underWay
        case .done: self = .done
        }
    }
}
