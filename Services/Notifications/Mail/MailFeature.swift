internal import AuthAPI
internal import Database
internal import Kernel
internal import NotificationsAPI
internal import Outbox
internal import OutgoingMail
internal import Runtime
package import ServiceRuntime

/// Mail to users by SMTP: services ask for it with an address, this feature writes it in the reader's language and hands it over (AU-13).
package enum MailFeature {
    static let serverURL = Setting(
        "notifications.smtp-url",
        default: "",
        isSecret: true,
        help: """
            The mail server: smtp://user:password@host:587 (STARTTLS is required, except on this machine) or smtps://…:465. Empty: mails go \
            into notifications.mail-folder.
            """
    )
    static let authorities = Setting(
        "notifications.smtp-ca-file",
        default: "",
        help: "File of certificates (PEM) that the mail server's is checked with; empty: those of the system."
    )
    static let sender = Setting(
        "notifications.mail-from",
        default: "",
        help: "Who sends: StreakSnap <no-reply@example.com>. Required with notifications.smtp-url."
    )
    static let folder = Setting(
        "notifications.mail-folder",
        default: "",
        help:
            "Folder that mails are written to instead, for development; empty, and no mail server: mails wait until they are of no use."
    )

    /// The feature.
    package static let feature = ServiceFeature(
        "mail",
        settings: [serverURL, authorities, sender, folder],
        migrations: [MigrationSet("mail", [Migration(version: 1, name: "mail", sql: PackageResources.V0001_mail_sql)])],
        personalData: [.mail]
    ) { environment in
        let transport = try MailTransport(environment.settings)
        if transport == nil {
            environment.logger.warning("no mail is sent: there is neither a mail server nor a folder for mails")
        }
        let stored = WakeSignal()
        let jobs = MailJobs(
            mails: MailRepository(database: environment.database),
            stored: stored,
            composer: MailComposer(sender: try address(environment.settings)),
            addresses: EmailClient(environment.bus),
            transport: transport,
            clock: environment.clock,
            ids: environment.ids,
            logger: environment.logger,
            metrics: environment.metrics
        )
        return FeatureParts(
            endpoints: MailService.endpoints(sendMail: SendMail(mutations: environment.mutations, stored: stored)),
            consumers: ReceiptConsumer.all,
            jobs: jobs.all
        )
    }

    static func address(_ settings: Settings) throws -> MailAddress {
        var text = try settings.get(sender)
        if text.isEmpty, try settings.get(serverURL).isEmpty { text = "StreakSnap <streaksnap@localhost>" }
        guard let address = MailAddress(text: text) else {
            throw Settings.Invalid("\(sender.argument) must be an address, StreakSnap <no-reply@example.com>.")
        }
        return address
    }
}
