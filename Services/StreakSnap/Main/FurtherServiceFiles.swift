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

    /// The same as an option, for commands that take no settings.
    static let option = Setting<String>(option: setting.key, default: nil, help: setting.help)

    /// Those of a file.
    ///
    /// - Parameter file: nil for the one that the environment names, if it does.
    /// - Throws: `Settings.Invalid`.
    static func given(_ file: String?) throws -> FurtherServices {
        let file = file ?? Console.environment()[setting.environmentName] ?? ""
        do { return file.isEmpty ? .none : try FurtherServices(file: file) } catch { throw Settings.Invalid("\(error)") }
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
                ("STREAKSNAP_SEAL_KEY_FILE", endpoints.sealKeyFile(of: name)),
                ("STREAKSNAP_SERVICE_KEY_FILE", endpoints.serviceKeyFile(of: name)),
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
enum Render {
    static let command = ProgramCommand(
        "render",
        words: "broker|roles",
        about: "prints a file like deploy/nats/nats.conf or deploy/postgres/roles.sql, with those of further services",
        settings: [FurtherServices.option]
    ) { words, settings in
        let further = try FurtherServices.given(try settings.find(FurtherServices.option))
        switch words[0] {
        case "broker": return .init(NATSConfiguration.deployed(with: further).render())
        case "roles": return .init(PostgresRoles.script(services: BusPermissions.services + further.databases))
        default: throw Settings.Invalid("There is broker and roles to render, not “\(words[0])”.")
        }
    }
}
