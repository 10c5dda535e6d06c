import Foundation
import Kernel

/// One act of a plan, with what the model expects of it as the text that the answer is put into as well.
enum Act: Sendable {
    case start(run: String, one: Int, other: Int)
    /// `replies` is what each device gets: one text a streak.
    case post(user: Int, captured: Instant?, isRepeated: Bool, replies: [[String]])
    case recover(user: Int, run: String, isRepeated: Bool, expected: String)
    case look(user: Int, run: String, expected: String)
    case list(user: Int, expected: [String])
    case balance(user: Int, expected: String)
    case person(PersonAct)
}

/// The zone a person's clock follows from an instant on.
struct ZoneNews: Sendable {
    let user: Int
    let zone: String
    let since: Instant
    let version: Int64
}

/// Everything that happens at one instant: first the zones and the other news, then the acts; those of different groups of friends at the same time.
struct Turn: Sendable {
    let at: Instant
    var zones: [ZoneNews] = []
    var news: [PersonNews] = []
    var acts: [Int: [Act]] = [:]
}

/// A line of a plan that is not understood.
struct PlanError: Error, CustomStringConvertible {
    let line: String
    var description: String { "the plan has a line that is not understood: \(line)" }
}

/// A plan, read turn by turn: a year of a thousand pairs is a million lines.
struct Plan {
    private let bytes: Data
    private var position: Data.Index
    private var line: [Substring]?

    init(_ bytes: Data) throws {
        self.bytes = bytes
        position = bytes.startIndex
        line = fields()
        guard line?.first == "at" else { throw PlanError(line: line?.joined(separator: " ") ?? "nothing") }
    }

    /// The next turn; nil behind the last.
    mutating func next() throws -> Turn? {
        guard let first = line else { return nil }
        var turn = Turn(at: try Self.instant(first, 1))
        while true {
            line = fields()
            guard let line, line.first != "at" else { return turn }
            try Self.add(line, to: &turn)
        }
    }

    private mutating func fields() -> [Substring]? {
        guard position < bytes.endIndex else { return nil }
        let end = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
        defer { position = Swift.min(end + 1, bytes.endIndex) }
        return String(decoding: bytes[position..<end], as: UTF8.self).split(separator: " ")
    }

    private static func add(_ line: [Substring], to turn: inout Turn) throws(PlanError) {
        let act: Act
        switch (line[0], line.count) {
        case ("zone", 5):
            let news = ZoneNews(
                user: try number(line, 1),
                zone: String(line[2]),
                since: try instant(line, 3),
                version: Int64(try number(line, 4))
            )
            return turn.zones.append(news)
        case ("plan", 4):
            let until = try instant(line, 2)
            return turn.news.append(.premium(user: try number(line, 1), until: until, version: Int64(try number(line, 3))))
        case ("suspend", 3): return turn.news.append(.suspension(user: try number(line, 1), number: try number(line, 2)))
        case ("circle", 4):
            let members = try line[3].split(separator: ",").map { text throws(PlanError) in
                guard let member = Int(text) else { throw PlanError(line: line.joined(separator: " ")) }
                return member
            }
            return turn.news.append(.circle(try number(line, 1), version: Int64(try number(line, 2)), members: members))
        case ("do", 6):
            let arguments = line[4].split(separator: ",").map(String.init)
            act = .person(
                PersonAct(user: try number(line, 2), verb: String(line[3]), arguments: arguments, expected: String(line[5]))
            )
        case ("start", 5): act = .start(run: String(line[2]), one: try number(line, 3), other: try number(line, 4))
        case ("post", 7):
            act = .post(
                user: try number(line, 2),
                captured: line[3] == "-" ? nil : try instant(line, 3),
                isRepeated: line[5] == "1",
                replies: line[6].split(separator: "|").map { $0.split(separator: ",").map(String.init) }
            )
        case ("recover", 6):
            act = .recover(user: try number(line, 2), run: String(line[3]), isRepeated: line[4] == "1", expected: String(line[5]))
        case ("look", 13):
            act = .look(user: try number(line, 2), run: String(line[3]), expected: line[4...].joined(separator: " "))
        case ("list", 4):
            let items = line[3] == "-" ? [] : line[3].split(separator: ",").map(String.init)
            act = .list(user: try number(line, 2), expected: items.sorted())
        case ("balance", 4): act = .balance(user: try number(line, 2), expected: String(line[3]))
        default: throw PlanError(line: line.joined(separator: " "))
        }
        turn.acts[try number(line, 1), default: []].append(act)
    }

    private static func number(_ line: [Substring], _ index: Int) throws(PlanError) -> Int {
        guard let number = Int(line[index]) else { throw PlanError(line: line.joined(separator: " ")) }
        return number
    }

    private static func instant(_ line: [Substring], _ index: Int) throws(PlanError) -> Instant {
        Instant(seconds: Int64(try number(line, index)))
    }
}
