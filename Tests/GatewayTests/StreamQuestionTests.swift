import Kernel
import TestSupport
import Testing

@testable import GatewayService

/// Which stream is asked for next.
struct StreamQuestionTests {
    private func lease(_ number: Int) -> LeaseID { LeaseID(high: 1, low: UInt64(number)) }

    @Test func `who has waited longest is asked for first, however many come meanwhile`() {
        var questions = StreamQuestions()
        var asked: [LeaseID] = []
        for number in 0..<200 {
            questions.append(lease(3 * number))
            questions.append(lease(3 * number + 1))
            questions.append(lease(3 * number + 2))
            // More come than are answered.
            if let next = questions.next(isOpen: { _ in true }) { asked.append(next) }
            if number >= 10 { questions.ended(again: nil) }
        }
        #expect(asked == (0..<asked.count).map(lease) && asked.count >= 150)
    }

    @Test func `so many at once, none of those that have ended, and what has failed once more behind the others`() {
        var questions = StreamQuestions()
        for number in 0..<100 { questions.append(lease(number)) }
        func next() -> LeaseID? { questions.next { $0.low % 2 == 0 } }
        #expect((0..<StreamQuestions.most).compactMap { _ in next() } == (0..<StreamQuestions.most).map { lease(2 * $0) })
        #expect(next() == nil)
        questions.ended(again: lease(0))
        #expect(next() == lease(64))
        questions.ended(again: nil)
        questions.repeatFailed()
        var rest: [LeaseID] = []
        while let lease = next() {
            rest.append(lease)
            questions.ended(again: nil)
        }
        #expect(rest == (33..<50).map { lease(2 * $0) } + [lease(0)])
    }

    @Test(arguments: 1...20)
    func `whatever comes, fails and ends, each is asked for as often as it waited, in order`(seed: UInt64) {
        var (random, questions) = (Seeded(seed), StreamQuestions())
        var (waiting, failed, number) = ([LeaseID](), [LeaseID](), 0)
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                number += 1
                questions.append(lease(number))
                waiting.append(lease(number))
            case 5:
                questions.repeatFailed()
                waiting += failed
                failed = []
            default:
                guard let next = questions.next(isOpen: { _ in true }) else { break }
                #expect(next == waiting.removeFirst())
                let isFailed = Bool.random(using: &random)
                questions.ended(again: isFailed ? next : nil)
                if isFailed { failed.append(next) }
            }
        }
    }
}
