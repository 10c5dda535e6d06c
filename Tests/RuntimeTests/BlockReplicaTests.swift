import Bus
import Database
import Kernel
import Replicas
import SocialAPI
import Synchronization
import TestSupport
import Testing
import Wire

/// A `social` that knows some blocks, in pages of two.
private final class FakeSocial: Caller {
    let blocks: Mutex<[BlockState]>
    init(_ blocks: [BlockState]) { self.blocks = Mutex(blocks) }

    func call<Request: Message, Reply: Message>(
        _ method: Method<Request, Reply>,
        _ request: Request,
        context: CallContext
    ) async throws -> Reply {
        guard let request = request as? ListBlockSnapshotsRequest else { throw ServiceError.internal }
        let rest = blocks.withLock { $0 }.sorted { $0.blockID < $1.blockID }.filter { block in
            request.after.map { block.blockID > $0 } ?? true
        }
        guard let reply = ListBlockSnapshotsReply(blocks: Array(rest.prefix(2))) as? Reply else { throw ServiceError.internal }
        return reply
    }
}

@Suite("The replica of blocks", .timeLimit(.minutes(10)))
struct BlockReplicaTests {
    private func user(_ number: UInt64) -> UserID { UserID(high: 0, low: number) }

    private func block(_ number: UInt64, _ blocker: UInt64, _ blocked: UInt64, version: Int64 = 1, active: Bool = true)
        -> BlockState
    {
        BlockState(
            blockID: BlockID(high: 1, low: number),
            version: version,
            blockerID: user(blocker),
            blockedID: user(blocked),
            active: active
        )
    }

    @Test func `hides either from the other, is loaded once from all pages, and never goes back to an older version`()
        async throws
    {
        try await PostgresServer.shared().withDatabase { database in
            try await Migrator(scope: "block_replica", migrations: BlockReplica.migrations).run(on: database)
            let social = FakeSocial([
                block(1, 1, 2), block(2, 3, 1), block(3, 1, 4, version: 2, active: false), block(4, 5, 6), block(5, 5, 7),
            ])
            let replica = BlockReplica(database: database, bus: social)
            try await replica.loadSnapshotOnce(context: CallContext())
            let users = (1...9).map { user($0) }
            #expect(try await replica.hidden(from: user(1), among: users) == [user(2), user(3)])
            #expect(try await replica.hidden(from: user(2), among: users) == [user(1)])
            #expect(try await replica.hidden(from: user(5), among: users) == [user(6), user(7)])
            #expect(try await replica.hidden(from: user(4), among: users).isEmpty)
            #expect(try await replica.hidden(from: user(1), among: []).isEmpty)
            for reader in users {
                let shown = try await database.query(
                    "SELECT person FROM unnest(\(users)) AS person WHERE \(BlockReplica.isShown("person", to: reader))"
                ).map { try $0.decode(as: UserID.self) }
                let hidden = try await replica.hidden(from: reader, among: users)
                #expect(Set(shown) == Set(users).subtracting(hidden), "a service's own statement says the same")
            }

            social.blocks.withLock { $0 = [block(1, 1, 2, version: 2, active: false), block(3, 1, 4, version: 1)] }
            try await replica.loadSnapshotOnce(context: CallContext())
            #expect(try await replica.hidden(from: user(1), among: users) == [user(2), user(3)], "it was loaded before")
            try await database.execute("DELETE FROM block_snapshot")
            try await replica.loadSnapshotOnce(context: CallContext())
            #expect(try await replica.hidden(from: user(1), among: users) == [user(3)])
        }
    }
}
