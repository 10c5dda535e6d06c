import Foundation
import StreaksReplay
import Testing

@Suite struct CaseTests {
    static let file = Bundle.module.url(forResource: "streak-cases", withExtension: "json")

    static func results(isIncremental: Bool) async throws -> [CaseReplay.Result] {
        try await CaseReplay(isIncremental: isIncremental).play(Data(contentsOf: try #require(file)))
    }

    @Test(arguments: (try? await results(isIncremental: false)) ?? []) func `The given cases, folded from the start`(
        result: CaseReplay.Result
    ) {
        #expect(result.disagreements == [])
    }

    @Test(arguments: (try? await results(isIncremental: true)) ?? [])
    func `The given cases, folded from a checkpoint renewed after every step`(result: CaseReplay.Result) {
        #expect(result.disagreements == [])
    }

    @Test func `All 39 given cases are played`() async throws {
        #expect(try await Self.results(isIncremental: false).count == 39)
    }
}
