internal import Cryptography

/// Writes the Swift module of one proto package: messages, codecs and validation per proto file, services, the package's descriptor.
struct ModuleEmitter {
    let package: String
    let module: String
    let files: [ProtoFile]
    let schema: Schema
    let descriptors: Descriptors
    let withRules: Set<String>
    /// The modules that hold the C of the messages: `CContracts`, and for a package of another repository one of its own beside it.
    let cModules: [String]

    init(package: String, files: [ProtoFile], schema: Schema, descriptors: Descriptors, cModules: [String]) throws {
        self.package = package
        self.module = try SwiftName.module(package)
        self.files = files
        self.schema = schema
        self.descriptors = descriptors
        self.withRules = schema.messagesWithRules()
        self.cModules = cModules
        try refuseSharedNames()
    }

    /// The services of a package share its subjects, `rpc.<service>.<version>.<Method>`.
    private func refuseSharedNames() throws {
        var owners: [String: String] = [:]
        for service in files.flatMap(\.services) {
            for method in service.methods {
                guard let other = owners.updateValue(service.name, forKey: method.name) else { continue }
                throw GeneratorError("\(package): \(method.name) is a method of both \(other) and \(service.name)")
            }
        }
    }

    func outputs() throws -> [(name: String, content: String)] {
        var outputs: [(name: String, content: String)] = []
        for file in files {
            let stem = SwiftName.type(String(file.name.split(separator: "/").last?.split(separator: ".").first ?? ""))
            do {
                // A service may take and give messages of other files alone.
                if !file.messages.isEmpty || !file.enums.isEmpty {
                    outputs.append(("\(module)/\(stem)Messages.swift", try messages(file)))
                    outputs.append(("\(module)/\(stem)Codec.swift", try codecs(file)))
                    outputs.append(("\(module)/\(stem)Validation.swift", try validations(file)))
                }
                for service in file.services {
                    outputs.append(("\(module)/\(service.name)Service.swift", try self.service(service, file)))
                }
            } catch {
                throw GeneratorError("\(file.name): \(error)")
            }
        }
        if files.contains(where: { !$0.services.isEmpty }) {
            outputs.append(("\(module)/\(descriptorName).swift", descriptor()))
        }
        if usesTimestamps { outputs.append(("\(module)/Timestamps.swift", timestamps())) }
        return outputs
    }

    /// `internal` for C, `public` for what the module's own interface mentions.
    func imports(c: Bool, for types: [String], access: String = "public", kernel: Bool = false, wire: Bool) -> [String] {
        let modules = Set(types.compactMap { try? moduleOf($0) }.filter { $0 != module })
        return (c ? cImports + ["internal import CProtobufC"] : [])
            + modules.sorted().map { "\(access) import \($0)" }
            + (kernel ? ["public import Kernel"] : []) + (wire ? ["public import Wire"] : [])
    }

    private var cImports: [String] { cModules.map { "internal import \($0)" } }

    /// The module of a message or enum.
    func moduleOf(_ fullName: String) throws -> String {
        if let message = try? schema.message(fullName) { return try SwiftName.module(message.package) }
        return try SwiftName.module(try schema.enumeration(fullName).package)
    }

    /// A message or enum as Swift code of this module writes it.
    func swiftType(_ fullName: String) throws -> String {
        let path: [String]
        if let message = try? schema.message(fullName) {
            path = message.path
        } else {
            path = try schema.enumeration(fullName).path
        }
        guard !fullName.hasPrefix("google.") else { throw GeneratorError("\(fullName) is not supported") }
        let owner = try moduleOf(fullName)
        return ((owner == module ? [] : [owner]) + path).joined(separator: ".")
    }

    private var usesTimestamps: Bool {
        files.flatMap(\.allMessages).flatMap { message in
            message.fields + message.fields.compactMap { schema.mapEntry($0) }.flatMap(\.fields)
        }.contains { field in
            if case .timestamp = field.kind { return true }
            return false
        }
    }

    private func timestamps() -> String {
        var source = SourceText(
            origin: package,
            imports: cImports + ["internal import Kernel", "internal import Wire"]
        )
        source.line()
        source.line("/// The C twin of an instant.")
        source.block(
            "func storeTimestamp(\n    _ instant: Kernel.Instant, _ arena: Wire.Arena, _ field: StaticString\n"
                + ") throws(Wire.WireError) -> UnsafeMutablePointer<Google__Protobuf__Timestamp>"
        ) { source in
            source.line("let (seconds, nanos) = try arena.timestamp(instant, field)")
            source.line("let c = arena.allocate(Google__Protobuf__Timestamp.self)")
            source.line("google__protobuf__timestamp__init(c)")
            source.line("c.pointee.seconds = seconds")
            source.line("c.pointee.nanos = nanos")
            source.line("return c")
        }
        return source.text
    }

    /// `BillingDescriptor`.
    private var descriptorName: String { module.dropLast("API".count) + "Descriptor" }

    private func descriptor() -> String {
        let set = descriptors.set(package: package)
        let hash = SHA256.hash(data: set).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        var source = SourceText(origin: package, imports: ["internal import Wire"])
        source.line()
        source.line("/// What the package declares, for programs that were not built with it (D2).")
        source.block("public enum \(descriptorName)") { source in
            source.line("/// SHA-256 of `bytes`, lower-case hex.")
            source.line("public static let hash = \"\(hash)\"")
            source.line("/// A serialized google.protobuf.FileDescriptorSet of the package and its imports, with comments.")
            source.line("public static let bytes: [UInt8] = Wire.Base64.decode(")
            source.line("    \"\"\"")
            var rest = Base64Lines(set)
            while let line = rest.next() { source.line("    " + line) }
            source.line("    \"\"\")")
        }
        return source.text
    }
}
