import Kernel
import Testing
import TestingAPI
import Wire

/// Ids and dates: texts on the wire, types in Swift.
@Suite struct TypedTextTests {
    private static let id = "018f3c1e-7a4b-7c3d-9e2f-001122334455"
    private static let user = UserID(high: 0x018f_3c1e_7a4b_7c3d, low: 0x9e2f_0011_2233_4455)
    private static let date = CalendarDate(dayNumber: 20_000)

    private static func sample() -> Typed {
        Typed(
            userID: user,
            streakID: StreakID(high: 1, low: 2),
            snapID: SnapID(high: .max, low: 0),
            friendIDs: [UserID(high: 0, low: 0), user],
            name: "abc",
            onDate: date,
            until: CalendarDate(dayNumber: -719_162),
            since: CalendarDate(dayNumber: 0),
            dates: [date, CalendarDate(dayNumber: 1)],
            parts: [Typed.Part(eventID: EventID(high: 3, low: 4))],
            part: Typed.Part(eventID: EventID(high: 5, low: 6)),
            partByName: ["a": Typed.Part(eventID: EventID(high: 7, low: 8))],
            one: .sessionID(SessionID(high: 9, low: 10))
        )
    }

    /// Fields as any sender may write them.
    private static func bytes(_ fields: [(Int, String)]) -> [UInt8] {
        var writer = WireWriter()
        for (number, text) in fields { writer.bytes(Array(text.utf8), field: number) }
        return writer.bytes
    }

    private static func problems(_ fields: [(Int, String)]) throws -> [String] {
        do {
            _ = try Typed(request: bytes(fields))
            return []
        } catch let error as ServiceError {
            #expect(error.reason == "VALIDATION_ERROR")
            return error.details.map { "\($0.field) \($0.message)" }
        }
    }

    @Test func `they come back as they were sent`() throws {
        let sample = Self.sample()
        #expect(try Typed(serialized: sample.serialized()) == sample)
        #expect(try Typed(request: sample.serialized()) == sample)
        for one in [Typed.One.piece(.init(eventID: EventID(high: 1, low: 1))), .day(Self.date)] {
            var other = sample
            other.one = one
            #expect(try Typed(serialized: other.serialized()) == other)
        }
        #expect(sample.aggregateID == Self.id)
    }

    @Test func `they are text on the wire`() throws {
        let bytes = try Typed(userID: Self.user, friendIDs: [Self.user], onDate: Self.date).serialized()
        #expect(bytes == Self.bytes([(1, Self.id), (4, Self.id), (6, "2024-10-04")]))
        #expect(try Typed(serialized: Self.bytes([(1, Self.id.uppercased()), (6, "2024-10-04")])).userID == Self.user)
    }

    @Test func `what is absent or empty is nil`() throws {
        let required = [(1, Self.id), (6, "2024-10-04")]
        for fields in [required, required + [2, 3, 7, 8].map { ($0, "") }] {
            let message = try Typed(request: Self.bytes(fields))
            #expect(message.streakID == nil && message.snapID == nil && message.until == nil && message.since == nil)
            #expect(message.friendIDs.isEmpty && message.dates.isEmpty)
        }
    }

