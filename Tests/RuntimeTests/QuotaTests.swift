import Bus
import Database
import Kernel
import Outbox
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime

/// How much one user may store (D22), in a table of a service that does not exist.
@Suite("What one user may store", .timeLimit(.minutes(5)))
struct QuotaTests {
    private let ann = UserID(high: 1, low: 1)
    private let ben = UserID(high: 1, low: 2)

    private static let letters = Quota(
        "letter",
        of: "author",
        rows: 100,
        rowBytes: 1_000,
        what: "letters",
        remedy: "Delete old letters."
    )

    private func withLetters(_ body: (Fixture) async throws -> Void) async throws {
        try await withFixture { fixture in
            try await fixture.database.execute(
                "CREATE TABLE letter (author uuid NOT NULL, number integer, PRIMARY KEY (author, number))"
            )
            try await body(fixture)
        }
    }

    private func write(_ numbers: ClosedRange<Int>, by author: UserID, _ database: Database) async throws {
        try await database.execute(
            "INSERT INTO letter SELECT \(author), n FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) AS n"
        )
    }

    @Test func `what is beyond a quota is refused with what to delete, and a deletion makes room again`() async throws {
        try await withLetters { fixture in
            let quotas = Quotas(["letter": 3])
            try await write(1...2, by: ann, fixture.database)
            try await write(1...50, by: ben, fixture.database)
            try await quotas.require(in: Self.letters, of: ann, fixture.database)
            #expect(try await quotas.room(for: 5, in: Self.letters, of: ann, fixture.database) == 1)
            try await write(3...3, by: ann, fixture.database)
            let error = await #expect(throws: ServiceError.self) {
                try await quotas.require(in: Self.letters, of: ann, fixture.database)
            }
            #expect(error?.reason == "QUOTA_EXCEEDED" && error?.code == .failedPrecondition && error?.retryAfter == nil)
            #expect(error?.message == "You have 3 letters, as many as one account can have. Delete old letters.")
            // Who is far beyond, since the limit was lowered, is refused too.
            #expect(try await quotas.room(for: 5, in: Self.letters, of: ben, fixture.database) == 0)
            try await fixture.database.execute("DELETE FROM letter WHERE author = \(ann) AND number = 1")
            try await quotas.require(in: Self.letters, of: ann, fixture.database)
        }
    }

    @Test func `a count is good for an eighth of what is left, and close to the quota for nothing`() async throws {
        try await withLetters { fixture in
            let quotas = Quotas()
            func room(_ wanted: Int) async throws -> Int {
                try await quotas.room(for: wanted, in: Self.letters, of: ann, fixture.database)
            }
            // 100 − 4 are left then, so 12 more without counting: also while another replica has filled the rest.
            #expect(try await room(4) == 4)
            try await write(1...100, by: ann, fixture.database)
            for _ in 0..<12 { #expect(try await room(1) == 1) }
            #expect(try await room(1) == 0)
            try await fixture.database.execute("DELETE FROM letter WHERE number > 98")
            #expect(try await room(1) == 1)
            try await write(99...100, by: ann, fixture.database)
            #expect(try await room(1) == 0)
        }
    }

    @Test func `a count that is not kept lets nothing in after its transaction was rolled back`() async throws {
        try await withLetters { fixture in
            let quotas = Quotas()
            try await write(1...100, by: ann, fixture.database)
            struct RolledBack: Error {}
            await #expect(throws: RolledBack.self) {
                try await fixture.database.transaction { [ann] sql in
                    try await sql.execute("DELETE FROM letter WHERE author = \(ann)")
                    try await quotas.require(50, in: Self.letters, of: ann, isKept: false, sql)
                    throw RolledBack()
                }
            }
            #expect(try await quotas.room(for: 1, in: Self.letters, of: ann, fixture.database) == 0)
        }
    }

    @Test func `megabytes are the sum of a column, whatever the number of rows`() async throws {
        try await withLetters { fixture in
            try await fixture.database.execute("ALTER TABLE letter ADD COLUMN weight bigint NOT NULL DEFAULT 0")
            let weights = Quota("letter", of: "author", megabytes: 10, in: "weight", what: "MB of ink", remedy: "Delete some.")
            let quotas = Quotas(["letter.weight": 8, "letter": 1])
            try await write(1...40, by: ann, fixture.database)
            #expect(try await quotas.room(for: 99, in: weights, of: ann, fixture.database) == 8)
            try await fixture.database.execute("UPDATE letter SET weight = 150000")
            #expect(try await quotas.room(for: 99, in: weights, of: ann, fixture.database) == 2)
            #expect(try await quotas.room(for: 99, in: weights, of: ben, fixture.database) == 8)
            let error = await #expect(throws: ServiceError.self) {
                try await quotas.require(3, in: weights, of: ann, fixture.database)
            }
            #expect(error?.message == "You have 8 MB of ink, as many as one account can have. Delete some.")
        }
    }

    private func quotas(_ text: String, of tables: Set<String>) throws -> Quotas {
        try Quotas(Settings(values: ["quotas": text], declared: ServiceSettings.all), of: tables)
    }

    @Test func `an operator sets other limits, and a setting that is none ends the start`() throws {
        func quotas(_ text: String) throws -> Quotas { try self.quotas(text, of: ["letter", "parcel"]) }
        #expect(try quotas("").limit(of: Self.letters) == 100)
        #expect(try quotas("letter=7, parcel=9").limit(of: Self.letters) == 7)
        for wrong in ["letter", "letter=", "letter=0", "letter=many", "letter=5,=", "letter=-1"] {
            #expect(throws: Settings.Invalid.self, "\(wrong)") { try quotas(wrong) }
        }
    }

    @Test func `a limit of a table that has none ends the start, by name, and says which have one`() throws {
        let error = #expect(throws: Settings.Invalid.self) { try quotas("letter=7,lettre=9", of: ["letter", "parcel"]) }
        #expect(error?.description.contains("“lettre”") == true && error?.description.contains("letter, parcel") == true)
        #expect(error?.description.hasPrefix("--quotas") == true)
        #expect(throws: Settings.Invalid.self) { try quotas("letter=7", of: []) }
        _ = try quotas("", of: [])
    }

    @Test func `one setting for several services is handed to each in its part`() throws {
        let limits = try QuotaLimits("parcel=3, letter=7")
        #expect(limits.text(of: ["letter", "stamp"]) == "letter=7")
        #expect(limits.text(of: ["letter", "parcel"]) == "letter=7,parcel=3")
        #expect(limits.text(of: []) == "")
    }

    @Test func `a table that nothing bounds, and a quota that cannot be counted by an index or allows too many bytes, are found`()
        async throws
    {
        try await withLetters { fixture in
            func problems(_ quota: Quota?) async throws -> [String] {
                let growth = quota.map { Growth.quota($0) } ?? .bounded("")
                let letters = PersonalTable("letter", users: ["author": .delete], growth: growth)
                let declared = [PersonalData([letters], impersonal: ["effects": "what happened"]), .runtime]
                return try await PersonalData.problems(of: declared, in: fixture.database)
            }
            #expect(try await problems(Self.letters) == [])
            #expect(try await problems(nil) == ["letter does not say what bounds it"])
            try await fixture.database.execute("ALTER TABLE letter DROP CONSTRAINT letter_pkey, ADD PRIMARY KEY (number, author)")
            #expect(try await problems(Self.letters) == ["letter has a quota and no index by author"])
            try await fixture.database.execute("CREATE INDEX ON letter (author)")
            let large = Quota("letter", of: "author", rows: 2_000_000, rowBytes: 1_000, what: "", remedy: "")
            #expect(try await problems(large) == ["letter may have too many bytes of one user"])
            let weights = Quota("letter", of: "author", megabytes: 10, in: "number", what: "", remedy: "")
            #expect(try await problems(weights) == ["letter.number has a quota and is no bigint"])
        }
    }

    @Test func `the rows of the largest users are measured, and nothing says who they are`() async throws {
        try await withLetters { fixture in
            try await write(1...60, by: ann, fixture.database)
            try await write(1...30, by: ben, fixture.database)
            try await fixture.database.execute("ANALYZE letter")
            let metrics = Metrics()
            let environment = ServiceEnvironment(
                settings: Settings(values: [:], declared: []),
                features: [],
                clock: SystemClock(),
                ids: UUIDv7Source(clock: SystemClock()),
                database: fixture.database,
                bus: fixture.bus,
                work: fixture.work,
                mutations: fixture.mutations,
                logger: PostgresServer.silence,
                metrics: metrics,
                quotas: Quotas(["letter": 70])
            )
            let job = LargestUsers([Self.letters], environment).job
            #expect(try await job.run(SystemClock.now()) == 0)
            let text = metrics.text()
            for line in [
                "largest{table=\"letter\",rank=\"1\"} 60", "largest{table=\"letter\",rank=\"2\"} 30",
                "largest{table=\"letter\",rank=\"3\"} 0", "limit{table=\"letter\"} 70",
            ] { #expect(text.contains("streaksnap_user_rows_\(line)\n"), "\(text)") }
            #expect(!text.contains("\(ann)"))
            // The next run goes by newer statistics.
            try await fixture.database.execute("DELETE FROM letter WHERE author = \(ann)")
            try await write(31...40, by: ben, fixture.database)
            try await fixture.database.execute("ANALYZE letter")
            _ = try await job.run(SystemClock.now())
            #expect(metrics.text().contains("streaksnap_user_rows_largest{table=\"letter\",rank=\"1\"} 40\n"))
        }
    }
}
