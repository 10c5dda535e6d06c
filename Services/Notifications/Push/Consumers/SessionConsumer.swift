internal import AuthAPI
internal import Kernel
internal import NotificationsCore
internal import Outbox

/// A device ends with its session (NO-3).
enum SessionConsumer {
    static let all: [EventHandler] = [
        EventHandler(SessionsEnded.self) { event, work in
            // In the order of their ids, so that no two transactions wait for each other.
            for session in event.sessionIDs.sorted() {
                try await EndedSessionRepository.lock(session, work.sql)
                try await EndedSessionRepository.note(session, of: event.userID, at: work.now, work.sql)
            }
            _ = try await DeviceRepository.remove(sessions: event.sessionIDs, of: event.userID, work.sql)
        }
    ]
}
