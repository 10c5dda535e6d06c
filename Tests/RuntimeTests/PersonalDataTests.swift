import Bus
import CommonAPI
import Database
import Foundation
import Kernel
import Outbox
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime

/// Export and erasure from declarations (D16), on tables of a service that does not exist.
@Suite("Personal data as declared", .timeLimit(.minutes(10)))
struct PersonalDataTests {
    private let ann = UserID(high: 1, low: 1)
    private let ben = UserID(high: 1, low: 2)

    private static let declared = PersonalData(
        [
            PersonalTable(
                "letter",
                users: ["author": .delete, "reader": .anonymise([("reader", "NULL"), ("words", "''")])],
                growth: .bounded("as many as one writes"),
                references: ["place"],
                exports: [
                    PersonalExport(
                        "letters",
                        [
                            "number", "words", .value("to_me") { "reader = \($0)" },
                            .made("link", from: "nullif(number % 2, 0)") { _, _ in { user, number in "/\"\(number)\"?of=\(user)" }
                            },
                        ]
                    ) { "author = \($0)" }
                ]
            ),
            PersonalTable(
                "visit",
                users: ["guest": .keep("the host's book")],
                growth: .bounded("as many as one makes"),
                exports: [
                    PersonalExport("visits", ["came_at"]) { "guest = \($0)" },
                    PersonalExport("hosts", [.value("name", "host.name")], join: "JOIN host USING (house)") { "guest = \($0)" },
                ]
            ),
        ],
        impersonal: ["host": "houses"]
    )

