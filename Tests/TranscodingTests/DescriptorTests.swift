import Testing
import Transcoding

@Suite("Descriptors are read strictly")
struct DescriptorTests {
    @Test func `Fields, comments, rules and options are found`() throws {
        let set = try Fixture.kitchen()
        let everything = try #require(set.message(named: "streaksnap.kitchen.v1.Everything"))
        #expect(everything.comment == "One field of every type." && everything.oneofs.first == "choice")
        func field(_ name: String) throws -> FieldDescriptor { try #require(everything.fields.first { $0.name == name }) }
        #expect(try field("counts").shape == .map && field("ints").shape == .repeated && field("a_child").shape == .optional)
        #expect(try field("maybe_int").shape == .optional && field("maybe_int").oneof == nil && field("text").oneof == 0)
        #expect(try field("an_int32").shape == .scalar && field("a_time").kind == .timestamp)
        #expect(try field("far").comment == "Declared last, but not the highest number.")
        let place = try #require(set.message(named: "streaksnap.kitchen.v1.Place")?.fields.first)
        #expect(
            place.rules.required && place.rules.minLength == 1 && place.rules.maxLength == 20 && place.rules.format == .username
        )
        let spice = try #require(set.enumeration(named: "streaksnap.kitchen.v1.Spice"))
        #expect(spice.values.map(\.jsonName) == ["unspecified", "pepper", "chili_powder", "negative"])
        let kitchen = try #require(set.services.first { $0.fullName == "streaksnap.kitchen.v1.Kitchen" })
        #expect(kitchen.comment == "Cooks things." && kitchen.methods.first?.comment == "Takes every kind of field.")
        #expect(kitchen.methods[1].bindings.map(\.template).count == 3)
    }

    @Test func `An empty set is a set`() throws {
        #expect(try DescriptorSet(serialized: []).services.isEmpty)
    }

    /// A length-delimited field.
    private func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] { [number << 3 | 2, UInt8(content.count)] + content }
    private func field(_ number: UInt8, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }
    private func problem(_ bytes: [UInt8]) -> String {
        do {
            _ = try DescriptorSet(serialized: bytes)
            return "accepted"
        } catch { return "\(error)" }
    }

    @Test func `What contradicts itself is refused by name`() {
        func message(_ name: String, _ fields: [UInt8]...) -> [UInt8] {
            field(4, field(1, name) + fields.flatMap { field(2, $0) })
        }
        func file(_ content: [UInt8]) -> [UInt8] { field(1, field(1, "f.proto") + field(2, "p") + content + field(12, "proto3")) }
        let number: [UInt8] = [0x18, 1, 0x20, 1, 0x28, 5]
        #expect(problem(file(message("M", field(1, "a") + number))) == "accepted")
        #expect(
            problem(file(message("M", field(1, "a") + number, field(1, "a") + [0x18, 2, 0x28, 5]))) == "p.M.a: is declared twice"
        )
        #expect(
            problem(file(message("M", field(1, "a") + number, field(1, "b") + number)))
                == "p.M.b: has number 1, which another field has already"
        )
        #expect(problem(file(message("M", field(1, "a") + [0x18, 0, 0x28, 5]))).contains("not a valid field number"))
        #expect(problem(file(message("M", field(1, "a") + [0x18, 0xB8, 0x94, 1, 0x28, 5]))).contains("not a valid field number"))
        #expect(problem(file(message("M", field(1, "a") + [0x18, 1, 0x28, 10]))) == "p.M.a: has type 10, which is not supported")
        #expect(
            problem(file(message("M", field(1, "a") + [0x18, 1, 0x28, 11] + field(6, ".p.N")))).contains("not in the set: p.N")
        )
        #expect(problem(file(message("M", field(1, "a\"b") + number))).contains("not an identifier"))
        #expect(problem(file(message("M", field(1, "a") + number + [0x48, 3]))) == "p.M.a: is in a oneof that it cannot be in")
        #expect(problem(file(message("M") + message("M"))) == "p.M: is declared twice")
        #expect(problem(file(field(5, field(1, "E")))) == "p.E: has no values or too many")
        let method = field(2, field(1, "Do") + field(2, ".p.M") + field(3, ".p.N"))
        #expect(
            problem(file(message("M") + field(6, field(1, "S") + method))).contains("p.S.Do: has a type that is not in the set")
        )
        #expect(problem(file(message("M", field(1, "a") + number + field(8, [0x8A, 0xB5, 0x18, 5, 1])))).hasPrefix("p.M.a: "))
        #expect(problem([0x0A, 5, 1]).contains("a length runs past the end"))
        #expect(problem([UInt8](repeating: 0, count: 17 << 20)).contains("larger than"))
        var nested = field(1, "M")
        for _ in 0..<18 { nested = field(1, "M") + field(3, nested) }
        #expect(problem(file(field(4, nested))).contains("nested too deeply"))
    }

    @Test func `A descriptor cut off or changed anywhere is an error or a set, never a crash`() throws {
        let original = try Fixture.bytes("pantry.binpb")
        var random = Seeded(state: 1)
        var refused = 0
        for round in 0..<150 {
            var bytes = original
            if round % 3 == 0 { bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random)) }
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            do {
                let set = try DescriptorSet(serialized: bytes)
                let table = RouteTable()
                table.install(all: set)
                #expect(!OpenAPI.document(table.routes, title: "t", version: "1", today: Fixture.day).isEmpty)
            } catch {
                refused += 1
                #expect(!error.problem.isEmpty)
            }
        }
        #expect(refused > 50)
    }
}
