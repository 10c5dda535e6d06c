import Foundation
import TestSupport
import Testing

/// Every operation of the description, sent what developers get wrong. Each answer is graded: A is one by which the mistake can be mended
/// without looking anywhere else.
struct MistakeWalkTests {
    /// Operations whose mistakes are another test's, or that end the session of the caller.
    private static func isWalked(_ operation: APIOperation) -> Bool {
        let isOwn = operation.json["tags"][0].string == "gateway" || operation.path.hasPrefix("/.well-known/")
        let isPage = operation.json["responses"]["200"]["content"].names.contains { $0.hasPrefix("text/") }
        return !isOwn && !isPage && !operation.isStream && operation.auth != "secret"
    }

    @Test func `every mistake is answered so that it can be mended`() async throws {
        let home = try await Installation.shared.value
        let page = try await home.call("GET", "/openapi.json").json
        let (ada, chief) = (try await Person.register("ada", at: home), try await Person.administrator(at: home))
        var grades: [Mistake.Grade: Int] = [:]
        var bad: [String] = []
        for operation in APIOperation.all(in: page) where Self.isWalked(operation) {
            let mistakes = MistakeList(operation, in: page).all
            for mistake in Self.chosen(mistakes) {
                let token = mistake.token ?? ["user": ada.token, "guest": ada.token, "admin": chief.token][operation.auth] ?? ""
                let headers = mistake.headers + (token.isEmpty ? [] : [("Authorization", "Bearer \(token)")])
                let reply = try await home.http.send(mistake.verb, mistake.target, headers: headers, body: mistake.body)
                let grade = mistake.grade(reply)
                grades[grade, default: 0] += 1
                if grade == .useless { bad.append("\(operation), \(mistake.name): \(reply.status) \(reply.text.prefix(300))") }
            }
        }
        #expect(bad.isEmpty, "\(bad.count) of \(grades):\n\(bad.prefix(40).joined(separator: "\n"))")
        // Of those that only name the field there are few: where a rule cannot be said in a sentence.
        #expect(grades[.mendable, default: 0] > 19 * grades[.findable, default: 0], "\(grades)")
        #expect(grades[.mendable, default: 0] > TestDepth.pick(quick: 1_500, full: 3_000), "\(grades)")
    }

    /// In a quick run one of each kind.
    private static func chosen(_ mistakes: [Mistake]) -> [Mistake] {
        guard TestDepth.current == .quick else { return mistakes }
        var kinds: Set<String> = []
        return mistakes.filter { kinds.insert($0.kind).inserted }
    }
}
