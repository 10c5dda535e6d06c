internal import BlobConfiguration
internal import Kernel
internal import Runtime
internal import ServiceRuntime

/// How exports of personal data are put together (AU-10).
struct Exports: Sendable {
    let desk: ExportDesk
    let jobs: [Job]

    /// - Throws: `Settings.Invalid`.
    init(_ environment: ServiceEnvironment, _ declared: [PersonalData]) async throws {
        let repository = DataExportRepository(database: environment.database)
        let further = try environment.settings.get(AccountsFeature.exportServices).settingEntries
        guard further.allSatisfy(ServiceName.isValid), Set(further).count == further.count else {
            throw Settings.Invalid("--auth-export-services must be names of services with commas between them, each once.")
        }
        let sources = DataSources(environment.bus, own: PersonalDataExporter(declared, environment), further: further)
        let replyLimit = try environment.settings.get(AccountsFeature.exportReply)
        guard (10_000...ExportDesk.mostBytes).contains(replyLimit) else {
            throw Settings.Invalid(
                "--auth-export-reply-bytes must be from 10000 to \(ExportDesk.mostBytes), not \(replyLimit)."
            )
        }
        desk = ExportDesk(
            exports: repository,
            sources: sources,
            links: try BlobLinks(environment.settings),
            clock: environment.clock,
            limit: replyLimit
        )
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
