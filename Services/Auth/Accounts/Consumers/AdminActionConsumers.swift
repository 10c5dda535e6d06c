internal import AuthAPI
internal import AuthCore
internal import BillingAPI
internal import CommonAPI
internal import Kernel
internal import Outbox
internal import SocialAPI
internal import StreaksAPI

/// What administrators did in other services comes into the audit log. Decisions about reports come by `ModerationConsumer`.
enum AdminActionConsumers {
    static let all: [EventHandler] = [
        EventHandler(BillingAdminActed.self) { event, work in
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
        },
        EventHandler(SocialAdminActed.self) { event, work in
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
        },
        EventHandler(StreaksAdminActed.self) { event, work in
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
        },
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

    private static func insert(_ action: AdminAction, _ work: UnitOfWork) async throws {
        try await AdminActionRepository.insert([action], work.sql)
    }
}
