private import FoundationEssentials
internal import Kernel

/// A service that is not of this repository: what it is called, and what it may do on the bus.
public struct FurtherService: Sendable, Equatable {
    /// Its name on the bus; also that of its user, its role and its schema.
    public var name: String
    /// The methods it calls, by service: `GetSummaries`, or with another version `v2.GetSummaries`.
    public var calls: [String: [String]]
    /// Whose events each of its features consumes, by feature.
    public var sources: [String: [String]]
    /// Whether it gets a role and a schema in the database.
    public var hasDatabase: Bool

    /// A service.
    public init(name: String, calls: [String: [String]] = [:], sources: [String: [String]] = [:], hasDatabase: Bool = true) {
        self.name = name
        self.calls = calls
        self.sources = sources
        self.hasDatabase = hasDatabase
    }

    /// Its rights: the least with which it works (D9).
    public var permissions: BusPermissions { .service(named: name, calls: calls, sources: sources) }

    /// Why a text cannot be the name of a further service; nil when it can.
    public static func problem(ofName name: String) -> String? {
        guard ServiceName.isValid(name) else { return ServiceName.rule }
        return taken.contains(name) || name.hasPrefix("pg_") ? "is taken" : nil
    }

    /// Users of the broker, roles and schemas of PostgreSQL, and packages of the protos that are shipped.
    private static let taken = Set(
        BusPermissions.table.map(\.user) + [
            "admin", "common", "information_schema", "options", "postgres", "public", "streaksnap", "streams",
        ]
    )

    static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

/// The services that an operator runs beside those of this repository, as a file names them (`deploy/docs/service-kit.md`).
public struct FurtherServices: Sendable, Equatable {
    /// In the order of the file.
    public let services: [FurtherService]

    /// No others.
    public static let none = FurtherServices([])

    private init(_ services: [FurtherService]) { self.services = services }

    /// The services of a file.
    ///
    /// - Parameter path: a JSON file: `{"services": [{"name": …, "calls": {…}, "sources": {…}, "database": …}]}`.
    /// - Throws: `DevEnvironmentError` that names the file, the place in it and what is wrong there.
    public init(file path: String) throws(DevEnvironmentError) {
        let bytes: [UInt8]
        do { bytes = Array(try Data(contentsOf: URL(filePath: path))) } catch {
            throw DevEnvironmentError("\(path) cannot be read.", wayOut: "Name a file of services that is there, or none.")
        }
        do { self = try FurtherServicesReader.read(bytes) } catch {
            let place = error.path.isEmpty ? "the document" : error.path
            throw DevEnvironmentError(
                "\(path), line \(error.line): \(place) \(error.message).",
                wayOut: "Correct the file; deploy/docs/service-kit.md says what it holds."
            )
        }
    }

    /// Checks services against this repository's and each other.
    ///
    /// - Throws: what is wrong, and where: the index of the service and its member.
    init(checking services: [FurtherService]) throws(FurtherServiceProblem) {
        let known = Set(BusPermissions.services + services.map(\.name))
        var names: Set<String> = []
        for (index, service) in services.enumerated() {
            func problem(_ member: String, _ text: String) -> FurtherServiceProblem {
                FurtherServiceProblem(index: index, member: member, message: text)
            }
            if let wrong = FurtherService.problem(ofName: service.name) { throw problem("name", "“\(service.name)” \(wrong)") }
            guard names.insert(service.name).inserted else { throw problem("name", "“\(service.name)” is there twice") }
            if let wrong = Self.problem(service.calls.keys.sorted(), known) { throw problem("calls", wrong) }
            guard service.calls[service.name] == nil else { throw problem("calls", "has the service itself") }
            for (callee, methods) in service.calls.sorted(by: { $0.key < $1.key }) {
                if let wrong = Self.problem(ofMethods: methods) { throw problem("calls.\(callee)", wrong) }
            }
            for (feature, sources) in service.sources.sorted(by: { $0.key < $1.key }) {
                let bytes = feature.utf8
                guard (1...40).contains(bytes.count), bytes.first.map(FurtherService.isLetter) ?? false,
                    bytes.allSatisfy({ FurtherService.isLetter($0) || FurtherService.isDigit($0) || $0 == UInt8(ascii: "-") })
                else {
                    throw problem(
                        "sources",
                        "has “\(feature)”, which is no name of a feature: lower-case letters, digits and hyphens"
                    )
                }
                guard !sources.isEmpty else { throw problem("sources.\(feature)", "is empty") }
                if let wrong = Self.problem(sources, known) { throw problem("sources.\(feature)", wrong) }
            }
        }
        self.services = services
    }

    private static func problem(_ names: [String], _ known: Set<String>) -> String? {
        if let unknown = names.first(where: { !known.contains($0) }) {
            return "has “\(unknown)”, which is no service; there are \(known.sorted().joined(separator: ", "))"
        }
        return Set(names).count == names.count ? nil : "has a service twice"
    }

    /// What is wrong with the methods of one service; nil when nothing is. A name becomes a part of a subject: it holds no wildcard.
    private static func problem(ofMethods methods: [String]) -> String? {
        guard !methods.isEmpty else { return "is empty" }
        for method in methods {
            guard isMethod(method) else {
                return "has “\(method)”, which is no name of a method: GetQuote, or of another version v2.GetQuote"
            }
            if ServiceCalls.operating.contains(where: { method == $0 || method.hasSuffix(".\($0)") }) {
                return "has “\(method)”, which is for administrators: only auth may call it"
            }
        }
        return Set(methods).count == methods.count ? nil : "has a method twice"
    }

    private static func isMethod(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let name = parts.last, let first = name.first else { return false }
        if parts.count == 2 {
            let digits = parts[0].dropFirst()
            guard parts[0].first == UInt8(ascii: "v"), (1...3).contains(digits.count), digits.first != UInt8(ascii: "0"),
                digits.allSatisfy(FurtherService.isDigit)
            else { return false }
        }
        let isLetter = { FurtherService.isLetter($0 | 32) }
        return name.count <= 100 && isLetter(first) && first & 32 == 0
            && name.allSatisfy { isLetter($0) || FurtherService.isDigit($0) }
    }

    /// Their names.
    public var names: [String] { services.map(\.name) }

    /// The names of those with a role and a schema in the database.
    public var databases: [String] { services.filter(\.hasDatabase).map(\.name) }

    /// The names of those that hold something about users, and so have a part in exports: their runtime erases it by the events of auth.
    public var exported: [String] { services.filter { $0.sources["personal-data"] != nil }.map(\.name) }

    /// The rights of every user of the broker: those of this repository, of which auth also asks them for their part of an export, and theirs.
    public var users: [BusPermissions] {
        BusPermissions.table.map { user in
            guard user.user == "auth" else { return user }
            var user = user
            user.publish? += exported.flatMap { BusPermissions.asking($0, ["ExportPersonalData"]) }
            return user
        } + services.map(\.permissions)
    }

    /// Whose events each feature of every service consumes, those of this repository and theirs.
    public var sources: [String: [String: [String]]] {
        BusPermissions.sources.merging(services.map { ($0.name, $0.sources) }) { own, _ in own }
    }
}

/// What is wrong with a service, and where.
struct FurtherServiceProblem: Error, Equatable {
    let index: Int
    let member: String
    let message: String
}
