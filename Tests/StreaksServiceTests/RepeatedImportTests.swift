import BlobStore
import Dispatch
import Foundation
import Kernel
import StreaksAPI
import Synchronization
import TestSupport
import Testing
import WorkPool

/// Imports that are sent again while they are being worked on (HA-6, PF-4).
@Suite(.timeLimit(.minutes(5))) struct RepeatedImportTests {
    private static let csv = Array("Habit Name,Date,Status,Value,Note\r\nRead,2026-05-01,Completed,,\r\n".utf8)
    private static let tooMany = ServiceError(.resourceExhausted, "TOO_MANY_IMPORTS", "Too many imports.")

    /// A pool whose only thread is held until the end, and what holds it.
    private final class HeldPool: Sendable {
        let pool = WorkPool(name: "held-test", threads: 1, queueLimit: 1, refusal: RepeatedImportTests.tooMany)
        private let mayEnd = DispatchSemaphore(value: 0)
        private let holder = Mutex<Task<Void, any Error>?>(nil)

        func hold() async throws {
            let task = Task { try await self.pool.run { self.mayEnd.wait() } }
            holder.withLock { $0 = task }
            try await eventually("it is held") { pool.load == 1 }
        }

        func release() async throws {
            mayEnd.signal()
            try await holder.withLock { $0 }?.value
        }
    }

    @Test(arguments: [true, false])
    func `a repeat is not refused by the imports before it, keeps the first one's file, and gets its answer`(isSameFile: Bool)
        async throws
    {
        try await withWorld(at: "2026-05-04T09:00:00Z") { world in
            let folder = FileManager.default.temporaryDirectory.appending(path: "habit-files-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let blobs = LocalBlobStore(folder: folder.path, logger: testLogger)
            try await blobs.prepare()
            let held = HeldPool()
            let files = HabitFileWorld(world: world, blobs: blobs, pool: held.pool)
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await held.hold()
            let file = try await files.upload(Self.csv)
            // As the gateway does it for another request with the same key.
            let again = isSameFile ? file : try await files.upload(Self.csv)
            let first = Task { try await files.bring(file, ann, key: "k") }
            try await eventually("it waits for its turn") { held.pool.load == 2 }
            let refused = await #expect(throws: ServiceError.self) {
                try await files.bring(try await files.upload(Self.csv), ben, key: "k")
            }
            #expect(refused == Self.tooMany, "as the pool is full")
            for _ in 0..<3 {
                let error = await #expect(throws: ServiceError.self) { try await files.bring(again, ann, key: "k") }
                #expect(error == .requestInProgress)
            }
            try await held.release()
            let reply = try await first.value
            #expect(reply.summary?.habitCount == 1)
            #expect(try await files.bring(again, ann, key: "k") == reply)
            #expect(try await files.names(ann) == ["Read"])
            #expect(try await blobs.list(prefix: "incoming/", after: nil, limit: 10).isEmpty)
        }
    }
}
