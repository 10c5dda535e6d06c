import DevEnvironment
import Foundation
import Kernel
import Processes
import Testing

@Suite struct PermissionsTests {
    @Test func `the table grants no more than it must`() throws {
        #expect(BusPermissions.table.map(\.user) == BusPermissions.services + ["gateway", "operator"])
        for name in BusPermissions.services {
            let rights = try #require(BusPermissions.table.first { $0.user == name })
            // What administrators ask of every service goes through `auth` alone, although others may call services too.
            let operating = BusPermissions.operating + ["inst.*.ping", "inst.*.*.ping", "$SRV.STATS"]
            let all = try #require(rights.publish)
            #expect(all.filter(operating.contains) == (name == "auth" ? operating : []))
            #expect(rights.notPublish == (name == "auth" ? [] : BusPermissions.operating))
            let publish = all.filter { !operating.contains($0) }
            let subscribe = try #require(rights.subscribe)
            // Exactly the methods that it calls, at the queue group and at single instances.
            let calls = ServiceCalls.methods[name] ?? [:]
            let called = calls.flatMap { service, methods in methods.map { "rpc.\(service).v1.\($0)" } }
            #expect(Set(publish.filter { $0.hasPrefix("rpc.") }) == Set(called))
            #expect(publish.filter { $0.hasPrefix("evt.") } == ["evt.\(name).>"])
            let instances =
                called.map { subject in "inst.\(subject.split(separator: ".")[1]).*.\(subject)" }
                + calls.keys.flatMap { ["inst.\($0).*.ping", "inst.\($0).ping"] }
            #expect(Set(publish.filter { $0.hasPrefix("inst.") }) == Set(instances))
            #expect(subscribe.filter { $0.hasPrefix("inst.") } == ["inst.\(name).>"])
            #expect(publish.allSatisfy { $0 != ">" && ($0.hasPrefix("inst.") || !$0.contains("*")) })
            // Of JetStream: reading, what it consumes, by its own consumer. A user who makes or changes streams or consumers has every right.
            let reading = (BusPermissions.sources[name] ?? [:]).flatMap { feature, sources in
                sources.map { "EVT_\($0.uppercased())" }.flatMap {
                    [
                        "$JS.API.CONSUMER.MSG.NEXT.\($0).\(name)-\(feature)", "$JS.API.CONSUMER.INFO.\($0).\(name)-\(feature)",
                        "$JS.API.STREAM.MSG.GET.\($0)",
                    ]
                }
            }
            // Whether the streams it fills still have what it published.
            let filling = name == "auth" ? ["$JS.API.STREAM.INFO.REVOKED"] : []
            let own = ["$JS.API.STREAM.INFO.EVT_\(name.uppercased())", "$JS.API.STREAM.MSG.GET.DEV_CLOCK"]
            #expect(Set(publish.filter { $0.hasPrefix("$") }) == Set(reading + filling + own))
            #expect(publish.filter { $0.hasPrefix("revoked") } == (name == "auth" ? ["revoked.>"] : []))
            #expect(subscribe.filter { $0.hasPrefix("rpc.") || $0.hasPrefix("_INBOX") } == ["rpc.\(name).>", "_INBOX.\(name).>"])
        }
    }

    @Test func `the file quotes names no passwords and syncs where it can`() {
        let plain = NATSConfiguration(listen: "127.0.0.1:1", storeFolder: "/a \"b\"\\c", syncsAlways: false)
        #expect(plain.render().contains(#"store_dir: "/a \"b\"\\c""#))
        #expect(plain.render().contains("user: \"auth\"\n                password: $NATS_PASSWORD_AUTH\n"))
        #expect(!plain.render().contains("sync_interval") && !plain.render().contains("authorization {"))
        #expect(NATSConfiguration(listen: "x", storeFolder: "/s", syncsAlways: true).render().contains("sync_interval: always"))
        #expect(!plain.render().contains("no_auth_user") && !plain.render().contains("pid_file"))
    }

