import DevEnvironment
import Foundation
import Processes
import Testing

@Suite struct PermissionsTests {
    @Test func theTableGrantsNoMoreThanItMust() throws {
        #expect(BusPermissions.table.map(\.user) == BusPermissions.services + ["gateway", "operator"])
        for name in BusPermissions.services {
            let rights = try #require(BusPermissions.table.first { $0.user == name })
            let publish = try #require(rights.publish)
            let subscribe = try #require(rights.subscribe)
            let called = publish.filter { $0.hasPrefix("rpc.") }.map { $0.split(separator: ".")[1] }
            #expect(called.map(String.init) == BusPermissions.callees[name])
            #expect(publish.filter { $0.hasPrefix("evt.") } == ["evt.\(name).>"])
            #expect(
                publish.allSatisfy { $0 != ">" && !$0.contains("RESTORE") && !$0.contains("PURGE") }
            )
            // Its own reader, which it makes anew; no stream, and nobody else's.
            #expect(publish.filter { $0.contains("DELETE") } == ["$JS.API.CONSUMER.DELETE.*.\(name)"])
            #expect(subscribe.filter { $0.hasPrefix("rpc.") || $0.hasPrefix("_INBOX") } == ["rpc.\(name).>", "_INBOX.\(name).>"])
        }
    }

    @Test func theFileQuotesNamesNoPasswordsAndSyncsWhereItCan() {
        let plain = NATSConfiguration(listen: "127.0.0.1:1", storeFolder: "/a \"b\"\\c", syncsAlways: false)
        #expect(plain.render().contains(#"store_dir: "/a \"b\"\\c""#))
        #expect(plain.render().contains("user: \"auth\"\n                password: $NATS_PASSWORD_AUTH\n"))
        #expect(!plain.render().contains("sync_interval") && !plain.render().contains("authorization {"))
        #expect(NATSConfiguration(listen: "x", storeFolder: "/s", syncsAlways: true).render().contains("sync_interval: always"))
        #expect(!plain.render().contains("no_auth_user") && !plain.render().contains("pid_file"))
    }

    @Test func theServerAcceptsTheFile() async throws {
        try await withDataFolder { folder in
            let file = "\(folder)/nats.conf"
            let text = NATSConfiguration(listen: "127.0.0.1:4222", storeFolder: "\(folder)/it's a \"store\"", syncsAlways: false)
                .render()
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
    @Test func theBrokerHoldsEveryoneToTheTable() async throws {
        try await withEnvironment { _, endpoints, _ in
            let url = endpoints.natsURL
            #expect(throws: RawNATS.Refused.self) { try RawNATS(url: url, user: nil) }
            #expect(throws: RawNATS.Refused.self) { try RawNATS(url: url, user: "", password: "") }
            #expect(throws: RawNATS.Refused.self) { try RawNATS(url: url, user: "auth", password: "wrong") }
            #expect(throws: RawNATS.Refused.self) {
                try RawNATS(url: url, user: "auth", password: endpoints.natsPassword(of: "social"))
            }
            #expect(throws: RawNATS.Refused.self) { try RawNATS(url: url, user: "nobody", password: "x") }

            let social = try RawNATS(url: url, user: "social", password: endpoints.natsPassword(of: "social"))
            for subject in [
                "rpc.auth.v1.GetMe", "rpc.streaks.v1.X", "evt.social.v1.X", "_INBOX.gateway.1", "relay.social.x", "$JS.API.INFO",
                "$JS.API.CONSUMER.DURABLE.CREATE.EVT_AUTH.social", "$JS.API.CONSUMER.CREATE.EVT_AUTH.social.evt.auth.>",
                "$JS.API.CONSUMER.MSG.NEXT.EVT_AUTH.social", "$JS.ACK.EVT_AUTH.social.1.1.1.1.1",
                "$JS.API.STREAM.CREATE.EVT_SOCIAL",
            ] { #expect(try social.canPublish(subject), "social to \(subject)") }
            for subject in [
                "rpc.billing.v1.X", "rpc.social.v1.X", "evt.auth.v1.X", "relay.auth.x", "dev.clock.set", "live.x", "$SRV.PING",
                "$JS.API.STREAM.CREATE.EVT_AUTH", "$JS.API.STREAM.DELETE.EVT_SOCIAL", "$JS.API.STREAM.PURGE.EVT_SOCIAL",
                "$JS.API.STREAM.RESTORE.EVT_SOCIAL", "$JS.API.STREAM.MSG.GET.EVT_AUTH",
                "$JS.API.CONSUMER.DURABLE.CREATE.EVT_AUTH.media", "$JS.API.CONSUMER.DELETE.EVT_AUTH.media",
                "$JS.API.CONSUMER.MSG.NEXT.EVT_AUTH.media", "$JS.ACK.EVT_AUTH.media.1.1.1.1.1", "$SYS.REQ.SERVER.PING",
                "anything",
            ] { #expect(try !social.canPublish(subject), "social to \(subject)") }
            for subject in ["rpc.social.>", "relay.social.>", "dev.clock.>", "$SRV.PING.social", "_INBOX.social.x.*"] {
                #expect(try social.canSubscribe(subject), "social from \(subject)")
            }
            for subject in [
                ">", "rpc.>", "rpc.auth.>", "evt.auth.>", "evt.social.>", "_INBOX.>", "_INBOX.auth.>", "live.>", "$SYS.>",
            ] {
                #expect(try !social.canSubscribe(subject), "social from \(subject)")
            }

            let gateway = try RawNATS(url: url, user: "gateway", password: endpoints.natsPassword(of: "gateway"))
            for subject in ["rpc.billing.v1.X", "$SRV.INFO", "dev.clock.set", "$JS.API.STREAM.CREATE.DEV_CLOCK"] {
                #expect(try gateway.canPublish(subject))
            }
            #expect(try !gateway.canPublish("evt.auth.v1.X"))
            #expect(try gateway.canSubscribe("live.user.1") && gateway.canSubscribe("_INBOX.gateway.>"))
            #expect(try !gateway.canSubscribe("rpc.auth.>"))
            #expect(try !gateway.canSubscribe("_INBOX.social.>"))

            let chief = try RawNATS(url: url, user: "operator", password: endpoints.natsPassword(of: "operator"))
            #expect(try chief.canSubscribe(">") && chief.canPublish("anything"))
        }
    }

    @Test func eventsFlowWithTheseRightsAlone() async throws {
        try await withEnvironment { _, endpoints, _ in
            let auth = try RawNATS(url: endpoints.natsURL, user: "auth", password: endpoints.natsPassword(of: "auth"))
            let media = try RawNATS(url: endpoints.natsURL, user: "media", password: endpoints.natsPassword(of: "media"))
            let made = try auth.request(
                "$JS.API.STREAM.CREATE.EVT_AUTH",
                #"{"name":"EVT_AUTH","subjects":["evt.auth.>"],"storage":"file"}"#
            )
            #expect(!made.contains("error") && made.contains("EVT_AUTH"))
            #expect(try auth.request("evt.auth.v1.Made", "hello").contains(#""seq":1"#))
            #expect(try media.request("$JS.API.STREAM.INFO.EVT_AUTH").contains(#""messages":1"#))
            let consumer = try media.request(
                "$JS.API.CONSUMER.DURABLE.CREATE.EVT_AUTH.media",
                #"{"stream_name":"EVT_AUTH","config":{"durable_name":"media","ack_policy":"explicit","filter_subject":"evt.auth.>"}}"#
            )
            #expect(!consumer.contains("error") && consumer.contains("media"))
            #expect(
                try media.request("$JS.API.CONSUMER.MSG.NEXT.EVT_AUTH.media", #"{"batch":1,"expires":5000000000}"#) == "hello"
            )
        }
    }
}
