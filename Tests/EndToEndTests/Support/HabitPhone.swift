import Foundation
import Kernel
import Testing

/// The app on a phone that is offline at times (HA-7): a copy of what the server has sent, and a queue of changes that have no answer yet.
struct HabitPhone: Sendable {
    /// What the phone has of the server's, by what names each entry.
    struct Copy: Sendable, Equatable {
        var settings = JSON.null
        var habits: [String: JSON] = [:]
        var categories: [String: JSON] = [:]
        var completions: [String: JSON] = [:]
        /// By habit and date.
        var skips: [String: JSON] = [:]
        /// By date.
        var notes: [String: JSON] = [:]
        /// Where each habit stands, by its id.
        var streaks: [String: JSON] = [:]

        /// The completions of a habit on a date.
        func completions(_ habit: String, _ date: String) -> [JSON] {
            completions.values.filter { $0["habit_id"].string == habit && $0["date"].string == date }
        }
    }

    /// The server's answer to a change.
    struct Answer: Sendable {
        let change: String
        /// applied, merged or refused.
        let outcome: String
        let code: String?
        let mergedInto: String?
        /// The completion that it made.
        let completion: String?
    }

    private struct Change: Sendable {
        let id: String
        let json: String
        let completion: String?
    }

    /// Made at the installation.
    let device = UUID().uuidString.lowercased()
    private(set) var copy = Copy()
    private(set) var answers: [Answer] = []
    /// The first date of which the next request may bring something, as the newest reply says.
    private(set) var earliest = ""
    /// Requests that were sent, repeated ones too.
    private(set) var requests = 0
    private var queue: [Change] = []
    private var epoch = 0
    private var cursor = ""

    var unsent: Int { queue.count }

    // MARK: what a person does on it

    /// - Parameter fields: a JSON object: `SyncHabitFields`.
    /// - Returns: the id that the phone has made.
    mutating func createHabit(_ fields: String) -> String {
        let id = Self.newID()
        add("habit", "create", "\"entity_id\":\"\(id)\",\"habit\":\(fields)")
        return id
    }

    mutating func editHabit(_ id: String, _ fields: String) {
        let base = copy.habits[id]?["sequence"].int ?? 0
        add("habit", "update", "\"entity_id\":\"\(id)\",\"base_sequence\":\(base),\"habit\":\(fields)")
    }

    mutating func archive(_ id: String) { add("habit", "archive", "\"entity_id\":\"\(id)\"") }

    /// - Returns: the id that the phone has made.
    @discardableResult
    mutating func complete(_ habit: String, on date: CalendarDate, _ fields: String = "{}") -> String {
        let id = Self.newID()
        let members = "\"entity_id\":\"\(id)\",\"habit_id\":\"\(habit)\",\"date\":\"\(date)\",\"completion\":\(fields)"
        add("completion", "create", members, completion: id)
        return id
    }

    mutating func editCompletion(_ id: String, _ fields: String) {
        let base = copy.completions[id]?["sequence"].int ?? 0
        add("completion", "update", "\"entity_id\":\"\(id)\",\"base_sequence\":\(base),\"completion\":\(fields)")
    }

    mutating func deleteCompletion(_ id: String) { add("completion", "delete", "\"entity_id\":\"\(id)\"") }

    mutating func skip(_ habit: String, on date: CalendarDate) {
        add("skip", "create", "\"habit_id\":\"\(habit)\",\"date\":\"\(date)\"")
    }

    mutating func note(_ text: String, on date: CalendarDate) {
        add("day_note", "create", "\"date\":\"\(date)\",\"note\":\(quoted(text))")
    }

    private mutating func add(_ entity: String, _ operation: String, _ members: String, completion: String? = nil) {
        let id = Self.newID()
        let json = "{\"change_id\":\"\(id)\",\"entity\":\"\(entity)\",\"operation\":\"\(operation)\",\(members)}"
        queue.append(Change(id: id, json: json, completion: completion))
    }

    private static func newID() -> String { UUID().uuidString.lowercased() }

    // MARK: being online

