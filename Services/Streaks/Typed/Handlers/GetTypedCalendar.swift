internal import Bus
internal import Kernel
internal import StreaksAPI

/// What became of each date of a typed streak.
struct GetTypedCalendar: QueryHandler {
    let views: TypedViews

    func handle(_ request: GetTypedCalendarRequest, _ context: CallContext) async throws -> TypedCalendar {
        let user = try context.requireUser()
        let folded = try await views.folded(request.type, of: user, isWhole: true, context)
        let days = try TypedViews.days(folded, from: request.from, to: request.to)
        guard let first = days.first, let last = days.last else { throw ServiceError.internal }
        return TypedCalendar(type: request.type, from: first.date, to: last.date, days: days)
    }

    func problems(of request: GetTypedCalendarRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { try TypedViews.checkRange(from: request.from, to: request.to) }
    }
}
