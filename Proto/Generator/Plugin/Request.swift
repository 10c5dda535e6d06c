internal import Wire

/// protoc's request (google.protobuf.compiler.CodeGeneratorRequest) and the answer to it: one Swift module per proto package, or with the
/// parameter `client` the types and calls of the client library (D19).
enum Request {
    static func answer(_ bytes: [UInt8]) throws -> [UInt8] {
        let request = try ProtoBytes(bytes[...])
        var response = WireWriter()
        do {
            for (name, content) in try outputs(request, raw: bytes) {
                var file = WireWriter()
                file.bytes(name.utf8, field: 1)
                file.bytes(content.utf8, field: 15)
                response.bytes(file.bytes, field: 15)
            }
        } catch {
            response = WireWriter()
            response.bytes("\(error)".utf8, field: 1)
        }
        // FEATURE_PROTO3_OPTIONAL
        response.varint(1, field: 2)
        return response.bytes
    }

    private static func outputs(_ request: ProtoBytes, raw: [UInt8]) throws -> [(name: String, content: String)] {
        let wanted = Set(request.texts(1))
        let schema = Schema(files: try request.messages(15).map(ModelReader.read))
        switch request.text(2) {
        case "client":
            return try ClientEmitter(schema: schema, files: schema.files.filter { wanted.contains($0.name) }).outputs()
        case "": break
        case let parameter: throw GeneratorError("the parameter “\(parameter)” is unknown; there is client")
        }
        let descriptors = try Descriptors(request: raw, files: schema.files)
        let packages = Set(schema.files.filter { wanted.contains($0.name) }.map(\.package)).sorted()
        return try packages.flatMap { package in
            let files = schema.files.filter { $0.package == package }
            guard files.allSatisfy({ wanted.contains($0.name) }) else {
                throw GeneratorError("all files of package \(package) must be given at once")
            }
            return try ModuleEmitter(package: package, files: files, schema: schema, descriptors: descriptors).outputs()
        }
    }
}