    @Test func `everything that is wrong with a request is reported at once`() throws {
        let wrong = [
            (1, "x"), (2, Self.id + "0"), (3, "no"), (4, Self.id), (4, String(Self.id.dropLast())), (4, ""), (5, "abcd"),
            (6, "2023-02-29"), (7, "soon"), (8, "2024-1-1"), (9, "2024-10-04"), (9, "never"),
        ]
        #expect(
            try Self.problems(wrong) == [
                "user_id must be a UUID", "streak_id must be a UUID", "snap_id must be a UUID", "friend_ids[1] must be a UUID",
                "friend_ids[2] must be a UUID", "name must have at most 3 characters", "on_date must be a date, YYYY-MM-DD",
                "until must be a date, YYYY-MM-DD", "since must be a date, YYYY-MM-DD", "dates[1] must be a date, YYYY-MM-DD",
            ]
        )
        #expect(try Self.problems([]) == ["user_id is required", "on_date is required"])
    }

    @Test func `inside other messages they are named by their path`() throws {
        let bad = String(decoding: Self.bytes([(1, "bad")]), as: UTF8.self)
        let required = [(1, Self.id), (6, "2024-10-04")]
        let entry = String(decoding: Self.bytes([(1, "k"), (2, bad)]), as: UTF8.self)
        #expect(try Self.problems(required + [(10, bad)]) == ["parts[0].event_id must be a UUID"])
        #expect(try Self.problems(required + [(11, "")]) == ["part.event_id is required"])
        #expect(try Self.problems(required + [(12, entry)]) == ["part_by_name[k].event_id must be a UUID"])
        #expect(try Self.problems(required + [(13, "")]) == ["session_id is required"])
        #expect(try Self.problems(required + [(14, bad)]) == ["piece.event_id must be a UUID"])
        #expect(try Self.problems(required + [(15, "bad")]) == ["day must be a date, YYYY-MM-DD"])
        // The number of friends comes before what each of them is.
        let many = required + (0..<6).map { _ in (4, "bad") }
        #expect(try Self.problems(many).first == "friend_ids must have at most 5 entries")
        #expect(try Self.problems(many).count == 7)
    }

    @Test func `of what is refused counts what is wrong whatever the texts are that cannot be read`() throws {
        let wrong = Self.bytes([(1, "x"), (4, "y"), (6, "never"), (7, "2024-10-04")])
        func problems(_ field: String, _ isWrong: @escaping (Typed) -> Bool) -> [String] {
            Typed.problems(ofRefused: wrong) { isWrong($0) ? [.init(field: field, message: "is wrong")] : [] }
                .map { "\($0.field) \($0.message)" }
        }
        let own = ["user_id must be a UUID", "friend_ids[0] must be a UUID", "on_date must be a date, YYYY-MM-DD"]
        #expect(problems("name") { $0.name.isEmpty } == own + ["name is wrong"])
        // A stand-in comes before or after any date; a rule that only one of them breaks says nothing.
        #expect(problems("until") { message in message.until.map { $0 < message.onDate } ?? true } == own)
        #expect(problems("until") { message in message.until.map { message.onDate < $0 } ?? true } == own)
        #expect(problems("name") { $0.userID == UserID(high: 0, low: 0) } == own)
        #expect(problems("friend_ids") { _ in true } == own, "it holds one that cannot be read")
    }

    @Test func `of what is right, and of what is no message, nothing is wrong with fields`() throws {
        #expect(Typed.problems(ofRefused: try Self.sample().serialized()) { _ in [] } == [])
        #expect(Typed.problems(ofRefused: [0xFF]) { _ in [.init(field: "name", message: "is wrong")] } == [])
    }

    @Test func `in a reply or event they are an error`() {
        let required = [(1, Self.id), (6, "2024-10-04")]
        let wrong: [([(Int, String)], String)] = [
            ([(6, "2024-10-04")], "user_id"), ([(1, "bad"), (6, "2024-10-04")], "user_id"), ([(1, Self.id)], "on_date"),
            (required + [(2, "bad")], "streak_id"), (required + [(4, "")], "friend_ids"), (required + [(9, "bad")], "dates"),
            (required + [(11, "")], "event_id"), (required + [(13, "bad")], "session_id"),
        ]
        for (fields, field) in wrong {
            #expect(throws: WireError.unreadable(field: field), "\(field)") { try Typed(serialized: Self.bytes(fields)) }
        }
    }

    @Test func `no text is read as a mark`() throws {
        // Marks are hardly ids: this finds them if a text could ever become one.
        for last in 0xf0...0xff {
            let text = "ffffffff-ffff-ffff-ffff-ffffffffff" + String(last, radix: 16)
            do {
                let message = try Typed(request: Self.bytes([(1, text), (6, "2024-10-04")]))
                #expect(message.userID == UserID(text))
            } catch let error as ServiceError {
                #expect(error.details.map { "\($0.field) \($0.message)" } == ["user_id must be a UUID"])
            }
        }
    }

    @Test func `a text that ends early is not read beyond its end`() throws {
        for length in 0..<36 {
            let text = String(Self.id.prefix(length))
            #expect(try Self.problems([(1, text), (6, "2024-10-04")]).count == 1, "\(length)")
        }
        #expect(try Self.problems([(1, Self.id + Self.id), (6, "2024-10-04")]) == ["user_id must be a UUID"])
    }
}
