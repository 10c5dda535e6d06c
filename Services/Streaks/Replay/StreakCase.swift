import Kernel
import StreaksDomain

/// A case that cannot be played: its text breaks the format.
struct CaseProblem: Error {
    let text: String
}

/// One case of a case file, read strictly: what is not understood is a problem, never ignored.
struct StreakCase {
    let name: String
    let rule: String
    let kind: String
    let names: [UserID: String]
    let policy: StreakPolicy
    let ledger: StreakLedger
    let steps: [Step]

    struct Step {
        let at: Instant
        let command: StreakCommand?
        let error: String?
        let creditedTo: CalendarDate?
        let expectations: [(key: String, value: Expectation)]
    }

    /// One key of `expect`.
    enum Expectation {
        case value(JSONValue)
        case instant(Instant?)
        case day(CalendarDate, String)
    }

    init(_ json: JSONValue) throws(CaseProblem) {
        let fields = Fields(try object(json, "case"), in: "case")
        name = try fields.string("name")
        rule = try fields.optionalString("rule") ?? ""
        let start = try fields.instant("start")
        let zones = try object(try fields.required("participants"), "participants")
        guard !zones.isEmpty else { throw CaseProblem(text: "participants: none") }
        var ids: [String: UserID] = [:]
        var participants: [StreakLedger.Participant] = []
        for (index, entry) in zones.sorted(by: { $0.key < $1.key }).enumerated() {
            let id = UserID(high: 0, low: UInt64(index) + 1)
            ids[entry.key] = id
            participants.append(StreakLedger.Participant(id, zone: try zone(entry.value)))
        }
        // Who joins a team later takes part too.
        if case .array(let list)? = fields.optional("steps") {
            for case .object(let step) in list {
                guard case .object(let joining)? = step["join"] else { continue }
                for name in joining.keys.sorted() where ids[name] == nil {
                    ids[name] = UserID(high: 0, low: UInt64(ids.count) + 1)
                }
            }
        }
        let freezes = try fields.optionalInteger("freezes") ?? 0
        kind = try fields.string("kind")
        policy = try Self.policy(kind)
        names = Dictionary(uniqueKeysWithValues: ids.map { ($0.value, $0.key) })
        let grants = freezes > 0 ? [StreakLedger.FreezeGrant(at: start, count: freezes)] : []
        ledger = StreakLedger(start: start, participants: participants, freezeGrants: grants)
        guard case .array(let list) = try fields.required("steps") else { throw CaseProblem(text: "steps: not a list") }
        var steps: [Step] = []
        for (index, step) in list.enumerated() {
            do throws(CaseProblem) {
                steps.append(try Step(step, ids: ids))
            } catch {
                throw CaseProblem(text: "step \(index + 1): \(error.text)")
            }
        }
        guard zip(steps, steps.dropFirst()).allSatisfy({ $0.at <= $1.at }), steps.first.map({ $0.at >= start }) ?? true else {
            throw CaseProblem(text: "steps are not in time order")
        }
        self.steps = steps
        try fields.finish()
    }

    private static func policy(_ kind: String) throws(CaseProblem) -> StreakPolicy {
        switch kind {
        case "mutual": return .mutual
        case "check_in": return .checkIn
        case "typed": return .typed
        case "team": return .team
        default: throw CaseProblem(text: "unknown kind \"\(kind)\"")
        }
    }
}

extension StreakCase.Step {
    init(_ json: JSONValue, ids: [String: UserID]) throws(CaseProblem) {
        let fields = Fields(try object(json, "step"), in: "step")
        at = try fields.instant("at")
        error = try fields.optionalString("error")
        creditedTo = try fields.optionalDate("credited_to")
        var commands: [StreakCommand] = []
        if let name = try fields.optionalString("contribute") {
            let capturedAt = try fields.optionalInstant("captured_at")
            commands.append(.contribute(try user(name, ids), receivedAt: at, capturedAt: capturedAt))
        }
        if let name = try fields.optionalString("recover") { commands.append(.recover(try user(name, ids))) }
        if let zones = fields.optional("zone") {
            for (name, value) in try object(zones, "zone").sorted(by: { $0.key < $1.key }) {
                commands.append(.changeZone(try user(name, ids), try StreaksReplay.zone(value)))
            }
        }
        if let outage = fields.optional("outage") {
            let span = Fields(try object(outage, "outage"), in: "outage")
            commands.append(.declareOutage(from: try span.instant("from"), until: try span.instant("to")))
            try span.finish()
        }
        if let date = try fields.optionalDate("pause_until") { commands.append(.pause(until: date)) }
        commands += try Self.further(fields, ids: ids, at: at)
        if let flag = fields.optional("unfriend") {
            guard flag == .bool(true) else { throw CaseProblem(text: "unfriend: not true") }
            commands.append(.end)
        }
        var expectations: [(String, StreakCase.Expectation)] = []
        if let expect = fields.optional("expect") {
            expectations = try StreakCase.expectations(try object(expect, "expect"))
        }
        guard commands.count <= 1 else { throw CaseProblem(text: "more than one action in a step") }
        guard !commands.isEmpty || !expectations.isEmpty else { throw CaseProblem(text: "nothing to do") }
        command = commands.first
        self.expectations = expectations
        try fields.finish()
        guard error == nil || command != nil else { throw CaseProblem(text: "error without an action") }
        guard creditedTo == nil || (error == nil && fields.has("contribute")) else {
            throw CaseProblem(text: "credited_to without a contribution")
        }
    }
}

