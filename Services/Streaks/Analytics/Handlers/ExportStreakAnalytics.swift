internal import Bus
internal import StreaksAPI

/// TS-5: the figures by date and type as CSV, a column a figure.
struct ExportStreakAnalytics: QueryHandler {
    let report: AnalyticsReport

    func handle(_ request: GetStreakAnalyticsRequest, _: CallContext) async throws -> ExportStreakAnalyticsReply {
        ExportStreakAnalyticsReply(csv: AnalyticsCSV.text(try await report.reply(to: request).days))
    }
}
