internal import Bus
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksDomain

/// The calendar of a typed streak as a file, for premium users.
struct ExportTypedCalendar: QueryHandler {
    let views: TypedViews

    func handle(_ request: ExportTypedCalendarRequest, _ context: CallContext) async throws -> ExportTypedCalendarReply {
        let user = try context.requireUser()
        guard try await EntitlementReplica().isPremium(user, now: views.clock.now(), views.store.database) else {
            throw ServiceError.premiumRequired
        }
        let folded = try await views.folded(request.type, of: user, isWhole: true, context)
        let days = try TypedViews.days(folded, from: request.from, to: request.to)
        let file = CalendarFile(folded.type, days.map { CalendarFile.Day($0.date, $0.mark.name) })
        if request.format == "ics" {
            let owner = folded.id?.description ?? "\(user)-\(request.type)"
            return ExportTypedCalendarReply(
                body: file.iCalendar(owner: owner, now: views.clock.now()),
                contentType: "text/calendar; charset=utf-8"
            )
        }
        return ExportTypedCalendarReply(body: file.csv, contentType: "text/csv; charset=utf-8")
    }

    func problems(of request: ExportTypedCalendarRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { try TypedViews.checkRange(from: request.from, to: request.to) }
    }
}