    @Test func `private accounts have the users of the first one, by names and not by rights of their own`() {
        let alone = NATSConfiguration(listen: "x", storeFolder: "/s", syncsAlways: false)
        var several = alone
        several.privateAccounts = 2
        let (text, users) = (several.render(), BusPermissions.table.map(\.user))
        for account in 1...2 {
            #expect(text.contains("    WORLD\(account) {\n        jetstream: enabled\n"))
            for user in users {
                let name = NATSConfiguration.name(of: user, inAccount: account)
                #expect(text.components(separatedBy: "user: \"\(name)\"").count == 2, "\(name)")
            }
        }
        let rights = { (text: String) in text.components(separatedBy: "permissions: {").count - 1 }
        #expect(rights(text) == 3 * rights(alone.render()))
        #expect(!alone.render().contains("WORLD"))
    }

    /// `STREAKSNAP_RENDER=1` writes them instead.
    @Test func `the files of deploy are rendered from the tables`() throws {
        let deploy = URL(filePath: #filePath).appending(path: "../../../deploy").standardizedFileURL
        for (path, text) in [
            ("nats/nats.conf", NATSConfiguration.deployed.render()), ("postgres/roles.sql", PostgresRoles.script()),
        ] {
            let file = deploy.appending(path: path)
            if ProcessInfo.processInfo.environment["STREAKSNAP_RENDER"] == "1" {
                try Data(text.utf8).write(to: file)
            }
            let written = try String(contentsOf: file, encoding: .utf8)
            #expect(
                written == text,
                "deploy/\(path) is out of date: STREAKSNAP_RENDER=1 deploy/dev test --filter 'the files of deploy'"
            )
        }
    }

    @Test func `the server accepts the file`() async throws {
        try await withDataFolder { folder in
            let file = "\(folder)/nats.conf"
            var configuration = NATSConfiguration(
                listen: "127.0.0.1:4222",
                storeFolder: "\(folder)/it's a \"store\"",
                syncsAlways: false
            )
            configuration.privateAccounts = 3
            let text = configuration.render()
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let server = ProcessInfo.processInfo.environment["NATS_SERVER"] ?? "/usr/sbin/nats-server"
            let passwords = BusPermissions.table.map { ($0.passwordVariable, "secret") }
            let checked = try await run(server, ["-t", "-c", file], environment: Dictionary(uniqueKeysWithValues: passwords))
            #expect(checked.status == 0, "\(checked.transcript)")
            let unset = try await run(server, ["-t", "-c", file])
            #expect(unset.status != 0, "a missing password must not become an empty one")
        }
    }

