import AuthService
import BillingService
import Database
import MediaService
import NotificationsService
import Outbox
import SocialService
import StreaksService
import TestSupport
import Testing

@testable import ServiceRuntime

/// Every table of every service is declared, by the feature that has it, as personal or as impersonal (D16).
struct DeclarationTests {
    private static let modules: [any ServiceModule.Type] = [
        AuthModule.self, SocialModule.self, StreaksModule.self, MediaModule.self, NotificationsModule.self, BillingModule.self,
    ]

    /// The tables of a service, made by its migrations.
    private func withTables<Module: ServiceModule>(of module: Module.Type, _ body: (Database) async throws -> Void) async throws {
        try await PostgresServer.shared().withDatabase { database in
            let sets =
                [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)] + Module.migrations
            for set in sets { try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database) }
            try await body(database)
        }
    }

    private func problems<Module: ServiceModule>(of module: Module.Type, afterwards change: Query?) async throws -> [String] {
        var problems: [String] = []
        try await withTables(of: module) { database in
            if let change { try await database.execute(change) }
            problems = try await PersonalData.problems(of: Module.personalData, in: database)
        }
        return problems
    }

    @Test(arguments: 0..<6)
    func `every table is declared, and every column of ids of a personal one`(service: Int) async throws {
        let module = Self.modules[service]
        #expect(try await problems(of: module, afterwards: nil) == [], "\(module.name)")
        #expect(!module.personalData.flatMap(\.tables).flatMap(\.exports).isEmpty, "\(module.name) exports something")
    }

    @Test(arguments: 0..<6)
    func `a new table is noticed`(service: Int) async throws {
        let module = Self.modules[service]
        let found = try await problems(of: module, afterwards: "CREATE TABLE undeclared (user_id uuid PRIMARY KEY)")
        #expect(found == ["undeclared is not declared"], "\(module.name)")
    }

    @Test(arguments: 0..<6)
    func `a new column of ids is noticed`(service: Int) async throws {
        let module = Self.modules[service]
        let table = try #require(module.personalData.flatMap(\.tables).first?.name)
        let found = try await problems(of: module, afterwards: "ALTER TABLE \(identifier: table) ADD COLUMN visitor_id uuid")
        #expect(found == ["\(table).visitor_id is neither a user nor a reference"], "\(module.name)")
    }
}
