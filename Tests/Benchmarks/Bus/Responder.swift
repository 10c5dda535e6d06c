import Bus
import CNats
import Foundation
import Kernel
import Logging

/// The answering process: both echoes, so that both clients meet the same machine.
enum Responder {
    static func run(url: String) async throws {
        let bus = try await BusConnection.connect(BusConfiguration(url: url, name: "bench"), logger: Logger(label: "bench"))
        let service = BusService(
            connection: bus,
            name: "bench",
            version: "1.0.0",
            endpoints: [Endpoint(service: "bench", version: "v1", name: "Echo") { body, _ in body }],
            logger: Logger(label: "bench")
        )
        try await service.start()
        let raw = try Raw(url: url)
        try raw.answer("raw.echo")
        print("ready")
        fflush(nil)
        // Until the process that started it ends it.
        while true { try await Task.sleep(for: .seconds(60)) }
    }
}

/// A connection of plain nats.c, tuned as the bus tunes its own.
final class Raw: @unchecked Sendable {
    // nats.c locks inside.
    let connection: OpaquePointer
    private var subscription: OpaquePointer?

    struct Failed: Error {}

    init(url: String) throws {
        var options: OpaquePointer?
        natsOptions_Create(&options)
        defer { natsOptions_Destroy(options) }
        natsOptions_SetURL(options, url)
        natsOptions_SetSendAsap(options, true)
        var pointer: OpaquePointer?
        guard natsConnection_Connect(&pointer, options) == NATS_OK, let pointer else { throw Failed() }
        connection = pointer
    }

    func answer(_ subject: String) throws {
        guard natsConnection_Subscribe(&subscription, connection, subject, rawEcho, nil) == NATS_OK,
            natsConnection_Flush(connection) == NATS_OK
        else { throw Failed() }
    }

    /// One blocking request of nats.c.
    func request(_ subject: String, headers: [(String, String)], body: [UInt8]) throws {
        var message: OpaquePointer?
        var reply: OpaquePointer?
        defer {
            natsMsg_Destroy(message)
            natsMsg_Destroy(reply)
        }
        let status = body.withUnsafeBytes { bytes -> natsStatus in
            natsMsg_Create(&message, subject, nil, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
            for (name, value) in headers { natsMsgHeader_Set(message, name, value) }
            return natsConnection_RequestMsg(&reply, connection, message, 5_000)
        }
        guard status == NATS_OK, Int(natsMsg_GetDataLength(reply)) == body.count else { throw Failed() }
    }
}

private func rawEcho(
    _ connection: OpaquePointer?,
    _: OpaquePointer?,
    _ message: OpaquePointer?,
    _: UnsafeMutableRawPointer?
) {
    natsConnection_Publish(connection, natsMsg_GetReply(message), natsMsg_GetData(message), natsMsg_GetDataLength(message))
    natsMsg_Destroy(message)
}
