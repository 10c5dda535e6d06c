import Database
import Kernel
import TestSupport
import Testing

@Suite struct ValueTests {
    private func roundTrip<Value: PostgresValue & Equatable>(_ values: [Value], as type: String, on database: Database)
        async throws
    {
        try await database.execute("CREATE TABLE round_trip (position int, value \(trusted: type))")
        for (position, value) in values.enumerated() {
            try await database.execute("INSERT INTO round_trip VALUES (\(position), \(value))")
        }
        try await database.execute("INSERT INTO round_trip VALUES (\(values.count), \(Value?.none))")
        let rows = try await database.query("SELECT value FROM round_trip ORDER BY position")
        let back = try rows.dropLast().map { try $0.decode(as: Value.self) }
        #expect(back == values)
        let last = try #require(rows.last)
        let missing: Value? = try last.decode(as: Optional<Value>.self)
        #expect(missing == nil)
        #expect(throws: DatabaseError.self) { try last.decode(as: Value.self) }
        try await database.execute("DROP TABLE round_trip")
    }

    @Test func `every type survives with its extremes and null`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await roundTrip([true, false], as: "boolean", on: database)
            try await roundTrip([Int.min, -1, 0, 1, .max], as: "bigint", on: database)
            try await roundTrip([Int64.min, 0, .max], as: "bigint", on: database)
            try await roundTrip([Int32.min, -1, 0, .max], as: "integer", on: database)
            try await roundTrip([Int16.min, -1, 0, .max], as: "smallint", on: database)
            try await roundTrip(
                [0, -0.0, .pi, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, -.infinity],
                as: "float8",
                on: database
            )
            try await roundTrip(
                ["", "a", "ä€😀", "'; DROP TABLE x; --", "\\", "\u{1}", String(repeating: "é", count: 100_000)],
                as: "text",
                on: database
            )
            try await roundTrip(
                [[], [0], [0, 255, 39, 92], Array(repeating: 7, count: 1_000_000)] as [[UInt8]],
                as: "bytea",
                on: database
            )
            try await roundTrip(
                [UserID(high: 0, low: 0), UserID(high: .max, low: .max), UserID(high: 1, low: 2)],
                as: "uuid",
                on: database
            )
            try await roundTrip(
                [-210_866_803_200_000_000, -1, 0, 1, 1_700_000_000_123_456, 9_223_372_036_854_775_807].map(
                    Instant.init(microseconds:)
                ),
                as: "timestamptz",
                on: database
            )
            try await roundTrip(
                [-2_440_588, -1, 0, 10_957, 2_932_896, 2_145_042_905].map(CalendarDate.init(dayNumber:)),
                as: "date",
                on: database
            )
            try await roundTrip([0, -1, 1, 86_400_000_000, .max].map(Interval.init(microseconds:)), as: "interval", on: database)
        }
    }

    @Test func `arrays survive empty long and with nulls`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await roundTrip([[], [Int.min, 0, .max], Array(0..<10_000)], as: "bigint[]", on: database)
            try await roundTrip([[], [Int32.min, .max]], as: "integer[]", on: database)
            try await roundTrip([[], ["", "a,b", "{\"", "NULL", "ä"]], as: "text[]", on: database)
            try await roundTrip([[nil], ["a", nil, ""]] as [[String?]], as: "text[]", on: database)
            try await roundTrip([[UserID(high: 1, low: 2)], []], as: "uuid[]", on: database)
            try await roundTrip([[UserID(high: 1, low: 2), nil]], as: "uuid[]", on: database)
            try await roundTrip([[[], [0, 1], [255]]] as [[[UInt8]]], as: "bytea[]", on: database)
            try await roundTrip([[true, false]], as: "boolean[]", on: database)
            try await roundTrip([[1.5, -.infinity]], as: "float8[]", on: database)
            try await roundTrip([[Instant.epoch]], as: "timestamptz[]", on: database)
            try await roundTrip([[CalendarDate(dayNumber: -1)]], as: "date[]", on: database)
            let (ids, names) = ([1, 2, 3], ["a", nil, "c"] as [String?])
            let rows = try await database.query(
                "SELECT n, t FROM unnest(\(ids), \(names)) AS u (n, t) WHERE n = ANY(\([2, 3])) ORDER BY n"
            )
            #expect(try rows.map { try $0.get("t", as: String?.self) } == [nil, "c"])
            #expect(throws: DatabaseError.self) { try rows[0].decode(as: (Int.self, [Int].self)) }
        }
    }

    @Test func `rows arrive whole whether they are none one or many`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            for count in [0, 1, 3] {
                let ids = (0..<count).map { Int32($0) }
                let texts = ids.map { $0 % 2 == 0 ? nil : "ä\($0)" }
                let blobs: [[UInt8]] = ids.map { Array(repeating: 7, count: Int($0)) }
                let dates = ids.map { CalendarDate(dayNumber: 20_000 + $0) }
                let given: Query = "SELECT * FROM \(rows: .of(ids), .of(texts), .of(blobs), .of(dates)) AS r (n, t, b, d)"
                #expect(given.text.contains("VALUES") == (count == 1))
                // Values before and behind the rows keep their places.
                let rows = try await database.query(
                    "SELECT \("before"), n, t, b, d, \(true) FROM (\(given)) AS g WHERE n < \(Int32(100)) ORDER BY n"
                )
                #expect(try rows.map { try $0.get(at: 0, as: String.self) } == ids.map { _ in "before" })
                #expect(try rows.map { try $0.get(at: 1, as: Int32.self) } == ids)
                #expect(try rows.map { try $0.get(at: 2, as: String?.self) } == texts)
                #expect(try rows.map { try $0.get(at: 3, as: [UInt8].self) } == blobs)
                #expect(try rows.map { try $0.get(at: 4, as: CalendarDate.self) } == dates)
                #expect(try rows.allSatisfy { try $0.get(at: 5, as: Bool.self) })
            }
            await #expect(throws: DatabaseError.self) {
                try await database.query("SELECT b FROM \(rows: .of([1, 2] as [UInt8])) AS r (b)")
            }
            await #expect(throws: DatabaseError.self) {
                try await database.query("SELECT t FROM \(rows: .of(["a\0b"])) AS r (t)")
            }
        }
    }

    @Test func `instants agree with the server's own text`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            for text in ["1969-12-31T23:59:59.999999Z", "2000-01-01T00:00:00Z", "2024-02-29T12:34:56.789012Z"] {
                let instant = try await database.query("SELECT \(text)::timestamptz")[0].decode(as: Instant.self)
                #expect(instant == Instant(rfc3339: text))
                let date = try await database.query("SELECT \(String(text.prefix(10)))::date")[0].decode(as: CalendarDate.self)
                #expect(date.description == String(text.prefix(10)))
            }
            let rows = try await database.query(
                "SELECT 'infinity'::timestamptz, '-infinity'::timestamptz, 'infinity'::date, '1 month'::interval, '294276-01-01Z'::timestamptz"
            )
            for column in [0, 1, 4] {
                #expect(throws: DatabaseError.self) { try rows[0].get(at: column, as: Instant.self) }
            }
            #expect(throws: DatabaseError.self) { try rows[0].get(at: 2, as: CalendarDate.self) }
            #expect(throws: DatabaseError.self) { try rows[0].get(at: 3, as: Interval.self) }
            #expect(
                try await database.query("SELECT '2 days 1 hour'::interval")[0].decode(as: Interval.self) == Interval.hours(49)
            )
        }
    }

    @Test func `numbers of other types are read when they fit`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            let row = try await database.query(
                """
                SELECT sum(n), avg(n), 12345678901234567890::numeric, 0.5::numeric, -10000::numeric, 1::int2, 40000::int4, 1.5::float4,
                    'NaN'::numeric, -9223372036854775808::numeric, 0::numeric, 123450000::numeric, 12.000625::numeric
                FROM unnest(\([1, 2, 6])) AS n
                """
            )[0]
            #expect(try row.get(at: 0, as: Int.self) == 9)
            #expect(try row.get(at: 1, as: Double.self) == 3)
            #expect(throws: DatabaseError.self) { try row.get(at: 2, as: Int.self) }
            #expect(try row.get(at: 2, as: Double.self) == 12_345_678_901_234_567_168)
            #expect(throws: DatabaseError.self) { try row.get(at: 3, as: Int.self) }
            #expect(try row.get(at: 3, as: Double.self) == 0.5)
            #expect(try row.get(at: 4, as: Int32.self) == -10_000)
            #expect(try row.get(at: 5, as: Int.self) == 1)
            #expect(try row.get(at: 6, as: Int.self) == 40_000)
            #expect(throws: DatabaseError.self) { try row.get(at: 6, as: Int16.self) }
            #expect(try row.get(at: 7, as: Double.self) == 1.5)
            #expect(try row.get(at: 8, as: Double.self).isNaN)
            #expect(throws: DatabaseError.self) { try row.get(at: 8, as: Int.self) }
            #expect(try row.get(at: 9, as: Int.self) == .min)
            #expect(try row.get(at: 10, as: Int.self) == 0)
            #expect(try row.get(at: 11, as: Int.self) == 123_450_000)
            #expect(try row.get(at: 12, as: Double.self) == 12.000625)
        }
    }

    private enum Mood: String, PostgresValue { case happy, sad }

    @Test func `texts of other types and raw values are read`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await database.execute("CREATE TYPE mood AS ENUM ('happy', 'sad')")
            let row = try await database.query(
                "SELECT \(Mood.sad), 'happy'::mood, \("{\"a\": 1}")::jsonb, '[1]'::json, 'x'::varchar(3), 'y'::char(2), current_schema(), 'z'"
            )[0]
            #expect(try row.get(at: 0, as: Mood.self) == .sad)
            #expect(try row.get(at: 1, as: Mood.self) == .happy)
            #expect(try row.get(at: 2, as: String.self) == "{\"a\": 1}")
            #expect(try row.get(at: 3, as: String.self) == "[1]")
            #expect(try row.get(at: 4, as: String.self) == "x")
            #expect(try row.get(at: 5, as: String.self) == "y ")
            #expect(try row.get(at: 6, as: String.self) == database.schema)
            #expect(throws: DatabaseError.self) { try row.get(at: 7, as: Mood.self) }
            #expect(throws: DatabaseError.self) { try row.get(at: 0, as: Int.self) }
            #expect(throws: DatabaseError.self) { try row.get(at: 8, as: Int.self) }
            #expect(throws: DatabaseError.self) { try row.get("nothing", as: Int.self) }
            #expect(throws: DatabaseError.self) { try row.decode(as: (Mood.self, Mood.self)) }
        }
    }

    @Test func `values PostgreSQL cannot hold are refused before they are sent`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            let queries: [Query] = [
                "SELECT \("a\0b")", "SELECT \(["a\0b"])", "SELECT \(Instant(microseconds: .min))",
                "SELECT \(CalendarDate(dayNumber: .min))",
                "SELECT \(CalendarDate(dayNumber: .max))", "SELECT 1 AS \(identifier: "")",
            ]
            for query in queries {
                let error = await #expect(throws: DatabaseError.self) { try await database.query(query) }
                #expect(error?.code == .invalidValue)
            }
        }
    }

    @Test(arguments: 1...8) func `random values survive`(seed: Int) async throws {
        try await PostgresServer.shared().withDatabase { database in
            var values = RandomValues(seed: UInt64(seed))
            for _ in 0..<100 {
                let (a, b, c) = (values.int(), values.text(), values.bytes())
                let (d, e, f) = (
                    Instant(microseconds: Int64(values.int() / 64)), Double(bitPattern: UInt64(bitPattern: Int64(values.int()))),
                    values.int()
                )
                let ids = (0..<values.below(5)).map { _ in
                    UserID(high: UInt64(bitPattern: Int64(values.int())), low: UInt64(bitPattern: Int64(values.int())))
                }
                let texts = (0..<values.below(5)).map { _ in values.below(3) == 0 ? nil : values.text() }
                let row = try await database.query("SELECT \(a), \(b), \(c), \(d), \(e), \(f), \(ids), \(texts)")[0]
                let back = try row.decode(
                    as: (Int.self, String.self, [UInt8].self, Instant.self, Double.self, Int?.self, [UserID].self, [String?].self)
                )
                #expect(back.0 == a && back.1 == b && back.2 == c && back.3 == d)
                #expect((back.4 == e || (back.4.isNaN && e.isNaN)) && back.5 == f && back.6 == ids && back.7 == texts)
            }
        }
    }
}

/// Repeatable random values (xorshift64*), with more extremes than chance would bring.
private struct RandomValues {
    var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }

    mutating func below(_ limit: Int) -> Int { Int(next() >> 33) % limit }

    mutating func int() -> Int {
        switch below(8) {
        case 0: [Int.min, -1, 0, 1, Int.max][below(5)]
        default: Int(bitPattern: UInt(next())) >> below(64)
        }
    }

    mutating func bytes() -> [UInt8] { (0..<below(200)).map { _ in UInt8(truncatingIfNeeded: next() >> 40) } }

    mutating func text() -> String {
        var text = ""
        for _ in 0..<below(40) {
            let scalar = Unicode.Scalar(UInt32(below([0x7F, 0x7FF, 0xFFFF, 0x10FFFF][below(4)]) + 1))
            if let scalar { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}

extension Query.StringInterpolation {
    /// For tests, whose texts are all their own.
    mutating func appendInterpolation(trusted text: String) { appendLiteral(text) }
}