    /// One environment for all that the broker must let through or refuse.
    @Test func `the broker holds every user to the table`() async throws {
        try await withEnvironment { _, endpoints, _ in
            let url = endpoints.natsURL
            #expect(throws: RawNATS.Refused.self) { try RawNATS(url: url, user: nil) }
            #expect(throws: RawNATS.Refused.self) { try RawNATS(url: url, user: "", password: "") }
            #expect(throws: RawNATS.Refused.self) { try RawNATS(url: url, user: "auth", password: "wrong") }
            #expect(throws: RawNATS.Refused.self) {
                try RawNATS(url: url, user: "auth", password: endpoints.natsPassword(of: "social"))
            }
            #expect(throws: RawNATS.Refused.self) { try RawNATS(url: url, user: "unknown", password: "x") }

            let social = try RawNATS(url: url, user: "social", password: endpoints.natsPassword(of: "social"))
            for subject in [
                "rpc.auth.v1.GetSummaries", "inst.auth.0123456789abcdef.rpc.auth.v1.GetSummaries", "inst.auth.ping",
                "rpc.streaks.v1.StartForFriendship", "rpc.notifications.v1.AwaitEvents", "evt.social.v1.X", "_INBOX.gateway.1",
                "relay.social.x",
                "$JS.API.CONSUMER.MSG.NEXT.EVT_AUTH.social-core", "$JS.API.CONSUMER.INFO.EVT_AUTH.social-core",
                "$JS.API.STREAM.MSG.GET.EVT_AUTH",
            ] { #expect(try social.canPublish(subject), "social to \(subject)") }
            for subject in [
                "rpc.auth.v1.GetMe", "rpc.auth.v1.ListAccounts", "rpc.auth.v1.SuspendAccount", "rpc.streaks.v1.X",
                "inst.auth.0123456789abcdef.rpc.auth.v1.GetMe", "rpc.notifications.v1.SendMail", "rpc.auth.v1.GetSummaries.x",
                "rpc.billing.v1.X", "rpc.social.v1.X", "evt.auth.v1.X", "relay.auth.x", "dev.clock.set", "live.x", "$SRV.PING",
                "$SYS.REQ.SERVER.PING", "anything", "rpc.auth.v1.RedriveParkedEvents",
                "inst.auth.0123456789abcdef.rpc.auth.v1.Backlog", "revoked.\(UUID().uuidString.lowercased())",
            ] { #expect(try !social.canPublish(subject), "social to \(subject)") }
            for subject in ["rpc.social.>", "relay.social.>", "dev.clock.>", "$SRV.PING.social", "_INBOX.social.x.*"] {
                #expect(try social.canSubscribe(subject), "social from \(subject)")
            }
            for subject in [
                ">", "rpc.>", "rpc.auth.>", "evt.auth.>", "evt.social.>", "_INBOX.>", "_INBOX.auth.>", "live.>", "$SYS.>",
                "revoked.>",
            ] {
                #expect(try !social.canSubscribe(subject), "social from \(subject)")
            }

            let gateway = try RawNATS(url: url, user: "gateway", password: endpoints.natsPassword(of: "gateway"))
            for subject in ["rpc.billing.v1.X", "$SRV.INFO", "dev.clock.set", "$JS.API.STREAM.MSG.GET.DEV_CLOCK"] {
                #expect(try gateway.canPublish(subject))
            }
            #expect(try !gateway.canPublish("rpc.streaks.v1.ParkedEvents"), "only auth may")
            for subject in [
                "rpc.billing.v1.SpendToken", "inst.billing.0123456789abcdef.rpc.billing.v1.SpendToken",
                "rpc.quotes.v1.AwaitEvents",
                "rpc.auth.v1.ExportPersonalData", "rpc.auth.v1.GetMailAddress",
            ] { #expect(try !gateway.canPublish(subject), "gateway to \(subject), which has no route") }
            #expect(try gateway.canPublish("rpc.notifications.v1.RenewWatches"), "streams are renewed without a route")
            let auth = try RawNATS(url: url, user: "auth", password: endpoints.natsPassword(of: "auth"))
            for subject in [
                "rpc.auth.v1.Backlog", "inst.auth.0123456789abcdef.rpc.auth.v1.Backlog", "rpc.quotes.v1.RedriveParkedEvents",
                "$SRV.STATS",
            ] { #expect(try auth.canPublish(subject), "auth to \(subject)") }
            #expect(try !gateway.canPublish("evt.auth.v1.X") && !gateway.canPublish("revoked.x"))
            #expect(try gateway.canSubscribe("revoked.>"))
            #expect(try gateway.canSubscribe("live.user.1") && gateway.canSubscribe("_INBOX.gateway.>"))
            #expect(try !gateway.canSubscribe("rpc.auth.>"))
            #expect(try !gateway.canSubscribe("_INBOX.social.>"))

            let notifications = try RawNATS(
                url: url,
                user: "notifications",
                password: endpoints.natsPassword(of: "notifications")
            )
            #expect(try notifications.canPublish("live.notifications.x") && !notifications.canPublish("live.billing.x"))
            #expect(try !notifications.canSubscribe("live.>"))

            let chief = try RawNATS(url: url, user: "operator", password: endpoints.natsPassword(of: "operator"))
            #expect(try chief.canSubscribe(">") && chief.canPublish("anything"))
        }
    }

    /// Every subject of JetStream's API in nats-server 2.9 to 2.12, its acknowledgements, and the forms with a domain.
    private static func jetStreamSubjects(_ stream: String, _ consumer: String) -> [String] {
        let api = [
            "INFO", "TEMPLATE.CREATE.x", "TEMPLATES", "TEMPLATE.INFO.x", "TEMPLATE.DELETE.x", "STREAM.NAMES", "STREAM.LIST",
            "STREAM.CREATE.\(stream)", "STREAM.UPDATE.\(stream)", "STREAM.INFO.\(stream)", "STREAM.DELETE.\(stream)",
            "STREAM.PURGE.\(stream)", "STREAM.SNAPSHOT.\(stream)", "STREAM.RESTORE.\(stream)", "STREAM.MSG.DELETE.\(stream)",
            "STREAM.MSG.GET.\(stream)", "STREAM.PEER.REMOVE.\(stream)", "STREAM.LEADER.STEPDOWN.\(stream)",
            "DIRECT.GET.\(stream)", "DIRECT.GET.\(stream).evt.x", "CONSUMER.CREATE.\(stream)",
            "CONSUMER.CREATE.\(stream).\(consumer)",
            "CONSUMER.CREATE.\(stream).\(consumer).evt.x", "CONSUMER.DURABLE.CREATE.\(stream).\(consumer)",
            "CONSUMER.NAMES.\(stream)", "CONSUMER.LIST.\(stream)", "CONSUMER.INFO.\(stream).\(consumer)",
            "CONSUMER.DELETE.\(stream).\(consumer)", "CONSUMER.PAUSE.\(stream).\(consumer)",
            "CONSUMER.RESET.\(stream).\(consumer)",
            "CONSUMER.UNPIN.\(stream).\(consumer)", "CONSUMER.MSG.NEXT.\(stream).\(consumer)",
            "CONSUMER.LEADER.STEPDOWN.\(stream).\(consumer)", "META.LEADER.STEPDOWN", "SERVER.REMOVE", "ACCOUNT.PURGE.x",
            "ACCOUNT.STREAM.MOVE.x.\(stream)", "ACCOUNT.STREAM.CANCEL_MOVE.x.\(stream)",
        ]
        return api.map { "$JS.API.\($0)" } + api.map { "$JS.hub.API.\($0)" } + [
            "$JS.ACK.\(stream).\(consumer).1.1.1.1.1", "$JS.FC.\(stream).\(consumer).x", "$JS.EVENT.ADVISORY.x", "$KV.x.y",
            "$O.x.y",
        ]
    }

    /// Every durable consumer that there is.
    private static let durables = BusPermissions.sources.flatMap { service, features in features.keys.map { "\(service)-\($0)" } }

    @Test func `only the operator reaches more of JetStream than its own reading`() async throws {
        try await withEnvironment { _, endpoints, _ in
            for rights in BusPermissions.table {
                guard let publish = rights.publish else { continue }
                let raw = try RawNATS(
                    url: endpoints.natsURL,
                    user: rights.user,
                    password: endpoints.natsPassword(of: rights.user)
                )
                for stream in BusPermissions.services.map({ "EVT_\($0.uppercased())" }) + ["REVOKED"] {
                    for consumer in Self.durables {
                        for subject in Self.jetStreamSubjects(stream, consumer) {
                            let isAllowed = try raw.canPublish(subject)
                            #expect(isAllowed == publish.contains(subject), "\(rights.user) to \(subject)")
                        }
                    }
                }
            }
        }
    }

    @Test func `events flow with these rights alone`() async throws {
        try await withEnvironment { _, endpoints, _ in
            func connect(_ user: String) throws -> RawNATS {
                try RawNATS(url: endpoints.natsURL, user: user, password: endpoints.natsPassword(of: user))
            }
            let (auth, media, chief) = (try connect("auth"), try connect("media"), try connect("operator"))
            let made = try chief.request(
                "$JS.API.STREAM.CREATE.EVT_AUTH",
                #"{"name":"EVT_AUTH","subjects":["evt.auth.>"],"storage":"file"}"#
            )
            #expect(!made.contains("error") && made.contains("EVT_AUTH"))
            let consumer = try chief.request(
                "$JS.API.CONSUMER.DURABLE.CREATE.EVT_AUTH.media-core",
                #"{"stream_name":"EVT_AUTH","config":{"durable_name":"media-core","ack_policy":"none","deliver_policy":"all"}}"#
            )
            #expect(!consumer.contains("error") && consumer.contains("media"))
            #expect(try auth.request("evt.auth.v1.Made", "hello").contains(#""seq":1"#))
            #expect(try media.request("$JS.API.CONSUMER.INFO.EVT_AUTH.media-core").contains(#""num_pending":1"#))
            #expect(try media.request("$JS.API.STREAM.MSG.GET.EVT_AUTH", #"{"seq":1}"#).contains("aGVsbG8="))
            #expect(
                try media.request("$JS.API.CONSUMER.MSG.NEXT.EVT_AUTH.media-core", #"{"batch":1,"expires":5000000000}"#)
                    == "hello"
            )
        }
    }
}