    private func withTables(_ body: (Fixture, ServiceEnvironment) async throws -> Void) async throws {
        try await withFixture { fixture in
            for statement: Query in [
                """
                CREATE TABLE letter (place uuid, number integer, author uuid NOT NULL, reader uuid, words text NOT NULL,
                    PRIMARY KEY (place, number))
                """,
                "CREATE TABLE host (house integer PRIMARY KEY, name text NOT NULL)",
                "CREATE TABLE visit (house integer REFERENCES host, came_at timestamptz, guest uuid, PRIMARY KEY (house, came_at))",
                "INSERT INTO host VALUES (1, 'The \"Inn\"')",
            ] { try await fixture.database.execute(statement) }
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
                metrics: Metrics()
            )
            try await body(fixture, environment)
        }
    }

    /// Every page of an export, and the rows of all of them by key.
    private func export(_ user: UserID, _ environment: ServiceEnvironment) async throws
        -> (pages: [ExportPersonalDataReply], rows: [String: [[String: Any]]])
    {
        let exporter = PersonalDataExporter([Self.declared], environment)
        var pages: [ExportPersonalDataReply] = []
        var rows: [String: [[String: Any]]] = [:]
        var request = ExportPersonalDataRequest(userID: user)
        while true {
            let page = try await exporter.page(request)
            pages.append(page)
            for part in page.parts {
                let json = try JSONSerialization.jsonObject(with: Data("[\(part.rows)]".utf8))
                rows[part.key, default: []] += try #require(json as? [[String: Any]])
            }
            if page.nextKey.isEmpty { return (pages, rows) }
            try #require(pages.count < 1_000, "the export ends")
            request = ExportPersonalDataRequest(userID: user, key: page.nextKey, after: page.nextAfter)
        }
    }

    @Test func `an export comes in pages of bounded size that hold every row once, in the order of the key`() async throws {
        try await withTables { fixture, environment in
            try await fixture.database.execute(
                """
                INSERT INTO letter SELECT ('00000000-0000-0000-0000-00000000000' || n % 3)::uuid, n,
                    CASE WHEN n % 7 = 0 THEN \(ben) ELSE \(ann) END, \(ann), repeat('w', 1000) FROM generate_series(1, 3500) AS n
                """
            )
            let (pages, rows) = try await export(ann, environment)
            let numbers = try #require(rows["letters"]).compactMap { $0["number"] as? Int }
            let expected = [0, 1, 2].flatMap { rest in (1...3_500).filter { $0 % 3 == rest && $0 % 7 != 0 } }
            #expect(numbers == expected)
            #expect(pages.count >= 6, "3,000 rows of 1 kB")
            for page in pages {
                #expect(page.parts.map(\.rows.utf8.count).reduce(0, +) < PersonalDataExporter.pageBytes + 2_000)
            }
            #expect(rows["letters"]?.allSatisfy { $0["to_me"] as? Bool == true } == true)
            for row in try #require(rows["letters"]).prefix(20) {
                let number = try #require(row["number"] as? Int)
                let link = number % 2 == 1 ? "/\"1\"?of=\(ann)" : nil
                #expect(row["link"] as? String == link, "a made text is escaped, and null stays null")
            }
        }
    }

    @Test func `a row that is larger than a page comes whole, and keys without rows are named`() async throws {
        try await withTables { fixture, environment in
            try await fixture.database.execute(
                "INSERT INTO letter SELECT gen_random_uuid(), n, \(ann), NULL, repeat('w', 700000) FROM generate_series(1, 3) AS n"
            )
            let (pages, rows) = try await export(ann, environment)
            #expect(rows["letters"]?.count == 3)
            #expect(pages.count >= 3)
            #expect(rows["visits"]?.isEmpty == true && rows["hosts"]?.isEmpty == true)
            let others = try await export(ben, environment)
            #expect(others.pages.count == 1 && others.rows.values.allSatisfy(\.isEmpty), "nothing of another user")
        }
    }

    @Test func `pages go on after a time to the microsecond, and joined rows say what they refer to`() async throws {
        try await withTables { fixture, environment in
            try await fixture.database.execute(
                """
                INSERT INTO visit SELECT 1, '2026-05-01T08:00:00Z'::timestamptz + n * interval '1 microsecond', \(ann)
                FROM generate_series(1, 1203) AS n
                """
            )
            let rows = try await export(ann, environment).rows
            #expect(Set(try #require(rows["visits"]).compactMap { $0["came_at"] as? String }).count == 1_203)
            #expect(rows["hosts"]?.count == 1_203)
            #expect(rows["hosts"]?.first?["name"] as? String == "The \"Inn\"")
        }
    }

    @Test func `a page after a key that does not exist is refused`() async throws {
        try await withTables { _, environment in
            let exporter = PersonalDataExporter([Self.declared], environment)
            for request in [
                ExportPersonalDataRequest(userID: ann, key: "secrets"),
                ExportPersonalDataRequest(userID: ann, key: "letters", after: ["1"]),
            ] {
                let error = await #expect(throws: ServiceError.self) { try await exporter.page(request) }
                #expect(error?.reason == "VALIDATION_ERROR")
            }
        }
    }

    @Test func `the erasure deletes, anonymises and keeps as declared, with the features' steps around it`() async throws {
        try await withTables { fixture, _ in
            for (author, reader) in [(ann, ben), (ben, ann), (ben, ben)] {
                try await fixture.database.execute(
                    "INSERT INTO letter VALUES (gen_random_uuid(), 1, \(author), \(reader), 'dear')"
                )
            }
            try await fixture.database.execute("INSERT INTO visit VALUES (1, now(), \(ann))")
            @Sendable func expect(_ letters: Int, _ work: UnitOfWork) async throws {
                #expect(try await work.sql.query("SELECT 1 FROM letter").count == letters)
            }
            let eraser = PersonalDataEraser(
                Self.declared.tables,
                [
                    ErasureSteps(
                        before: { _, work in try await expect(3, work) },
                        after: { _, work in try await expect(2, work) }
                    )
                ]
            )
            try await fixture.work.run(trace: "", requestID: "") { [ann] work in try await eraser.erase(ann, work) }
            let left = try await fixture.database.query("SELECT author, reader, words FROM letter ORDER BY words").map {
                try $0.decode(as: (UserID.self, UserID?.self, String.self))
            }
            #expect(left.map(\.0) == [ben, ben])
            #expect(left.map(\.1) == [nil, ben])
            #expect(left.map(\.2) == ["", "dear"])
            #expect(try await fixture.database.query("SELECT 1 FROM visit WHERE guest = \(ann)").count == 1)
        }
    }

    @Test func `a table or column of ids that no feature declared is found`() async throws {
        try await withTables { fixture, _ in
            let declared = [Self.declared, PersonalData.runtime]
            func problems() async throws -> [String] {
                try await PersonalData.problems(of: declared, in: fixture.database).filter { !$0.contains("effects") }
            }
            #expect(try await problems().isEmpty)
            try await fixture.database.execute("ALTER TABLE letter ADD COLUMN witness uuid, ADD COLUMN copies uuid[]")
            try await fixture.database.execute("CREATE TABLE diary (user_id uuid)")
            try await fixture.database.execute("ALTER TABLE visit DROP COLUMN guest, ADD COLUMN guest text")
            try await fixture.database.execute("DROP TABLE host CASCADE")
            #expect(
                try await problems() == [
                    "diary is not declared", "letter.copies is neither a user nor a reference",
                    "letter.witness is neither a user nor a reference", "host is declared and does not exist",
                ]
            )
            try await fixture.database.execute("ALTER TABLE letter DROP COLUMN author, DROP COLUMN witness, DROP COLUMN copies")
            try await fixture.database.execute("DROP TABLE diary")
            #expect(
                try await problems() == [
                    "letter.author is declared and does not exist", "letter.author is no uuid: it cannot be erased by its value",
                ]
                    + ["host is declared and does not exist"]
            )
        }
    }
}
