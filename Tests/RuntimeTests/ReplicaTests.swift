import AuthAPI
import Bus
import CommonAPI
import Database
import Kernel
import Outbox
import Replicas
import Synchronization
import TestSupport
import Testing
import Wire

/// An `auth` that knows some people and counts what it is asked.
private final class FakeAuth: Caller {
    let people: [ProfileState]
    let asked = Mutex<[String]>([])

    init(_ people: [ProfileState]) { self.people = people }

    func call<Request: Message, Reply: Message>(
        _ method: Method<Request, Reply>,
        _ request: Request,
        context: CallContext
    ) async throws -> Reply {
        asked.withLock { $0.append(method.name) }
        let reply: any Message
        switch request {
        case let request as GetSummariesRequest:
            reply = GetSummariesReply(
                profiles: people.filter { request.userIDs.contains($0.userID) || request.usernames.contains($0.username) }
            )
        case let request as ListProfileSnapshotsRequest:
            let rest = people.sorted { $0.userID < $1.userID }.filter { state in request.after.map { state.userID > $0 } ?? true }
            reply = ListProfileSnapshotsReply(profiles: Array(rest.prefix(2)))
        default: throw ServiceError.internal
        }
        guard let reply = reply as? Reply else { throw ServiceError.internal }
        return reply
    }
}

@Suite("The replica of profiles", .timeLimit(.minutes(10)))
struct ReplicaTests {
    private static func person(_ number: UInt64, version: Int64 = 1, name: String? = nil) -> ProfileState {
        ProfileState(
            userID: UserID(high: 0, low: number),
            version: version,
            username: name ?? "user\(number)",
            displayName: "version \(version)",
            timeZone: "Europe/Berlin",
            status: .active
        )
    }

    private func withReplica(_ people: [ProfileState], _ body: (ProfileReplica, FakeAuth, Fixture) async throws -> Void)
        async throws
    {
        try await withFixture { fixture in
            try await Migrator(scope: "profile_replica", migrations: ProfileReplica.migrations).run(on: fixture.database)
            let auth = FakeAuth(people)
            try await body(ProfileReplica(database: fixture.database, bus: auth), auth, fixture)
        }
    }

    @Test func `asks once for those it does not know, and not again`() async throws {
        try await withReplica((1...5).map { Self.person($0) }) { replica, auth, _ in
            let ids = (1...6).map { UserID(high: 0, low: $0) }
            let first = try await replica.profiles(ids, context: CallContext())
            #expect(first.count == 5)
            #expect(auth.asked.withLock { $0 } == ["GetSummaries"])
            let again = try await replica.profiles(ids.prefix(5), context: CallContext())
            #expect(again.count == 5)
            #expect(auth.asked.withLock { $0.count } == 1)
            let named = try await replica.profile(username: "user3", context: CallContext())
            #expect(named?.userID == ids[2])
            #expect(auth.asked.withLock { $0.count } == 1)
        }
    }

    @Test func `is complete from a snapshot of many pages, and loading it again changes nothing newer`() async throws {
        try await withReplica((1...5).map { Self.person($0) }) { replica, auth, fixture in
            #expect(try await replica.loadSnapshot(context: CallContext()) == 5)
            try await fixture.database.execute(
                "UPDATE profile_replica SET version = 7, username = 'newer' WHERE username = 'user2'"
            )
            #expect(try await replica.loadSnapshot(context: CallContext()) == 5)
            let rows = try await fixture.database.query("SELECT 1 FROM profile_replica WHERE username = 'newer'")
            #expect(rows.count == 1)
        }
    }

    @Test(arguments: 0..<6) func `never lets an older version overwrite a newer, in any order`(seed: Int) async throws {
        try await withReplica([]) { replica, _, fixture in
            let factor = seed + 2
            let versions: [Int64] = (1...10).map { Int64($0 * factor % 11) }
            var newest: Int64 = 0
            for version in versions {
                let auth = FakeAuth([Self.person(1, version: version)])
                let feeding = ProfileReplica(database: fixture.database, bus: auth)
                _ = try await feeding.loadSnapshot(context: CallContext())
                newest = max(newest, version)
                let known = try await replica.profile(UserID(high: 0, low: 1), context: CallContext())
                #expect(known?.displayName == "version \(newest)")
            }
        }
    }
}
