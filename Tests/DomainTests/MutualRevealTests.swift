import Kernel
import MediaDomain
import Testing

@Suite("Mutual reveal")
struct MutualRevealTests {
    private let today = CalendarDate(dayNumber: 20_000)

    @Test("A friend's snap is locked on the dates one has not posted for and still can", arguments: -3...3, [true, false])
    func locked(offset: Int, youPosted: Bool) {
        let date = today.advanced(by: offset)
        func isLocked(_ friendPosted: Bool, _ openFrom: CalendarDate?) -> Bool {
            MutualReveal.isLocked(date, youPosted: youPosted, friendPosted: friendPosted, openFrom: openFrom)
        }
        #expect(isLocked(true, today) == (!youPosted && offset >= 0), "a date one has yet to reach can be posted for too")
        #expect(!isLocked(true, nil), "a streak that has ended takes nothing any more")
        #expect(!isLocked(false, today), "where there is nothing, nothing is locked")
    }
}