extension StreakCase.Step {
    /// What only streaks of one, or only teams, have. The place of a step in time names what it uses.
    private static func further(_ fields: Fields, ids: [String: UserID], at: Instant) throws(CaseProblem) -> [StreakCommand] {
        let id = OperationID(high: 1, low: UInt64(bitPattern: at.microseconds))
        var commands: [StreakCommand] = []
        if fields.optional("resume") != nil { commands.append(.resume) }
        if let name = try fields.optionalString("repair") { commands.append(.repair(try user(name, ids), id: id)) }
        if let date = try fields.optionalDate("fill"), let user = ids["a"] { commands.append(.fill(date, by: user, id: id)) }
        if let count = try fields.optionalInteger("buy") { commands.append(.grantFreezes(count, id: id)) }
        if let date = try fields.optionalDate("freeze") { commands.append(.freeze(date)) }
        if let name = try fields.optionalString("protect") {
            guard let kind = StreakLedger.Protection.Kind.allCases.first(where: { "\($0)" == name }) else {
                throw CaseProblem(text: "protect: unknown \"\(name)\"")
            }
            commands.append(.protect(kind, until: try fields.optionalInstant("until"), id: id))
        }
        if let name = try fields.optionalString("plan"), let user = ids["a"] {
            let until = try fields.optionalInstant("until")
            commands.append(.changePlan(user, isPremium: name == "premium", until: until))
        }
        if let zones = fields.optional("join") {
            for (name, value) in try object(zones, "join") {
                commands.append(.join(try user(name, ids), ZoneHistory(try StreaksReplay.zone(value))))
            }
        }
        if let name = try fields.optionalString("break_off") { commands.append(.breakOff(by: try user(name, ids))) }
        if let name = try fields.optionalString("leave") { commands.append(.leave(try user(name, ids))) }
        return commands
    }
}

extension StreakCase {
    static func expectations(_ fields: [String: JSONValue]) throws(CaseProblem) -> [(key: String, value: Expectation)] {
        var expectations: [(key: String, value: Expectation)] = []
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            switch key {
            case "status", "count", "longest", "at_risk", "freezes", "tokens_returned", "broken_by", "last_completed_date",
                "freezes_held", "covers_returned", "protections", "grace_date", "lost":
                expectations.append((key, .value(value)))
            case "broken_at", "deadline_at", "next_due":
                guard value != .null else {
                    expectations.append((key, .instant(nil)))
                    continue
                }
                expectations.append((key, .instant(try instant(value, key))))
            case "days":
                for (day, mark) in try object(value, "days").sorted(by: { $0.key < $1.key }) {
                    guard let date = CalendarDate(day), case .string(let text) = mark else {
                        throw CaseProblem(text: "days: \"\(day)\" is no date with a mark")
                    }
                    expectations.append((key, .day(date, text)))
                }
            default: throw CaseProblem(text: "unknown key \"\(key)\" in expect")
            }
        }
        return expectations
    }
}

/// The fields of an object; reading marks them, and an unread one is a problem.
final class Fields {
    private let fields: [String: JSONValue]
    private let place: String
    private var read: Set<String> = []

    init(_ fields: [String: JSONValue], in place: String) {
        self.fields = fields
        self.place = place
    }

    func has(_ key: String) -> Bool { fields[key] != nil }

    func optional(_ key: String) -> JSONValue? {
        read.insert(key)
        return fields[key]
    }

    func required(_ key: String) throws(CaseProblem) -> JSONValue {
        guard let value = optional(key) else { throw CaseProblem(text: "\(key) is missing") }
        return value
    }

    func optionalString(_ key: String) throws(CaseProblem) -> String? {
        guard let value = optional(key) else { return nil }
        guard case .string(let text) = value else { throw CaseProblem(text: "\(key): not a text") }
        return text
    }

    func string(_ key: String) throws(CaseProblem) -> String {
        guard let text = try optionalString(key) else { throw CaseProblem(text: "\(key) is missing") }
        return text
    }

    func optionalInteger(_ key: String) throws(CaseProblem) -> Int? {
        guard let value = optional(key) else { return nil }
        guard case .integer(let number) = value, number >= 0 else { throw CaseProblem(text: "\(key): not a number") }
        return number
    }

    func instant(_ key: String) throws(CaseProblem) -> Instant { try StreaksReplay.instant(try required(key), key) }

    func optionalInstant(_ key: String) throws(CaseProblem) -> Instant? {
        guard let value = optional(key), value != .null else { return nil }
        return try StreaksReplay.instant(value, key)
    }

    func optionalDate(_ key: String) throws(CaseProblem) -> CalendarDate? {
        guard let text = try optionalString(key) else { return nil }
        guard let date = CalendarDate(text) else { throw CaseProblem(text: "\(key): \"\(text)\" is no date") }
        return date
    }

    func finish() throws(CaseProblem) {
        let unknown = fields.keys.filter { !read.contains($0) }.sorted()
        if let key = unknown.first { throw CaseProblem(text: "unknown key \"\(key)\" in \(place)") }
    }
}

func object(_ json: JSONValue, _ place: String) throws(CaseProblem) -> [String: JSONValue] {
    guard case .object(let fields) = json else { throw CaseProblem(text: "\(place): not an object") }
    return fields
}

func instant(_ json: JSONValue, _ key: String) throws(CaseProblem) -> Instant {
    guard case .string(let text) = json, let instant = Instant(rfc3339: text) else {
        throw CaseProblem(text: "\(key): \(json.text) is no instant")
    }
    return instant
}

func zone(_ json: JSONValue) throws(CaseProblem) -> Zone {
    guard case .string(let name) = json, let zone = Zone(name) else { throw CaseProblem(text: "\(json.text) is no zone") }
    return zone
}

private func user(_ name: String, _ ids: [String: UserID]) throws(CaseProblem) -> UserID {
    guard let id = ids[name] else { throw CaseProblem(text: "\"\(name)\" takes no part") }
    return id
}
