internal import Bus
internal import StreaksAPI

/// TS-5: the figures as JSON.
struct GetStreakAnalytics: QueryHandler {
    let report: AnalyticsReport

    func handle(_ request: GetStreakAnalyticsRequest, _: CallContext) async throws -> GetStreakAnalyticsReply {
        try await report.reply(to: request)
    }
}
