import Foundation
import Kernel
import Testing

/// The methods that services call are declared (`ServiceCalls`), all of them and no other: the broker grants exactly these (D23).
struct CallTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    /// What is called without a generated client: the method is no one service's.
    private static let raw: [String: String] = [
        "Services/Auth/Accounts/Export/DataSources.swift": "ExportPersonalData",
        "Services/Auth/Operations/Handlers/ListParkedEvents.swift": "ParkedEvents",
        "Services/Auth/Operations/Handlers/RedriveEvents.swift": "RedriveParkedEvents",
        "Services/Auth/Operations/Handlers/ListBacklogs.swift": "Backlog",
        "Shared/ServiceRuntime/Protection/EventBarrier.swift": "AwaitEvents",
    ]

    @Test func `every service declares the methods that its sources call, and no others`() throws {
        let clients = clients()
        #expect(clients.count > 20, "the rule finds the clients")
        for folder in tree.services where ServiceCalls.methods[folder.lowercased()] != nil {
            let service = folder.lowercased()
            let text = sources(of: folder)
            var found: [String: Set<String>] = [:]
            for client in clients where client.service != service {
                let names = Self.names(declaredAs: client.name, in: text)
                for method in client.methods where Self.receivers(of: method, in: text).contains(where: names.contains) {
                    found[client.service, default: []].insert(method.prefix(1).uppercased() + method.dropFirst())
                }
            }
            // What the runtime asks by itself is below.
            let declared = (ServiceCalls.methods[service] ?? [:]).mapValues {
                Set($0).subtracting(ServiceCalls.ofEveryService)
            }.filter { !$0.value.isEmpty }
            #expect(found == declared, "\(service)")
        }
        #expect(Set(tree.services.map { $0.lowercased() }).isSuperset(of: ServiceCalls.methods.keys))
    }

    @Test func `methods are called by generated clients, but for those that every service has`() {
        let words = [".callRaw(", "bus.call(", "bus.request("]
        // The gateway calls what has a route.
        let homes = Set(
            tree.swift(below: "Services/", "Shared/ServiceRuntime/", "Shared/Replicas/")
                .filter { !$0.path.hasPrefix("Services/Gateway/") && !$0.path.hasPrefix("Services/StreakSnap/") }
                .filter { file in words.contains { file.swift.codeLines.joined(separator: "\n").contains($0) } }
                .map(\.path)
        )
        #expect(homes == Set(Self.raw.keys), "a call past the generated clients is listed here and declared in ServiceCalls")
    }

    @Test func `only auth asks every service for its part of an export`() throws {
        let source = try #require(tree.text("Services/Auth/Accounts/Export/DataSources.swift"))
        let line = try #require(source.split(separator: "\n").first { $0.contains("static let others = [") })
        let asked = line.split(separator: "\"").enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
        for (service, calls) in ServiceCalls.methods {
            let declared = calls.filter { $0.value.contains("ExportPersonalData") }.keys.sorted()
            #expect(declared == (service == "auth" ? asked.sorted() : []), "\(service)")
        }
    }

    /// An RPC of our protos.
    private struct Method: Hashable {
        let service: String
        let name: String
        let isRouted: Bool
        let isInternal: Bool
    }

    private func methods() -> [Method] {
        ServiceCalls.methods.keys.flatMap { service in
            tree.files(below: "Proto/streaksnap/\(service)/v1/", ending: ".proto").flatMap { file in
                file.text.components(separatedBy: "\n  rpc ").dropFirst().map { text in
                    // Up to the next comment or the end of the service: what follows is another RPC's.
                    let body = text.components(separatedBy: "\n  //")[0].components(separatedBy: "\n}")[0]
                    return Method(
                        service: service,
                        name: String(text.prefix { $0 != "(" }),
                        isRouted: body.contains("google.api.http"),
                        isInternal: body.contains("AUTH_INTERNAL")
                    )
                }
            }
        }
    }

    @Test func `what is called exists, and what has no route is called by services or renews a stream`() {
        let all = methods()
        #expect(all.count > 150, "the rule finds the RPCs")
        #expect(all.allSatisfy { $0.isRouted != $0.isInternal }, "an RPC has a route or is for services")
        let renewals = tree.files(below: "Proto/streaksnap/", ending: ".proto").flatMap { file in
            file.text.components(separatedBy: "renew: \"").dropFirst().map { String($0.prefix { $0 != "\"" }) }
        }
        let unrouted = Set(all.filter { $0.isInternal && !renewals.contains($0.name) }.map { "\($0.service).\($0.name)" })
        #expect(unrouted == Set(ServiceCalls.unrouted.flatMap { service, names in names.map { "\(service).\($0)" } }))
        let routed = Set(all.filter(\.isRouted).map { "\($0.service).\($0.name)" })
        #expect(routed.isSuperset(of: ServiceCalls.routed.flatMap { service, names in names.map { "\(service).\($0)" } }))
    }

    // MARK: Reading

    /// A generated client.
    private struct Client {
        let name: String
        let service: String
        let methods: [String]
    }

    private func clients() -> [Client] {
        tree.files(below: "Proto/Generated/", ending: "Service.swift").flatMap { file in
            let service = file.path.split(separator: "/")[2].dropLast("API".count).lowercased()
            return file.text.components(separatedBy: "public struct ").dropFirst().compactMap { text -> Client? in
                let name = String(text.prefix { $0 != ":" })
                guard name.hasSuffix("Client") else { return nil }
                let body = text.components(separatedBy: "\n}")[0]
                let methods = body.components(separatedBy: "public func ").dropFirst().map { String($0.prefix { $0 != "(" }) }
                return Client(name: name, service: service, methods: methods)
            }
        }
    }

    /// The code of a service, with that of the replicas of facts that it keeps.
    private func sources(of folder: String) -> String {
        func code(_ file: SourceFile) -> String { file.swift.codeLines.joined(separator: "\n") }
        let own = tree.swift(below: "Services/\(folder)/").map(code).joined(separator: "\n")
        let replicas = tree.swift(below: "Shared/Replicas/").filter { file in
            let type = file.path.split(separator: "/")[2].dropLast(".swift".count)
            return own.contains("\(type)(")
        }
        return ([own] + replicas.map(code)).joined(separator: "\n")
    }

    /// What is declared as of a type: `let friends: FriendsClient`.
    private static func names(declaredAs type: String, in text: String) -> Set<String> {
        Set(
            text.components(separatedBy: ": \(type)").dropLast().map { before in
                String(before.reversed().prefix { $0.isLetter || $0.isNumber }.reversed())
            }
        )
    }

    /// What a method is called on: `friends` of `friends.listFriendIDs(`.
    private static func receivers(of method: String, in text: String) -> Set<String> {
        Set(
            text.components(separatedBy: ".\(method)(").dropLast().map { before in
                let trimmed = before.reversed().drop { $0.isWhitespace }
                return String(trimmed.prefix { $0.isLetter || $0.isNumber }.reversed())
            }
        )
    }
}
