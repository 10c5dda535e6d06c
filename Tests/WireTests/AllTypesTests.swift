import AuthAPI
import BillingAPI
import CommonAPI
import Foundation
import Kernel
import MediaAPI
import NotificationsAPI
import Processes
import SocialAPI
import StreaksAPI
import TestSupport
import Testing
import TestingAPI
import Wire

/// Every message type of every contract beside Google's own Python protobuf (`all_types.py`): what a mistake of the generator or of the
/// descriptors made at start would change.
@Suite struct AllTypesTests {
    /// One type, found by its full name as the descriptor sets have it.
    private struct MessageType {
        let name: String
        let type: any Message.Type
    }

    private static let sets: [(module: String, bytes: [UInt8])] = [
        ("AuthAPI", AuthDescriptor.bytes), ("BillingAPI", BillingDescriptor.bytes), ("CommonAPI", CommonDescriptor.bytes),
        ("MediaAPI", MediaDescriptor.bytes), ("NotificationsAPI", NotificationsDescriptor.bytes),
        ("SocialAPI", SocialDescriptor.bytes), ("StreaksAPI", StreaksDescriptor.bytes), ("TestingAPI", TestingDescriptor.bytes),
    ]

    /// The types that a set declares for its own module.
    private static func types(of module: String, in set: [UInt8]) throws -> [MessageType] {
        let package = "streaksnap.\(module.dropLast("API".count).lowercased()).v1"
        return try messages(set[...], 1).filter { try texts($0, 2) == [package] }.flatMap { file in
            try messages(file, 4).flatMap { try types($0, path: [], module: module, package: package) }
        }
    }

    private static func types(_ message: ArraySlice<UInt8>, path: [String], module: String, package: String) throws
        -> [MessageType]
    {
        // An entry of a map is no type of its own: its options say so.
        let isEntry = try messages(message, 7).contains { options in
            var fields = WireFields(options)
            while let field = try fields.next() { if field.number == 7 { return true } }
            return false
        }
        if isEntry { return [] }
        let path = path + (try texts(message, 1))
        let name = ([package] + path).joined(separator: ".")
        // As Swift mangles a struct in structs of a module.
        let mangled = "\(module.utf8.count)\(module)" + path.map { "\($0.utf8.count)\($0)V" }.joined()
        let type = try #require(_typeByName(mangled) as? any Message.Type, "there is no \(name) in \(module)")
        return [MessageType(name: name, type: type)]
            + (try messages(message, 3).flatMap { try types($0, path: path, module: module, package: package) })
    }

    private static func messages(_ message: ArraySlice<UInt8>, _ number: Int) throws -> [ArraySlice<UInt8>] {
        var found: [ArraySlice<UInt8>] = []
        var fields = WireFields(message)
        while let field = try fields.next() {
            if field.number == number, case .bytes(let bytes) = field.value { found.append(bytes) }
        }
        return found
    }

    private static func texts(_ message: ArraySlice<UInt8>, _ number: Int) throws -> [String] {
        try messages(message, number).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func all() throws -> [MessageType] { try sets.flatMap { try types(of: $0.module, in: $0.bytes) } }

    @Test func `every message knows its name and comes back empty`() throws {
        let types = try Self.all()
        #expect(types.count > 600)
        for type in types {
            #expect(type.type.fullName == type.name)
            // One with an id or a date that must be there is refused; nothing else is.
            do { #expect(try type.type.init(serialized: [UInt8]()).serialized() == [], "\(type.name)") } catch {
                guard case WireError.unreadable = error else { throw error }
            }
        }
    }

    @Test func `messages of Python's protobuf come back with the same values, whole and broken`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("streaksnap-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let types = try Self.all()
        for (module, bytes) in Self.sets { try Data(bytes).write(to: folder.appendingPathComponent("\(module).set")) }
        try Data(types.map(\.name).joined(separator: "\n").utf8).write(to: folder.appendingPathComponent("types"))
        let python = try await PythonPackages.foreignService.value
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("all_types.py").path
        let count = TestDepth.pick(quick: 12, full: 200)
        let limit = Duration.seconds(300)
        let made = try await run(python, [script, "make", folder.path, String(count), "20240607"], within: limit)
        try #require(made.status == 0, "\(made.transcript)")

        let sent = try Records(reading: Array(Data(contentsOf: folder.appendingPathComponent("sent"))))
        #expect(sent.records.count == types.count * count)
        var got = Records()
        for record in sent.records {
            let bytes = try Self.roundTrip(types[record.type].type, record.bytes).get()
            got.append(record.type, sent: record.bytes, got: bytes)
        }
        try broken(sent.records, of: types, &got)
        try Data(got.bytes).write(to: folder.appendingPathComponent("got"))
        let judged = try await run(python, [script, "judge", folder.path], within: limit)
        #expect(judged.status == 0, "\(judged.transcript)")
    }

    /// Adds what becomes of bytes that were cut, changed, put one after the other, or are of another type.
    private func broken(_ records: [Records.Record], of types: [MessageType], _ got: inout Records) throws {
        var samples = Samples(seed: 7)
        for record in records {
            var bytes = record.bytes
            for _ in 0..<Int.random(in: 1...4, using: &samples.random) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &samples.random)
                switch Int.random(in: 0..<5, using: &samples.random) {
                case 0: bytes[index] = samples.number()
                case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &samples.random)
                case 2: bytes.removeSubrange(index..<min(bytes.count, index + 8))
                case 3: bytes.insert(samples.number(), at: index)
                default: bytes += record.bytes
                }
            }
            let other = Int.random(in: 0..<4, using: &samples.random) == 0
            let type = other ? Int.random(in: types.indices, using: &samples.random) : record.type
            switch Self.roundTrip(types[type].type, bytes) {
            case .success(let back): got.append(type, sent: bytes, got: back)
            case .failure(is WireError): got.append(type, sent: bytes, got: nil)
            case .failure(let error): throw error
            }
            // A request is refused by rules too, but never by a defect.
            do { _ = try types[type].type.init(request: bytes) } catch let error as ServiceError {
                #expect(error.reason == "VALIDATION_ERROR")
            } catch is WireError {}
        }
    }

    private static func roundTrip(_ type: any Message.Type, _ bytes: [UInt8]) -> Result<[UInt8], any Error> {
        func back<Type: Message>(_: Type.Type) throws -> [UInt8] {
            let message = try Type(serialized: bytes)
            let once = try message.serialized()
            #expect(try Type(serialized: once) == message, "\(Type.fullName)")
            return once
        }
        return Result { try back(type) }
    }
}

/// Messages with the index of their type, as `all_types.py` reads and writes them.
private struct Records {
    struct Record {
        let type: Int
        let bytes: [UInt8]
    }

    private(set) var records: [Record] = []
    private(set) var bytes: [UInt8] = []

    init() {}

    init(reading bytes: [UInt8]) throws {
        func number(_ place: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) } }
        var start = 0
        while start + 13 <= bytes.count {
            let end = start + 13 + number(start + 5)
            try #require(end <= bytes.count)
            records.append(Record(type: number(start), bytes: Array(bytes[(start + 13)..<end])))
            start = end
        }
    }

    mutating func append(_ type: Int, sent: [UInt8], got: [UInt8]?) {
        func add(_ number: Int) { for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) } }
        add(type)
        bytes.append(got == nil ? 0 : 1)
        add(sent.count)
        add(got?.count ?? 0)
        bytes += sent + (got ?? [])
    }
}
