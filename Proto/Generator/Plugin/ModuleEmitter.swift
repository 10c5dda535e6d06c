internal import Cryptography

/// Writes the Swift module of one proto package: messages and codecs per proto file, services, the package's descriptor.
struct ModuleEmitter {
    let package: String
    let module: String
    let files: [ProtoFile]
    let schema: Schema
    let descriptors: Descriptors
    let withRules: Set<String>

    init(package: String, files: [ProtoFile], schema: Schema, descriptors: Descriptors) throws {
        self.package = package
        self.module = try SwiftName.module(package)
        self.files = files
        self.schema = schema
        self.descriptors = descriptors
        self.withRules = schema.messagesWithRules()
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
                }
                for service in file.services {
                    outputs.append(("\(module)/\(service.name)Service.swift", try self.service(service, file)))
                }
            } catch {
                throw GeneratorError("\(file.name): \(error)")
            }
        }
        outputs.append(("\(module)/\(descriptorName).swift", descriptor()))
        return outputs
    }

    /// `public` for what the module's own interface mentions.
    func imports(for types: [String], access: String = "public", kernel: Bool = false, wire: Bool) -> [String] {
        let modules = Set(types.compactMap { try? moduleOf($0) }.filter { $0 != module })
        return modules.sorted().map { "\(access) import \($0)" }
            + (kernel ? ["public import Kernel"] : []) + (wire ? ["public import Wire"] : [])
    }

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

    /// `BillingDescriptor`.
    var descriptorName: String { module.dropLast("API".count) + "Descriptor" }

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
            source.line("static let layouts = Wire.MessageLayouts(bytes)")
        }
        return source.text
    }
}
