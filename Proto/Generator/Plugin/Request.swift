internal import CDescriptor

/// protoc's request and the answer to it: one Swift module per proto package, or with the parameter `client` the types and calls of the
/// client library (D19). The parameter `c_module=CMeals` is for a package of another repository: its C lies in a module of this name.
enum Request {
    static func answer(_ bytes: [UInt8]) throws -> [UInt8] {
        let request = try unpack(bytes, google__protobuf__compiler__code_generator_request__init)
        let response = UnsafeMutablePointer<Google__Protobuf__Compiler__CodeGeneratorResponse>.allocate(capacity: 1)
        google__protobuf__compiler__code_generator_response__init(response)
        response.pointee.has_supported_features = 1
        response.pointee.supported_features = 1  // FEATURE_PROTO3_OPTIONAL
        do {
            var files = try outputs(request, raw: bytes).map { name, content in
                let file = UnsafeMutablePointer<Google__Protobuf__Compiler__CodeGeneratorResponse__File>.allocate(capacity: 1)
                google__protobuf__compiler__code_generator_response__file__init(file)
                file.pointee.name = cText(name)
                file.pointee.content = cText(content)
                return Optional(file)
            }
            return files.withUnsafeMutableBufferPointer { files in
                response.pointee.file = files.baseAddress
                response.pointee.n_file = files.count
                return pack(response)
            }
        } catch {
            response.pointee.error = cText("\(error)")
            return pack(response)
        }
    }

    private static func outputs(
        _ request: UnsafeMutablePointer<Google__Protobuf__Compiler__CodeGeneratorRequest>,
        raw: [UInt8]
    ) throws -> [(name: String, content: String)] {
        let wanted = Set(
            UnsafeBufferPointer(start: request.pointee.file_to_generate, count: request.pointee.n_file_to_generate).map {
                text($0)
            }
        )
        let schema = Schema(files: try list(request.pointee.proto_file, request.pointee.n_proto_file).map(ModelReader.read))
        let parameter = text(request.pointee.parameter)
        if parameter == "client" {
            return try ClientEmitter(schema: schema, files: schema.files.filter { wanted.contains($0.name) }).outputs()
        }
        let cModules = try cModules(parameter)
        let descriptors = try Descriptors(request: raw, files: schema.files)
        let packages = Set(schema.files.filter { wanted.contains($0.name) }.map(\.package)).sorted()
        return try packages.flatMap { package in
            let files = schema.files.filter { $0.package == package }
            guard files.allSatisfy({ wanted.contains($0.name) }) else {
                throw GeneratorError("all files of package \(package) must be given at once")
            }
            return try ModuleEmitter(
                package: package,
                files: files,
                schema: schema,
                descriptors: descriptors,
                cModules: cModules
            ).outputs()
        }
    }

    /// `CContracts` has the C of this repository's messages, which those of another may contain.
    private static func cModules(_ parameter: String) throws -> [String] {
        guard !parameter.isEmpty else { return ["CContracts"] }
        let name = parameter.hasPrefix("c_module=") ? parameter.dropFirst("c_module=".count) : ""
        guard name.first?.isLetter == true, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }) else {
            throw GeneratorError("the parameter “\(parameter)” is unknown; there are client and c_module=NAME")
        }
        return ["CContracts", String(name)]
    }
}
