import Foundation
import StreaksReplay
import Testing

@Suite struct CaseTests {
    static let file = Bundle.module.url(forResource: "streak-cases", withExtension: "json")

    static func results(isIncremental: Bool) throws -> [CaseReplay.Result] {
        try CaseReplay(isIncremental: isIncremental).play(Data(contentsOf: try #require(file)))
    }

    @Test(arguments: (try? results(isIncremental: false)) ?? []) func `The given cases, folded from the start`(
        result: CaseReplay.Result
    ) {
        #expect(result.disagreements == [])
    }

    @Test(arguments: (try? results(isIncremental: true)) ?? [])
    func `The given cases, folded from a checkpoint renewed after every step`(result: CaseReplay.Result) {
        #expect(result.disagreements == [])
    }

    @Test func `All 39 given cases are played`() throws {
        #expect(try Self.results(isIncremental: false).count == 39)
    }
}
