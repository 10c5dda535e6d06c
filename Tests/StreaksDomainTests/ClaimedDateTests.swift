import Kernel
import StreaksDomain
import Testing

/// The date a snap claims by its times alone: what makes a repeat the same (PH-3, SD-1, SD-2).
@Suite struct ClaimedDateTests {
    private let berlin = ZoneHistory(Zone("Europe/Berlin") ?? .utc)

    private func claimed(_ received: String, _ captured: String?, _ zones: ZoneHistory? = nil) -> CalendarDate {
        (zones ?? berlin).dateClaimed(receivedAt: moment(received), capturedAt: captured.map { moment($0) }, .mutual)
    }

    @Test func `Without a client's time it is the date of the receipt`() {
        #expect(claimed("2026-05-02T21:59:59Z", nil) == day("2026-05-02"))
        #expect(claimed("2026-05-02T22:00:00Z", nil) == day("2026-05-03"))
    }

    @Test func `A client's time counts until six hours after the end of its date, the end included`() {
        let captured = "2026-05-02T20:00:00Z"
        #expect(claimed("2026-05-03T04:00:00Z", captured) == day("2026-05-02"))
        #expect(claimed("2026-05-03T04:00:01Z", captured) == day("2026-05-03"))
        #expect(
            claimed("2026-05-02T21:00:00Z", "2026-05-02T22:00:01Z") == day("2026-05-02"),
            "a clock ahead claims no later date"
        )
    }

    @Test func `It is what the ledger credits while the date is free, whatever was posted for it before`() throws {
        var story = try Story(.mutual, ["Europe/Berlin", "Europe/Berlin"])
        let (received, captured) = ("2026-05-03T01:00:00Z", "2026-05-02T20:00:00Z")
        try story.post(Story.a, "2026-05-01T12:00:00Z")
        let free = try story.ledger.dateCredited(
            to: Story.a,
            receivedAt: moment(received),
            capturedAt: moment(captured),
            .mutual,
            at: moment(received)
        )
        #expect(free == claimed(received, captured))
        try story.at(received, .contribute(Story.a, receivedAt: moment(received), capturedAt: moment(captured)))
        #expect(claimed(received, captured) == day("2026-05-02"), "a repeat claims the same date again")
        let credited = try story.ledger.dateCredited(
            to: Story.a,
            receivedAt: moment(received),
            capturedAt: moment(captured),
            .mutual,
            at: moment(received)
        )
        #expect(credited == day("2026-05-03"), "the ledger would count it for today")
    }

    @Test func `A later change of zone does not move what was received before it`() {
        var zones = berlin
        zones.change(to: Zone("Pacific/Pago_Pago") ?? .utc, at: moment("2026-05-05T00:00:00Z"))
        #expect(claimed("2026-05-02T21:00:00Z", nil, zones) == claimed("2026-05-02T21:00:00Z", nil))
    }
}