    /// Sends the queue in requests of so many changes, and pulls pages of so many entries until nothing is left.
    ///
    /// - Parameter losesReplies: the first reply to each request with changes never arrives, and the phone sends it again.
    mutating func sync(_ person: Person, changes: Int = 200, page: Int = 500, losesReplies: Bool = false) async throws {
        var isDone = false
        while !isDone {
            let sent = Array(queue.prefix(changes))
            let body = request(sent, page)
            let lost = losesReplies && !sent.isEmpty ? try await send(body, person) : nil
            let reply = try await send(body, person)
            if let lost { expectSame(lost, reply) }
            try take(reply, sent)
            isDone = queue.isEmpty && reply["has_more"].bool == false
        }
    }

    private func request(_ sent: [Change], _ page: Int) -> String {
        """
        {"device_id":"\(device)","schema_version":1,"epoch":\(epoch),"cursor":"\(cursor)","limit":\(page),\
        "has_more_changes":\(queue.count > sent.count),"changes":[\(sent.map(\.json).joined(separator: ","))]}
        """
    }

    private mutating func send(_ body: String, _ person: Person) async throws -> JSON {
        requests += 1
        let reply = try await person.post("/api/sync", body)
        try #require(reply.status == 200, "\(reply.text)")
        return reply.data
    }

    /// The repeat has the answers that were lost, and says that they are old.
    private func expectSame(_ lost: JSON, _ reply: JSON) {
        let (first, second) = (lost["results"].list, reply["results"].list)
        #expect(first.count == second.count && !first.isEmpty)
        for (one, other) in zip(first, second) {
            #expect(one["repeated"].bool == false && other["repeated"].bool == true, "\(one) \(other)")
            for name in ["change_id", "outcome", "code", "merged_into"] { #expect(one[name] == other[name], "\(one) \(other)") }
        }
    }

    private mutating func take(_ reply: JSON, _ sent: [Change]) throws {
        let results = reply["results"].list
        try #require(results.map { $0["change_id"].string } == sent.map(\.id), "an answer for each change, in their order")
        for (change, result) in zip(sent, results) {
            answers.append(
                Answer(
                    change: change.json,
                    outcome: try #require(result["outcome"].string),
                    code: result["code"].string,
                    mergedInto: result["merged_into"].string,
                    completion: change.completion
                )
            )
        }
        queue.removeFirst(sent.count)
        epoch = try #require(reply["epoch"].int)
        cursor = try #require(reply["next_cursor"].string)
        earliest = reply["earliest_date"].string ?? ""
        if reply["reset"].bool == true { copy = Copy() }
        copy.take(reply)
    }
}

extension HabitPhone.Copy {
    /// Entries replace those of the same name; then goes what was deleted.
    fileprivate mutating func take(_ reply: JSON) {
        if !reply["settings"].isNull { settings = reply["settings"] }
        for entry in reply["habits"].list { habits[entry["id"].string ?? ""] = entry }
        for entry in reply["categories"].list { categories[entry["id"].string ?? ""] = entry }
        for entry in reply["completions"].list { completions[entry["id"].string ?? ""] = entry }
        for entry in reply["skips"].list { skips[Self.name(entry)] = entry }
        for entry in reply["day_notes"].list { notes[entry["date"].string ?? ""] = entry }
        for entry in reply["deleted"].list { delete(entry) }
        // All of them are on the last page, and none on the others.
        if reply["has_more"].bool == false {
            streaks = [:]
            for entry in reply["streaks"].list { streaks[entry["habit_id"].string ?? ""] = entry }
        }
    }

    private mutating func delete(_ entry: JSON) {
        let id = entry["entity_id"].string ?? ""
        switch entry["entity"].string {
        case "habit":
            habits[id] = nil
            completions = completions.filter { $0.value["habit_id"].string != id }
            skips = skips.filter { $0.value["habit_id"].string != id }
        case "category": categories[id] = nil
        case "completion": completions[id] = nil
        case "skip": skips[Self.name(entry)] = nil
        case "day_note": notes[entry["date"].string ?? ""] = nil
        default: Issue.record("a deletion of something unknown: \(entry)")
        }
    }

    private static func name(_ skip: JSON) -> String { "\(skip["habit_id"].string ?? "") \(skip["date"].string ?? "")" }
}
