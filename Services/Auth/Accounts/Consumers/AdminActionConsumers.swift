internal import AuthAPI
internal import AuthCore
internal import BillingAPI
internal import CommonAPI
internal import Kernel
internal import Outbox
internal import SocialAPI
internal import StreaksAPI
internal import Wire

/// What administrators did in other services comes into the audit log. Decisions about reports come by `ModerationConsumer`.
enum AdminActionConsumers {
    static let all: [EventHandler] = [
        EventHandler(BillingAdminActed.self) { try await note($0, $1) },
        EventHandler(SocialAdminActed.self) { try await note($0, $1) },
        EventHandler(StreaksAdminActed.self) { try await note($0, $1) },
        EventHandler(OutageDeclared.self) { event, work in
            let interval = [event.from, event.until].map { $0.map { "\($0)" } ?? "?" }.joined(separator: " until ")
            try await insert(
                AdminAction(
                    id: event.actionID,
                    admin: event.adminID,
                    kind: .declareOutage,
                    subject: nil,
                    detail: "\(interval): \(event.reason)",
                    takenAt: event.declaredAt ?? work.now,
                    requestID: event.requestID
                ),
                work
            )
        },
    ]

    private static func note(_ event: some AdminActed, _ work: UnitOfWork) async throws {
        try await insert(
            AdminAction(
                id: event.actionID,
                admin: event.adminID,
                kind: event.kind,
                subject: event.userID,
                detail: event.detail,
                takenAt: event.takenAt ?? work.now,
                requestID: event.requestID
            ),
            work
        )
    }

    private static func insert(_ action: AdminAction, _ work: UnitOfWork) async throws {
        try await AdminActionRepository.insert([action], work.sql)
    }
}

/// What these events of all services say. Each service emits one of its own, for only it may emit under its name (D9).
private protocol AdminActed: Event {
    var actionID: AdminActionID { get }
    var adminID: UserID { get }
    var kind: AdminActionKind { get }
    var userID: UserID { get }
    var detail: String { get }
    var takenAt: Instant? { get }
    var requestID: String { get }
}

extension BillingAdminActed: AdminActed {}
extension SocialAdminActed: AdminActed {}
extension StreaksAdminActed: AdminActed {}
