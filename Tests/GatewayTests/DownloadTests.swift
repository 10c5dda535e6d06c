import BlobStore
import Dispatch
import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import GatewayService

/// Stored files on their way to a client.
@Suite(.timeLimit(.minutes(5))) struct DownloadTests {
    /// A writer that takes everything at once, as a connection's does until its loop says that it is full.
    private struct Hasty: ResponseBodyWriter {
        func write(_ buffer: ByteBuffer) async throws {}
        func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }

    @Test func `no more of a file is read than the connection's loop has come to`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let read = Atomic(0)
        let chunks = BlobBody {
            let number = read.add(1, ordering: .relaxed).newValue
            return number > 1_000 ? nil : [UInt8](repeating: 1, count: 16)
        }
        // The loop has other things to do.
        let end = DispatchSemaphore(value: 0)
        loop.execute { end.wait() }
        let sending = Task {
            var writer: any ResponseBodyWriter = Hasty()
            try await MediaRoute.write(chunks, to: &writer, on: loop)
        }
        try await eventually("the first chunk is read") { read.load(ordering: .relaxed) > 0 }
        // More time than a thousand chunks need.
        for _ in 0..<20_000 { await Task.yield() }
        #expect(read.load(ordering: .relaxed) == 1)
        end.signal()
        try await sending.value
        #expect(read.load(ordering: .relaxed) == 1_001)
        try await group.shutdownGracefully()
    }
}
