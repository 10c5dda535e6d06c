internal import Bus
internal import Kernel
internal import StreaksAPI

/// TS-5: the figures as JSON.
struct GetStreakAnalytics: QueryHandler {
    let report: AnalyticsReport

    func handle(_ request: GetStreakAnalyticsRequest, _: CallContext) async throws -> GetStreakAnalyticsReply {
        try await report.reply(to: request)
    }

    /// Beside other fields that are wrong; by itself a range has a code of its own.
    func problems(of request: GetStreakAnalyticsRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { check in
            check.require(report.range(of: request) != nil, "from", "must not be after to, and at most 366 dates are shown")
        }
    }
}
