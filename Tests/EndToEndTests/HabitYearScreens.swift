import Foundation
import Kernel
import Testing

/// What a tablet and a phone show of Ida's year (`HabitYearTests`).
extension HabitYear {
    /// Every screen of the tablet says what the phone has.
    func agrees() async throws {
        let copy = phone.copy
        for ago in 0...9 {
            let date = today.advanced(by: -ago)
            let day = try await tablet("GET", "/today?date=\(date)")
            let shown = day["sections"].list.flatMap { $0["habits"].list }
            for habit in shown { try expectSame(habit, on: date, copy) }
            let drunk = shown.first { $0["habit_id"].string == water }
            #expect(drunk?["status"].string == "done", "\(date)")
            #expect(day["day_note"].string == copy.notes["\(date)"]?["note"].string)
        }
        for habit in copy.habits.keys { try await expectSameCompletions(habit, copy) }
        let listed = try await tablet("GET", "")["groups"].list.flatMap { $0["habits"].list }
        let active = copy.habits.values.filter { $0["archived"].bool == false }
        #expect(Set(listed.map { $0["name"].string }) == Set(active.map { $0["name"].string }))

        let statistics = try await tablet("GET", "/statistics?period=week")
        #expect(statistics["habits_active"].int == active.count)
        for result in statistics["habits"].list {
            let id = try #require(result["habit_id"].string)
            #expect(result["current_streak"].int == copy.streaks[id]?["count"].int, "\(result["name"])")
            #expect(result["longest_streak"].int == copy.streaks[id]?["longest"].int, "\(result["name"])")
        }
        let drunk = statistics["habits"].list.first { $0["habit_id"].string == water }
        #expect(drunk?["rate"]["done"].int == 7 && drunk?["rate"]["due"].int == 7)
        try expectKept(copy)
    }

    private func expectSame(_ habit: JSON, on date: CalendarDate, _ copy: HabitPhone.Copy) throws {
        let id = try #require(habit["habit_id"].string)
        #expect(habit["current_streak"].int == copy.streaks[id]?["count"].int, "\(habit["name"])")
        let held = copy.completions(id, "\(date)")
        #expect(habit["completions"].int == held.count, "\(habit["name"]) on \(date)")
        let sum = held.reduce(0) { $0 + ($1["value"].number ?? 0) }
        #expect(habit["value"].number == sum, "\(habit["name"]) on \(date)")
        let isSkipped = copy.skips["\(id) \(date)"] != nil
        #expect((habit["status"].string == "skipped") == (isSkipped && held.isEmpty), "\(habit["name"]) on \(date)")
    }

    /// The pages of a habit's completions are those of the copy.
    private func expectSameCompletions(_ habit: String, _ copy: HabitPhone.Copy) async throws {
        func row(_ completion: JSON) -> String {
            let value = completion["value"].number.map { "\($0)" } ?? "-"
            let texts = [completion["note"].string, completion["mood"].string, completion["done_at"].string].map { $0 ?? "-" }
            return ([completion["id"].string ?? "", completion["date"].string ?? "", value] + texts).joined(separator: " ")
        }
        var (rows, cursor): (Set<String>, String?) = ([], "")
        while let next = cursor {
            let path = "/api/habits/\(habit)/completions?limit=100\(next.isEmpty ? "" : "&cursor=\(next)")"
            let page = try await home.call("GET", path, token: ida.token)
            rows.formUnion(page.data["completions"].list.map { row($0["completion"]) })
            cursor = page.json["meta"]["next_cursor"].string
        }
        let held = copy.completions.values.filter { $0["habit_id"].string == habit }.map(row)
        #expect(rows == Set(held), "\(copy.habits[habit]?["name"].string ?? habit)")
    }

    /// Nothing is lost that was acknowledged: each completion of the phone is there, under its own name or the one that it got.
    private func expectKept(_ copy: HabitPhone.Copy) throws {
        var kept: Set<String> = []
        for answer in phone.answers where answer.outcome != "refused" {
            if let id = answer.completion { kept.insert(answer.mergedInto ?? id) }
            if answer.change.contains("\"entity\":\"completion\",\"operation\":\"delete\"") {
                kept = kept.filter { !answer.change.contains($0) }
            }
        }
        #expect(kept.count > 100 && kept.isSubset(of: copy.completions.keys))
    }

    /// The same at the end, when one habit was deleted with what it had.
    func expectKept(_ copy: HabitPhone.Copy, without habit: String) throws {
        let mine = phone.answers.filter { $0.outcome != "refused" && !$0.change.contains(habit) }
        let ids = mine.compactMap { $0.mergedInto ?? $0.completion }
        let lost = ids.filter { copy.completions[$0] == nil }
        #expect(lost.count == 1, "the run that was taken back in May")
    }
}
