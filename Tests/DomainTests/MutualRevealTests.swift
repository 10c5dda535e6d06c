import Kernel
import MediaDomain
import Testing

@Suite("Mutual reveal")
struct MutualRevealTests {
    private let date = CalendarDate(dayNumber: 20_000)

    @Test(arguments: -3...3, [true, false]) func `A friend's snap is locked on dates not over that one has not posted for`(
        offset: Int,
        youPosted: Bool
    ) {
        let isLocked = MutualReveal.isLocked(date.advanced(by: offset), youPosted: youPosted, openFrom: date)
        #expect(isLocked == (!youPosted && offset >= 0))
    }

    /// The dates as days from `date`.
    private func today(your: Int, friend: Int, open: Int, newest: Int) -> StreakToday {
        StreakToday(
            yourDate: date.advanced(by: your),
            friendDate: date.advanced(by: friend),
            openFrom: date.advanced(by: open),
            friendNewest: date.advanced(by: newest)
        )
    }

    private func slot(_ today: StreakToday, posted: Int..., own: Int...) -> StreakToday.FriendSlot {
        today.friendSlot(
            posted: Set(posted.map { date.advanced(by: $0) }),
            own: Set(own.map { date.advanced(by: $0) })
        )
    }

    @Test func `on the same date, the friend's snap shows once one has posted`() {
        let today = today(your: 0, friend: 0, open: 0, newest: 0)
        #expect(today.ownDates == [date] && Array(today.friendDates) == [date])
        #expect(slot(today, posted: -1, own: -1) == .empty)
        #expect(slot(today, posted: 0, own: -1) == .locked(date))
        #expect(slot(today, posted: 0, own: 0) == .shown(date))
        #expect(slot(today, own: 0) == .empty)
    }

    @Test func `what was not over when the friendship ended stays locked on later dates`() {
        func later(_ closed: Int) -> StreakToday {
            StreakToday(
                yourDate: date,
                friendDate: date,
                openFrom: date,
                friendNewest: date.advanced(by: 1),
                closedFrom: date.advanced(by: closed)
            )
        }
        #expect(Array(later(-30).friendDates) == [date, date.advanced(by: 1)], "no more dates than before")
        #expect(slot(later(-30), posted: 0) == .locked(date))
        #expect(slot(later(-30), posted: 0, own: 0) == .shown(date))
        #expect(slot(later(5), posted: 0) == .locked(date), "what is not over opens no sooner")
    }

    @Test func `yesterday's snap of one's own, which a clock set back calls today's, opens nothing of today`() {
        let west = today(your: -1, friend: 0, open: 0, newest: 0)
        #expect(slot(west, posted: 0, own: -1) == .locked(date))
        #expect(west.ownDates == [date.advanced(by: -1), date])
    }

    @Test func `who is a date ahead goes on seeing the friend's snap of the date that both have posted for`() {
        let ahead = today(your: 1, friend: 0, open: 0, newest: 0)
        #expect(slot(ahead, posted: 0, own: 0) == .shown(date))
        #expect(slot(ahead, posted: 0, own: 1) == .locked(date), "the next date's snap does not open it")
        #expect(ahead.ownDates == [date.advanced(by: 1), date])
    }

    @Test func `who is a date behind sees the friend's snap of it after posting, and the next one only after posting for that`() {
        let behind = today(your: 0, friend: 1, open: 0, newest: 1)
        #expect(slot(behind, posted: 0, 1) == .locked(date.advanced(by: 1)))
        #expect(slot(behind, posted: 0, 1, own: 0) == .shown(date))
        #expect(slot(behind, posted: 1, own: 0) == .locked(date.advanced(by: 1)))
        #expect(slot(behind, posted: 0, 1, own: 0, 1) == .shown(date.advanced(by: 1)))
    }

    @Test func `after both have travelled west, a date that was over stays over`() {
        let west = today(your: 0, friend: 0, open: 1, newest: 1)
        #expect(slot(west, posted: 0) == .shown(date))
        #expect(slot(west, posted: 0, 1) == .shown(date))
        #expect(slot(west, posted: 0, 1, own: 1) == .shown(date.advanced(by: 1)))
        #expect(slot(west, posted: 1) == .locked(date.advanced(by: 1)))
    }
}
