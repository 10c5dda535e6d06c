import Foundation
import Kernel
import TestSupport
import Testing

/// What the walk over every route sends to those of habits.
extension ClockTests {
    func habits(_ walk: inout RepeatWalk) async throws {
        let ida = try await Person.register("ida", at: walk.home, zone: "UTC")
        let (one, two) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
        try await walk.send("POST /api/habits", by: ida.token, json: "{\"id\":\"\(one)\",\"name\":\"Read\",\"target_value\":10}")
        try await walk.send("POST /api/habits", by: ida.token, json: "{\"id\":\"\(two)\",\"name\":\"Walk\"}")
        #expect(try await ida.get("/api/habits").data["active_count"].int == 2, "each begun once")
        try await walk.send("PUT /api/habits/order", by: ida.token, json: "{\"habit_ids\":[\"\(two)\"]}")
        let habit = ["habit_id": one]
        try await walk.send("PUT /api/habits/{habit_id}", habit, by: ida.token, json: "{\"unit\":\"pages\"}")
        try await completions(&walk, ida, one)
        let tomorrow = try await home(walk.home, plus: 1)
        try await walk.send(
            "POST /api/habits/{habit_id}/pause",
            ["habit_id": two],
            by: ida.token,
            json: "{\"until\":\"\(tomorrow)\"}"
        )
        try await walk.send("DELETE /api/habits/{habit_id}/pause", ["habit_id": two], by: ida.token)
        try await walk.send("POST /api/habits/{habit_id}/archive", habit, by: ida.token, json: "{}")
        try await walk.send("POST /api/habits/{habit_id}/unarchive", habit, by: ida.token, json: "{}")
        try await files(&walk, ida, two)
        try await walk.send("DELETE /api/habits/{habit_id}", habit, by: ida.token)
        try await walk.send("POST /api/habits/{habit_id}/undelete", habit, by: ida.token, json: "{}")
        try await categories(&walk, ida)
        try await sync(&walk, ida, two)
        try await walk.send("PUT /api/habits/settings", by: ida.token, json: "{\"theme\":\"dark\"}")
        try await walk.send("PUT /api/habits/day-note", by: ida.token, json: "{\"note\":\"Rain\"}")
        let asked = try await walk.send("DELETE /api/habits/data", by: ida.token)
        #expect(asked["habits"].int == 3 && asked["token"].string != nil)
    }

    private func files(_ walk: inout RepeatWalk, _ person: Person, _ id: String) async throws {
        let date = try await home(walk.home, plus: 0)
        let tap = "{\"action\":\"complete\",\"date\":\"\(date)\"}"
        try await walk.send("POST /api/habits/{habit_id}/reminder-action", ["habit_id": id], by: person.token, json: tap)
        let rows = Array("Habit Name,Date,Status,Value,Note\r\nSwim,\(date),Completed,,\r\n".utf8)
        let table = Form(photo: rows, part: "file", fileName: "habits.csv", type: "text/csv", fields: [("format", "csv")])
        try await walk.send("POST /api/habits/import", by: person.token, form: table)
        #expect(try await person.get("/api/habits").data["active_count"].int == 3, "imported once")
        try await walk.send("POST /api/habits/backup", by: person.token, json: "{}")
        let backup = try await person.post("/api/habits/backup", "{}")
        let document = Form(photo: backup.body, part: "file", fileName: "habits.json", type: "application/json")
        try await walk.send("POST /api/habits/restore", by: person.token, form: document)
        #expect(try await person.get("/api/habits").data["active_count"].int == 3, "as they were")
    }

    private func sync(_ walk: inout RepeatWalk, _ person: Person, _ id: String) async throws {
        let (device, change) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
        let note =
            "{\"change_id\":\"\(change)\",\"entity\":\"habit\",\"operation\":\"update\",\"entity_id\":\"\(id)\",\"habit\":{\"unit\":\"km\"}}"
        let request = "{\"device_id\":\"\(device)\",\"schema_version\":1,\"changes\":[\(note)]}"
        let reply = try await walk.send("POST /api/sync", by: person.token, json: request, repeats: .ownAnswer)
        #expect(reply["results"][0]["outcome"].string == "applied" && reply["results"][0]["repeated"].bool == true)
        #expect(reply["habits"].list.count == 3)
        // The same change with another key: it has no other effect, and says so.
        let again = try await person.post("/api/sync", request).data["results"][0]
        #expect(again["outcome"].string == "applied" && again["repeated"].bool == true)
    }

    private func completions(_ walk: inout RepeatWalk, _ person: Person, _ id: String) async throws {
        var ids = ["habit_id": id]
        let path = "/api/habits/{habit_id}/completions"
        let entry = try await walk.send("POST \(path)", ids, by: person.token, json: "{\"value\":4}")
        ids["completion_id"] = entry["completion"]["id"].string
        #expect(try await person.get("/api/habits/\(id)").data["total_value"].number == 4, "added once")
        try await walk.send("PUT \(path)/{completion_id}", ids, by: person.token, json: "{\"note\":\"Chapter 3\"}")
        ids["date"] = entry["date"].string
        let photo = Form(photo: try Photos.jpeg(47))
        let stored = try await walk.send("PUT \(path)/{date}/photo", ids, by: person.token, form: photo)
        #expect(try await person.get("/api/habits/\(id)/completions/\(ids["date"] ?? "")/photo").data["id"] == stored["id"])
        try await walk.send("DELETE \(path)/{date}/photo", ids, by: person.token)
        try await walk.send("DELETE \(path)/{completion_id}", ids, by: person.token)
        try await walk.send("POST /api/habits/{habit_id}/skip", ids, by: person.token, json: "{}")
        try await walk.send("DELETE /api/habits/{habit_id}/skip", ids, by: person.token)
    }

    private func categories(_ walk: inout RepeatWalk, _ person: Person) async throws {
        let made = try await walk.send("POST /api/habits/categories", by: person.token, json: "{\"name\":\"Music\"}")
        let ids = ["category_id": try #require(made["id"].string)]
        let order = "{\"category_ids\":[\"\(ids["category_id"] ?? "")\"]}"
        try await walk.send("PUT /api/habits/categories/order", by: person.token, json: order)
        try await walk.send("PUT /api/habits/categories/{category_id}", ids, by: person.token, json: "{\"name\":\"Sound\"}")
        try await walk.send("DELETE /api/habits/categories/{category_id}", ids, by: person.token)
        #expect(try await person.get("/api/habits/categories").data["categories"].list.count == 5, "made once, deleted once")
    }

    /// A date by the development clock, on UTC.
    private func home(_ home: Installation, plus days: Int) async throws -> String {
        let now = try #require(try await home.call("GET", "/api/dev/clock").data["now"].string)
        let instant = try #require(Instant(rfc3339: now))
        return "\(Zone.utc.date(at: instant).advanced(by: days))"
    }
}
