/// What commands need to know of an environment that another process runs, from its data folder.
public struct RunningEnvironment: Sendable {
    private let dataFolder: String

    /// The environment of a data folder.
    public init(dataFolder: String) { self.dataFolder = DevEnvironmentConfiguration(dataFolder: dataFolder).dataFolder }

    /// The folder of the keys that sign access tokens.
    ///
    /// - Throws: `DevEnvironmentError` when nothing was ever started there.
    public func tokenKeyFolder() throws(DevEnvironmentError) -> String {
        let secrets = "\(dataFolder)/secrets"
        guard Files.exists(secrets) else {
            throw DevEnvironmentError(
                "\(dataFolder) is no data folder.",
                wayOut: "Name the one that streaksnap up runs on: --data DIR."
            )
        }
        return "\(secrets)/token-keys"
    }

    /// The connection string of a service's role.
    ///
    /// - Throws: `DevEnvironmentError` when PostgreSQL does not run there.
    public func postgresURL(of service: String) throws(DevEnvironmentError) -> String {
        let port = try postgresPort()
        return "postgresql://\(service):\(try postgresPassword(of: service))@127.0.0.1:\(port)/\(PostgresRoles.database)"
    }

    /// The variables by which PostgreSQL's own programs reach it as the superuser.
    ///
    /// - Throws: `DevEnvironmentError` when PostgreSQL does not run there.
    func superuserVariables() throws(DevEnvironmentError) -> [String: String] {
        let port = try postgresPort()
        return ["PGHOST": "127.0.0.1", "PGPORT": port, "PGUSER": "postgres", "PGPASSWORD": try postgresPassword(of: "admin")]
    }

    private func postgresPassword(of role: String) throws(DevEnvironmentError) -> String {
        try Files.read("\(dataFolder)/secrets/postgres-\(role)")
    }

    private func postgresPort() throws(DevEnvironmentError) -> String {
        let file = "\(dataFolder)/postgres/cluster/postmaster.pid"
        // PostgreSQL writes its process id in the first line and its port in the fourth.
        guard Files.exists(file), case let lines = try Files.read(file).split(separator: "\n", omittingEmptySubsequences: false),
            lines.count > 3, let port = UInt16(lines[3])
        else {
            throw DevEnvironmentError(
                "PostgreSQL does not run on \(dataFolder).",
                wayOut: "Start it first (streaksnap up), or name its data folder: --data DIR."
            )
        }
        return "\(port)"
    }
}
