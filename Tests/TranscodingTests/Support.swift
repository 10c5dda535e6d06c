import Foundation
import Kernel
import Processes
import TestSupport
import Testing
import Transcoding

/// What the tests share: descriptor sets, a seeded random generator, a way to run tools.
enum Fixture {
    /// That dates in examples lie around: 2 January 2026.
    static let day = CalendarDate(dayNumber: 20_455)

    static func bytes(_ name: String) throws -> [UInt8] {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/\(name)", withExtension: nil))
        return [UInt8](try Data(contentsOf: url))
    }

    static func path(_ name: String) throws -> String {
        try #require(Bundle.module.url(forResource: "Fixtures/\(name)", withExtension: nil)).path
    }

    static func kitchen() throws -> DescriptorSet { try DescriptorSet(serialized: bytes("kitchen.binpb")) }
    static func pantry() throws -> DescriptorSet { try DescriptorSet(serialized: bytes("pantry.binpb")) }

    static func routes() throws -> RouteTable {
        let table = RouteTable()
        #expect(table.install(try kitchen(), service: "kitchen").isEmpty)
        return table
    }

    /// The route and path values of a request that must be found.
    static func route(_ method: String, _ path: String) throws -> (Route, PathValues) {
        guard case .found(let route, let values) = try routes().match(method: method, path: path) else {
            throw TestFailure("no route for \(method) \(path)")
        }
        return (route, values)
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// SplitMix64: the same numbers on every run.
struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

extension Array where Element == UInt8 {
    var hex: String { map { byte in String(UInt32(byte) + 256, radix: 16).dropFirst() }.joined() }
    var text: String { String(decoding: self, as: UTF8.self) }
}

extension ReplyOutput {
    /// The JSON text; a description of the rest.
    var text: String {
        switch self {
        case .json(let bytes): bytes.text
        case .raw(let bytes, let type, let status): "raw \(type) \(status) \(bytes.text)"
        case .blob(let key): "blob \(key)"
        case .redirect(let url): "redirect \(url)"
        }
    }
}

/// The details of the refusal that `body` must end in, as `field: message`.
func refusal(_ body: () throws -> some Any) -> [String] {
    do {
        _ = try body()
        return ["accepted"]
    } catch let error as ServiceError {
        guard error.code == .invalidArgument, error.reason == "VALIDATION_ERROR" else { return ["\(error)"] }
        return error.details.map { "\($0.field): \($0.message)" }
    } catch { return ["\(error)"] }
}

/// A Python with the packages that the independent checks need.
enum Python {
    static func run(_ arguments: [String], input: [UInt8] = []) async throws -> FinishedCommand {
        try await Processes.run(PythonPackages.transcoding.value, arguments, input: input)
    }

    /// Checks an OpenAPI document; the end-to-end tests use it too.
    static var checkOpenAPI: String { PythonPackages.file("OpenAPI/check.py") }
}
