internal import BlobConfiguration
internal import Kernel
internal import Runtime
internal import ServiceRuntime

/// How exports of personal data are put together (AU-10).
struct Exports: Sendable {
    let repository: DataExportRepository
    let sources: DataSources
    let links: BlobLinks
    /// The largest document that is a reply, in bytes.
    let replyLimit: Int
    let jobs: [Job]

    /// - Throws: `Settings.Invalid`.
    init(_ environment: ServiceEnvironment, _ declared: [PersonalData]) async throws {
        repository = DataExportRepository(database: environment.database)
        sources = DataSources(environment.bus, own: PersonalDataExporter(declared, environment))
        links = try BlobLinks(environment.settings)
        replyLimit = try environment.settings.get(AccountsFeature.exportReply)
        guard (10_000...ExportMyData.mostBytes).contains(replyLimit) else {
            throw Settings.Invalid(
                "--auth-export-reply-bytes must be from 10000 to \(ExportMyData.mostBytes), not \(replyLimit)."
            )
        }
        jobs =
            ExportJobs(
                repository: repository,
                sources: sources,
                blobs: try await BlobSettings.store(environment.settings, logger: environment.logger),
                work: environment.work,
                ids: environment.ids,
                logger: environment.logger
            ).all
    }
}
