internal import Wire

/// The FileDescriptorSets that services publish (D2).
///
/// Descriptors are copied byte by byte, so that unknown options stay. Of the source info only comments of our own files stay:
/// positions are most of its size and not needed at run time.
struct Descriptors {
    private var bytesByName: [String: [UInt8]] = [:]
    private let files: [ProtoFile]

    /// Reads `proto_file` of a CodeGeneratorRequest; `files` are the same files in the same order.
    init(request: [UInt8], files: [ProtoFile]) throws {
        self.files = files
        var fields = WireFields(request)
        var index = 0
        while let field = try fields.next() {
            guard field.number == 15, case .bytes(let bytes) = field.value else { continue }
            guard index < files.count else { throw GeneratorError("the input is not what protoc sends") }
            bytesByName[files[index].name] = try Self.pruned(bytes, keepComments: files[index].name.hasPrefix("streaksnap/"))
            index += 1
        }
    }

    /// The set of all files of a package and their imports, imports first.
    func set(package: String) -> [UInt8] {
        var needed = Set(files.filter { $0.package == package }.map(\.name))
        // protoc sends imports first, so one pass backwards finds all.
        for file in files.reversed() where needed.contains(file.name) { needed.formUnion(file.dependencies) }
        var set = WireWriter()
        for file in files where needed.contains(file.name) { set.bytes(bytesByName[file.name] ?? [], field: 1) }
        return set.bytes
    }

    /// A FileDescriptorProto with nothing but comments in its source info (field 9).
    private static func pruned(_ file: ArraySlice<UInt8>, keepComments: Bool) throws -> [UInt8] {
        var result = WireWriter()
        var fields = WireFields(file)
        while let field = try fields.next() {
            guard field.number == 9, case .bytes(let info) = field.value else {
                result.field(field)
                continue
            }
            if keepComments { result.bytes(try comments(info), field: 9) }
        }
        return result.bytes
    }

    /// SourceCodeInfo reduced to the paths (field 1) and comments (3: before, 4: after) of locations that have comments.
    private static func comments(_ info: ArraySlice<UInt8>) throws -> [UInt8] {
        var result = WireWriter()
        var locations = WireFields(info)
        while let location = try locations.next() {
            guard case .bytes(let bytes) = location.value else { continue }
            var kept = WireWriter()
            var hasComment = false
            var fields = WireFields(bytes)
            while let field = try fields.next() {
                guard [1, 3, 4].contains(field.number) else { continue }
                kept.field(field)
                hasComment = hasComment || field.number > 1
            }
            if hasComment { result.bytes(kept.bytes, field: 1) }
        }
        return result.bytes
    }
}
