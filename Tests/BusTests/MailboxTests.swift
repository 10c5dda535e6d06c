import CNats
import Kernel
import TestSupport
import Testing

@testable import Bus

extension BrokerTests {
    /// Messages that nats.c has and the loop is to pass on.
    @Suite struct MailboxTests {
        /// A subscription that the loop does not know yet, and its messages in nats.c.
        private func subscribe(
            _ bus: BusConnection,
            _ subject: String,
            messages: Int,
            kept: Int,
            limit: Int32
        ) async throws -> (NatsHandle, NativeSubscription) {
            let handle = try #require(bus.link.withLock { $0.handle })
            var pointer: OpaquePointer?
            #expect(natsConnection_SubscribeSync(&pointer, handle.pointer, subject) == NATS_OK)
            let native = NativeSubscription(try #require(pointer), subject: subject, socket: handle.socket)
            #expect(natsSubscription_SetPendingLimits(native.pointer, limit, -1) == NATS_OK)
            try await bus.flush()
            for _ in 0..<messages { try bus.publish(subject, body: []) }
            try await bus.flush()
            try await eventually("the messages are in nats.c") {
                var count: Int32 = 0
                return natsSubscription_GetPending(native.pointer, &count, nil) == NATS_OK && count == kept
            }
            return (handle, native)
        }

        @Test(arguments: [(messages: 1, kept: 1), (messages: 3, kept: 3), (messages: 9, kept: 4)])
        func `what has arrived before the loop knew of its subscription is passed on at once, also when more were dropped`(
            messages: Int,
            kept: Int
        ) async throws {
            try await withBus { _, bus in
                let (handle, native) = try await subscribe(bus, "late", messages: messages, kept: kept, limit: 4)
                let arrived = Shared(0)
                let target = ClosureTarget { _ in arrived.update { $0 += 1 } }
                let mailbox = LoopMailbox(native, MessageReceiver(subject: "late", target: target) { _ in })
                handle.socket.add(mailbox)
                // Nothing else arrives.
                try await eventually("they are passed on", within: .seconds(20)) { arrived.value == kept }
                handle.socket.remove(mailbox)
            }
        }
    }
}
