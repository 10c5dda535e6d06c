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

    @Test func `What is not believed is said, and the time of receipt stands for it`() {
        func claim(_ captured: String, received: String = "2026-05-02T12:00:00Z", _ zones: ZoneHistory? = nil) -> CaptureClaim {
            (zones ?? berlin).claim(receivedAt: moment(received), capturedAt: moment(captured), .mutual)
        }
        let received = moment("2026-05-02T12:00:00Z")
        for (captured, isIgnored) in [
            ("2026-05-02T11:00:00Z", false), ("2026-05-02T12:15:00Z", false), ("2026-05-02T12:15:00.000001Z", true),
            ("2569-05-02T12:00:00Z", true), ("2025-05-02T12:00:00Z", true), ("2026-05-01T21:00:00Z", true),
        ] {
            let claimed = claim(captured)
            #expect(claimed.isCaptureIgnored == isIgnored && claimed.date == day("2026-05-02"), "\(captured)")
            #expect(claimed.at == (isIgnored ? received : min(received, moment(captured))), "\(captured)")
        }
        // In time for its date, which is over.
        let late = claim("2026-05-02T20:00:00Z", received: "2026-05-03T03:00:00Z")
        #expect(late.date == day("2026-05-02") && late.at == moment("2026-05-02T20:00:00Z") && !late.isCaptureIgnored)
        // By travel a date may have ended two days after it was captured on; it is too old all the same.
        var travel = ZoneHistory(Zone("Pacific/Kiritimati") ?? .utc)
        travel.change(to: Zone("Pacific/Pago_Pago") ?? .utc, at: moment("2026-05-02T09:00:00Z"))
        #expect(claim("2026-05-01T10:30:00Z", received: "2026-05-03T10:29:59Z", travel).isCaptureIgnored == false)
        #expect(claim("2026-05-01T10:30:00Z", received: "2026-05-03T10:30:01Z", travel).isCaptureIgnored)
    }

    @Test func `A later change of zone does not move what was received before it`() {
        var zones = berlin
        zones.change(to: Zone("Pacific/Pago_Pago") ?? .utc, at: moment("2026-05-05T00:00:00Z"))
        #expect(claimed("2026-05-02T21:00:00Z", nil, zones) == claimed("2026-05-02T21:00:00Z", nil))
    }
}
