import Foundation
import Kernel
import NotificationsAPI
import Synchronization
import TestSupport

/// What `auth` asks `notifications` to send, in the place of `notifications`.
final class Mailbox: Sendable {
    private struct State {
        var mails: [SendMailRequest] = []
        var calls = 0
        var refusal: ServiceError?
    }

    private let state = Mutex(State())

    /// What it answers to each mail, as a service that is away or of another version; nil: it takes them.
    var refusal: ServiceError? {
        get { state.withLock { $0.refusal } }
        set { state.withLock { $0.refusal = newValue } }
    }

    /// How often it was called.
    var calls: Int { state.withLock { $0.calls } }

    /// Takes a mail once for its operation, as `notifications` does.
    func take(_ request: SendMailRequest) throws -> SendMailReply {
        try state.withLock { state in
            state.calls += 1
            if let refusal = state.refusal { throw refusal }
            if !state.mails.contains(where: { $0.operationID == request.operationID }) { state.mails.append(request) }
        }
        return SendMailReply()
    }

    /// Mails to an address, oldest first.
    func mails(to address: String, _ kind: MailKind? = nil) -> [SendMailRequest] {
        state.withLock { $0.mails.filter { $0.address == address && (kind == nil || $0.kind == kind) } }
    }

    /// Waits for so many mails of a kind to an address. - Returns: the newest.
    func newest(_ kind: MailKind, to address: String, count: Int = 1) async throws -> SendMailRequest {
        try await eventually("mail \(count) of \(kind) to \(address)") { mails(to: address, kind).count >= count }
        guard let mail = mails(to: address, kind).last else { throw CancellationError() }
        return mail
    }

    /// The token in the newest mail of a kind to an address.
    func token(_ kind: MailKind, to address: String, count: Int = 1) async throws -> String {
        let link = try await newest(kind, to: address, count: count).values?.link ?? ""
        return String(link.split(separator: "?")[0].split(separator: "/").last ?? "")
    }
}
