import DevEnvironment
import Foundation
import Kernel
import Processes
import Testing

/// Services of other repositories, as an operator's file names them.
@Suite struct FurtherServicesTests {
    private static let text = #"""
        {"services": [
          {"name": "quotes", "database": false},
          {"name": "meal_plans", "calls": {"auth": ["GetSummaries"], "quotes": ["v2.GetQuote"]},
           "sources": {"core": ["auth", "quotes"], "personal-data": ["auth"]}}
        ]}
        """#

    /// The services of a file of this text.
    private func services(_ text: String) async throws -> FurtherServices {
        var services = FurtherServices.none
        try await withDataFolder { folder in
            try text.write(toFile: "\(folder)/services.json", atomically: true, encoding: .utf8)
            services = try FurtherServices(file: "\(folder)/services.json")
        }
        return services
    }

    @Test func `each gets the least rights, and its consumers are known beside our own`() async throws {
        let further = try await services(Self.text)
        #expect(further.names == ["quotes", "meal_plans"])
        #expect(further.databases == ["meal_plans"])
        #expect(further.exported == ["meal_plans"])
        // Of those of this repository only auth gets a right more: to ask for a part of an export.
        let (before, now) = (BusPermissions.table, further.users.prefix(BusPermissions.table.count))
        #expect(zip(before, now).filter { $0 != $1 }.map(\.1.user) == ["auth"])
        let asked = Set(now.first { $0.user == "auth" }?.publish ?? []).subtracting(
            before.first { $0.user == "auth" }?.publish ?? []
        )
        let export = "rpc.meal_plans.v1.ExportPersonalData"
        #expect(asked == [export, "inst.meal_plans.*.\(export)", "inst.meal_plans.*.ping", "inst.meal_plans.ping"])
        #expect(further.sources["meal_plans"] == ["core": ["auth", "quotes"], "personal-data": ["auth"]])
        #expect(further.sources["social"] == BusPermissions.sources["social"])
        let rights = try #require(further.users.last)
        #expect(rights.user == "meal_plans" && rights.passwordVariable == "NATS_PASSWORD_MEAL_PLANS")
        let reading = [("AUTH", "core"), ("QUOTES", "core"), ("AUTH", "personal-data")].flatMap { stream, feature in
            [
                "$JS.API.CONSUMER.MSG.NEXT.EVT_\(stream).meal_plans-\(feature)",
                "$JS.API.CONSUMER.INFO.EVT_\(stream).meal_plans-\(feature)", "$JS.API.STREAM.MSG.GET.EVT_\(stream)",
            ]
        }
        #expect(
            Set(rights.publish ?? [])
                == Set(
                    reading + [
                        "_INBOX.>", "evt.meal_plans.>", "relay.meal_plans.>", "rpc.auth.v1.GetSummaries",
                        "inst.auth.*.rpc.auth.v1.GetSummaries", "inst.auth.*.ping", "inst.auth.ping", "rpc.quotes.v2.GetQuote",
                        "inst.quotes.*.rpc.quotes.v2.GetQuote", "inst.quotes.*.ping", "inst.quotes.ping",
                        "$JS.API.STREAM.INFO.EVT_MEAL_PLANS", "$JS.API.STREAM.MSG.GET.DEV_CLOCK",
                    ]
                )
        )
        #expect(
            rights.subscribe == [
                "rpc.meal_plans.>", "inst.meal_plans.>", "relay.meal_plans.>", "dev.clock.>", "$SRV.>", "_INBOX.meal_plans.>",
            ]
        )
    }

    private static let wrong: [(text: String, culprit: String)] = [
        ("", "line 1: the document ends where a value is expected"), ("{}", "the document has no member “services”"),
        (#"{"service": []}"#, "line 1: service is unknown; the file has “services” only"),
        (#"{"services": {}}"#, "services "), (#"{"services": [7]}"#, "services[0] "),
        (#"{"services": [{}]}"#, "services[0] has no member “name”"),
        ("{\"services\": [\n{\"name\": \"auth\"}]}", "line 2: services[0].name “auth” is taken"),
        (#"{"services": [{"name": "gateway"}]}"#, "“gateway” is taken"), (#"{"services": [{"name": "pg_x"}]}"#, "is taken"),
        (#"{"services": [{"name": "Meals"}]}"#, "“Meals” must begin with a lower-case letter"),
        (#"{"services": [{"name": "meal-plans"}]}"#, "“meal-plans” must begin"),
        (#"{"services": [{"name": "a__b"}]}"#, "must begin"),
        (#"{"services": [{"name": "a"}, {"name": "a"}]}"#, "services[1].name “a” is there twice"),
        (#"{"services": [{"name": "a", "colour": 1}]}"#, "services[0].colour is unknown"),
        (
            #"{"services": [{"name": "a", "calls": {"b": ["X"]}}]}"#,
            "services[0].calls has “b”, which is no service; there are a, auth"
        ),
        (#"{"services": [{"name": "a", "calls": {"a": ["X"]}}]}"#, "services[0].calls has the service itself"),
        (#"{"services": [{"name": "a", "calls": {"auth": []}}]}"#, "services[0].calls.auth is empty"),
        (#"{"services": [{"name": "a", "calls": {"auth": ["X", "X"]}}]}"#, "services[0].calls.auth has a method twice"),
        (
            #"{"services": [{"name": "a", "calls": {"auth": [">"]}}]}"#,
            "services[0].calls.auth has “>”, which is no name of a method"
        ),
        (#"{"services": [{"name": "a", "calls": {"auth": ["v0.X"]}}]}"#, "has “v0.X”, which is no name of a method"),
        (#"{"services": [{"name": "a", "calls": {"auth": ["getMe"]}}]}"#, "has “getMe”, which is no name of a method"),
        (#"{"services": [{"name": "a", "calls": {"auth": ["v2.Backlog"]}}]}"#, "has “v2.Backlog”, which is for administrators"),
        (#"{"services": [{"name": "a", "calls": ["auth"]}]}"#, "services[0].calls"),
        (#"{"services": [{"name": "a", "calls": "auth"}]}"#, "services[0].calls"),
        (#"{"services": [{"name": "a", "sources": {"core": ["b"]}}]}"#, "services[0].sources.core has “b”, which is no service"),
        (#"{"services": [{"name": "a", "sources": {"core": []}}]}"#, "services[0].sources.core is empty"),
        (#"{"services": [{"name": "a", "sources": {"C.>": ["auth"]}}]}"#, "services[0].sources has “C.>”, which is no name"),
        (#"{"services": [{"name": "a", "database": "yes"}]}"#, "services[0].database"),
    ]

    @Test(arguments: wrong) func `what is wrong is named with its place in the file`(text: String, culprit: String) async throws {
        let error = await #expect(throws: DevEnvironmentError.self) { try await services(text) }
        let cause = error?.cause ?? ""
        #expect(cause.contains("services.json, line ") && cause.contains(culprit), "\(cause)")
        let missing = #expect(throws: DevEnvironmentError.self) { try FurtherServices(file: "/nonexistent/services.json") }
        #expect(missing?.cause == "/nonexistent/services.json cannot be read.")
    }

    @Test func `the environment gives them users and roles, and holds them to their rights`() async throws {
        let further = try await services(Self.text)
        try await withDataFolder { folder in
            var wanted = configuration(folder)
            wanted.services = further
            let environment = DevEnvironment(wanted, logger: silent)
            let endpoints = try await environment.start()
            do { try await check(endpoints) } catch {
                await environment.stop()
                throw error
            }
            await environment.stop()
        }
    }

    private func check(_ endpoints: Endpoints) async throws {
        let plans = try RawNATS(url: endpoints.natsURL, user: "meal_plans", password: endpoints.natsPassword(of: "meal_plans"))
        for subject in ["rpc.auth.v1.GetSummaries", "rpc.quotes.v2.GetQuote", "evt.meal_plans.v1.X", "_INBOX.gateway.1"] {
            #expect(try plans.canPublish(subject), "to \(subject)")
        }
        for subject in [
            "rpc.auth.v1.GetMe", "rpc.quotes.v1.GetQuote", "rpc.billing.v1.X", "rpc.meal_plans.v1.X", "evt.auth.v1.X",
            "evt.quotes.v1.X", "$JS.API.STREAM.CREATE.EVT_MEAL_PLANS",
            "$JS.API.CONSUMER.MSG.NEXT.EVT_AUTH.social-core",
        ] { #expect(try !plans.canPublish(subject), "to \(subject)") }
        for subject in ["rpc.meal_plans.>", "_INBOX.meal_plans.x"] { #expect(try plans.canSubscribe(subject), "from \(subject)") }
        for subject in ["rpc.auth.>", "rpc.quotes.>", "evt.meal_plans.>", "_INBOX.auth.>"] {
            #expect(try !plans.canSubscribe(subject), "from \(subject)")
        }
        let url = try #require(endpoints.postgresURL(of: "meal_plans"))
        #expect(try await sql(url, "CREATE TABLE meal (id integer); SELECT current_schema()").output == "meal_plans\n")
        #expect(try await sql(url, "SELECT count(*) FROM auth.account").status != 0)
        #expect(endpoints.postgresURL(of: "quotes") == nil)
    }

    @Test func `the script that makes services takes what can be in the file, and nothing else`() async throws {
        let names = [
            "meals", "meal_plans", "v2", "x_2_y", String(repeating: "a", count: 30), "", "_meals", "meals_", "meal__plans",
            "2meals",
            "Meals", "me.als", "mé", "a b", "a\n", String(repeating: "a", count: 31),
        ]
        let folder = URL(filePath: #filePath).appending(path: "../../../deploy").standardizedFileURL.path
        let program = """
            import sys
            sys.path.insert(0, sys.argv[1])
            import new_service
            for name in sys.argv[2:]:
                try:
                    new_service.check_name(name.replace("_", "-"))
                    print("fine")
                except new_service.Refusal:
                    print("refused")
            """
        // -B: no compiled files beside the script.
        let result = try await run("python3", ["-B", "-c", program, folder] + names)
        let answers = result.text.split(separator: "\n").map(String.init)
        #expect(answers == names.map { ServiceName.isValid($0) ? "fine" : "refused" }, "\(result.transcript)")
        #expect(answers.filter { $0 == "fine" }.count == 5)
    }

    /// `deploy/dev new-service` refuses what could not be in the file.
    @Test(arguments: ["auth", "operator", "streaksnap", "public", "pg-x", "streams"])
    func `a new service cannot have a name that is taken`(name: String) async throws {
        let bus = name.replacingOccurrences(of: "-", with: "_")
        #expect(FurtherService.problem(ofName: bus) == "is taken")
        let script = URL(filePath: #filePath).appending(path: "../../../deploy/new_service.py").standardizedFileURL.path
        let result = try await run("python3", [script, name, "--into", "/tmp", "--check"])
        #expect(result.status == 2 && result.errors.contains("the name “\(name)” is taken"), "\(result.transcript)")
    }
}
