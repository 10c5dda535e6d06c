import ArgumentParser
import DevEnvironment
import FoundationEssentials
import Glibc
import Runtime

extension FurtherServices {
    /// The setting, for commands that take settings.
    static let setting = Setting(
        "services",
        default: "",
        help:
            "JSON file that names services of other repositories: their users on the bus, streams and consumers; empty for none."
    )

    /// Those of a file.
    ///
    /// - Parameter file: nil for the one that the environment names, if it does.
    /// - Throws: `DevEnvironmentError`.
    static func given(_ file: String?) throws(DevEnvironmentError) -> FurtherServices {
        let file = file ?? Console.environment()[setting.environmentName] ?? ""
        return file.isEmpty ? .none : try FurtherServices(file: file)
    }
}

extension Plan {
    /// The file with the settings that a further service starts with.
    func settingsFile(of name: String) -> String { "\(endpoints.secretsFolder)/\(name).env" }

    /// Writes for each further service how it reaches the broker and its database, as lines that a shell reads: `secrets/<name>.env`.
    func writeFilesOfFurtherServices() throws {
        for name in further.names {
            var values = [
                ("STREAKSNAP_NATS_URL", endpoints.natsURL), ("STREAKSNAP_NATS_USER", name),
                ("STREAKSNAP_NATS_PASSWORD_FILE", endpoints.natsPasswordFile(of: name)),
            ]
            if let url = endpoints.postgresURL(of: name) { values.append(("STREAKSNAP_DATABASE_URL", url)) }
            let hasClock = try settings.get(CommonSettings.developmentClock)
            values.append(("STREAKSNAP_DEV_CLOCK", "\(hasClock)"))
            let text = values.map { "\($0)='\($1.replacing("'", with: "'\\''"))'\n" }.joined()
            let file = settingsFile(of: name)
            try write(text, to: file)
            chmod(file, 0o600)
        }
    }
}

/// Prints what an operator configures broker and database with, for the services of this repository and further ones.
struct Render: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the broker's configuration or the script of the database's roles, with those of further services."
    )

    /// What there is to print.
    enum Subject: String, ExpressibleByArgument, CaseIterable {
        case broker
        case roles
    }

    @Argument(help: "broker: a nats.conf like deploy/nats/nats.conf; roles: a script for psql like deploy/postgres/roles.sql.")
    var subject: Subject
    @Option(help: "JSON file that names the further services (deploy/docs/service-kit.md).") var services: String?

    func run() throws {
        let further: FurtherServices
        do { further = try .given(services) } catch {
            Console.error("streaksnap render: \(error)\n")
            throw ExitCode(64)
        }
        switch subject {
        case .broker: Console.out(NATSConfiguration.deployed(with: further).render())
        case .roles: Console.out(PostgresRoles.script(services: BusPermissions.services + further.databases))
        }
    }
}
