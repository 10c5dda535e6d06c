import Foundation
import StreaksReplay
import Testing

@Suite struct CaseTests {
    static let file = Bundle.module.url(forResource: "streak-cases", withExtension: "json")

    static func results(isIncremental: Bool) throws -> [CaseReplay.Result] {
        try CaseReplay(isIncremental: isIncremental).play(Data(contentsOf: try #require(file)))
    }

    @Test("The given cases, folded from the start", arguments: (try? results(isIncremental: false)) ?? [])
    func given(result: CaseReplay.Result) {
        #expect(result.disagreements == [])
    }

    @Test(
        "The given cases, folded from a checkpoint renewed after every step",
        arguments: (try? results(isIncremental: true)) ?? []
    )
    func incremental(result: CaseReplay.Result) {
        #expect(result.disagreements == [])
    }

    @Test("All 39 given cases are played") func complete() throws {
        #expect(try Self.results(isIncremental: false).count == 39)
    }
}
