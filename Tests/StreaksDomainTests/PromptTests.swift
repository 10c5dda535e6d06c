import Kernel
import StreaksDomain
import Testing

/// Prompts that a member writes, and the built-in ones (PW-1).
@Suite struct PromptTests {
    private func reject(_ entries: [CustomPrompts.Entry]) -> [String] {
        do throws(ServiceError) {
            _ = try CustomPrompts(checking: entries)
            return []
        } catch { return error.details.map(\.field) }
    }

    private func entry(_ text: String, _ emoji: String? = nil) -> CustomPrompts.Entry {
        CustomPrompts.Entry(text: text, emoji: emoji)
    }

    @Test(arguments: [1, 2, 7, 30]) func `Each in turn, from the first again after the last, before 1970 too`(
        count: Int
    ) throws {
        let prompts = try CustomPrompts(checking: (1...count).map { entry("Prompt \($0)") })
        var previous: Int?
        for offset in -100..<200 {
            let (number, shown) = prompts.entry(of: CalendarDate(dayNumber: Int32(offset)))
            #expect(shown.text == "Prompt \(number)")
            if let previous { #expect(number == previous % count + 1) }
            previous = number
        }
    }

    @Test func `White space is dropped, an empty emoji is none`() throws {
        let prompts = try CustomPrompts(checking: [entry("  Our dog \n", ""), entry("Kaffee für zwei", "☕"), entry("我们的猫", "🐈‍⬛")])
        #expect(prompts.entries == [entry("Our dog"), entry("Kaffee für zwei", "☕"), entry("我们的猫", "🐈‍⬛")])
    }

    @Test func `What is no prompt is refused by name`() {
        #expect(reject([]) == ["prompts"])
        #expect(reject(Array(repeating: entry("x"), count: 31)) == ["prompts"])
        #expect(
            reject([entry("fine"), entry("   "), entry(String(repeating: "x", count: 121))]) == [
                "prompts[1].text", "prompts[2].text",
            ]
        )
        #expect(reject([entry("two\nlines"), entry("\u{202E}abc"), entry("nul\u{0}")]).count == 3)
        #expect(reject([entry("a", "ab"), entry("a", "7"), entry("a", "🐈🐈"), entry("a", "x")]).count == 4)
        #expect(reject([entry("a", "✂️"), entry("a", "👩‍👩‍👧"), entry("a", "🇩🇪"), entry("a", "1️⃣"), entry("a", "👍🏽")]).isEmpty)
        #expect(reject([entry("a" + String(repeating: "\u{0301}", count: 5_000))]) == ["prompts[0].text"])
    }

    @Test func `The built-in ones are fit to show: one emoji, no sentence twice, not too long, no full stop`() {
        let all = DailyPrompt.all
        #expect(all.count == 126)
        #expect(Set(all.map { $0.text.lowercased() }).count == all.count)
        for prompt in all {
            #expect(prompt.text.count <= 60 && prompt.text.first?.isUppercase == true && prompt.text.last != ".", "\(prompt)")
            #expect(reject([entry(prompt.text, prompt.emoji)]).isEmpty, "\(prompt)")
        }
        for category in DailyPrompt.Category.allCases {
            let emoji = all.filter { $0.category == category }.map(\.emoji)
            #expect(emoji.count == 21 && Set(emoji).count == emoji.count, "\(category)")
        }
    }
}
