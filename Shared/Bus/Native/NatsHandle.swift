internal import CNats
internal import Glibc
internal import Kernel
internal import Synchronization

/// One `natsConnection`, destroyed when the last reference is released.
final class NatsHandle: @unchecked Sendable {
    // nats.c locks internally: a connection may be used from any thread.
    let pointer: OpaquePointer
    /// Where the loop serves it.
    let socket: LoopSocket

    init(_ pointer: OpaquePointer, _ socket: LoopSocket) {
        self.pointer = pointer
        self.socket = socket
    }

    deinit { natsConnection_Destroy(pointer) }

    /// Whether nats.c has closed it. It never reconnects then.
    var isClosed: Bool { natsConnection_IsClosed(pointer) }

    /// Whether the broker can be reached now.
    var isConnected: Bool { natsConnection_Status(pointer) == NATS_CONN_STATUS_CONNECTED }

    /// How often nats.c has reconnected by itself. It counts before it sends its buffer and before it reads.
    var reconnects: UInt64 {
        var statistics: OpaquePointer?
        guard natsStatistics_Create(&statistics) == NATS_OK else { return Entropy.word() }
        defer { natsStatistics_Destroy(statistics) }
        var count: UInt64 = 0
        guard natsConnection_GetStats(pointer, statistics) == NATS_OK,
            natsStatistics_GetCounts(statistics, nil, nil, nil, nil, &count) == NATS_OK
        else { return Entropy.word() }
        return count
    }

    /// Closes it. What was just published is sent, as far as the broker takes it at once. May block.
    func close() {
        natsConnection_ProcessWriteEvent(pointer)
        natsConnection_Close(pointer)
    }

    /// Publishes one message.
    ///
    /// - Throws: `ServiceError`: the message is invalid, or `UNAVAILABLE` when the broker is down and the buffer full.
    func publish(subject: String, reply: String?, headers: BusHeaders, body: [UInt8]) throws(ServiceError) {
        guard Subject.isPublishable(subject), reply.map(Subject.isPublishable) ?? true else {
            throw .validation(field: "subject", "is not a subject")
        }
        guard body.count <= Int32.max else { throw .tooLarge }
        guard natsConnection_Buffered(pointer) < NatsOptions.reconnectBufferBytes else {
            throw .unavailable("The message bus does not answer.")
        }
        if !headers.isEmpty { try headers.check() }
        let status = body.withUnsafeBytes { bytes -> natsStatus in
            var message: OpaquePointer?
            let data = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            var status = natsMsg_Create(&message, subject, reply, data, Int32(bytes.count))
            defer { natsMsg_DestroyHere(message) }
            // nats.c reads the next header line as the value of an empty one, so empty values are left out.
            for field in headers.fields where status == NATS_OK && !field.value.utf8.isEmpty {
                status = natsMsgHeader_Add(message, field.name, field.value)
            }
            return status == NATS_OK ? natsConnection_PublishMsg(pointer, message) : status
        }
        if status != NATS_OK { throw status.asServiceError }
    }
}

extension natsStatus {
    /// The error for callers.
    var asServiceError: ServiceError {
        switch self {
        case NATS_MAX_PAYLOAD: .tooLarge
        case NATS_TIMEOUT: .unavailable("The message bus does not answer.")
        default: .unavailable("The message bus is not available.")
        }
    }

    var text: String { String(cString: natsStatus_GetText(self)) }
}

extension ServiceError {
    static let tooLarge = ServiceError(
        .resourceExhausted,
        "PAYLOAD_TOO_LARGE",
        "The message is too large."
    )
}

extension BusMessage {
    /// Copies a message of nats.c and frees it.
    ///
    /// - Parameters:
    ///   - anyReply: Whether to keep a reply subject that is not an inbox.
    ///   - isNeeded: Whether to copy headers and body of a message with this subject.
    init(taking message: OpaquePointer, anyReply: Bool = false, if isNeeded: (_ subject: String) -> Bool = { _ in true }) {
        defer { natsMsg_DestroyHere(message) }
        self.init(
            subject: natsMsg_GetSubject(message).map { String(cString: $0) } ?? "",
            reply: natsMsg_GetReply(message).flatMap { anyReply || Subject.isInbox($0) ? String(cString: $0) : nil }
        )
        guard isNeeded(subject) else { return }
        headers = BusHeaders(of: message)
        if let data = natsMsg_GetData(message) {
            body = [UInt8](UnsafeRawBufferPointer(start: data, count: Int(natsMsg_GetDataLength(message))))
        }
    }
}

extension BusHeaders {
    init(of message: OpaquePointer) {
        self.init()
        var names: UnsafeMutablePointer<UnsafePointer<CChar>?>?
        var count: Int32 = 0
        guard natsMsgHeader_Keys(message, &names, &count) == NATS_OK, let names else { return }
        defer { free(names) }
        reserveCapacity(Int(count))
        for index in 0..<Int(count) {
            guard let name = names[index] else { continue }
            var values: UnsafeMutablePointer<UnsafePointer<CChar>?>?
            var valueCount: Int32 = 0
            guard natsMsgHeader_Values(message, name, &values, &valueCount) == NATS_OK, let values else { continue }
            defer { free(values) }
            for position in 0..<Int(valueCount) {
                if let value = values[position] { append(String(cString: name), String(cString: value)) }
            }
        }
    }
}
