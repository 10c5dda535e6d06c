import Kernel
import Testing

struct FieldCheckTests {
    private struct Broken: Error {}

    private func fails(_ field: String) throws -> Int { throw ServiceError.validation(field: field, "is wrong") }

    @Test func `all that is wrong is thrown at once, in the order of the checks`() throws {
        var check = FieldCheck()
        #expect(try check.take { 1 } == 1)
        #expect(try check.take { try fails("a") } == nil)
        #expect(try check.take("2") { Int($0) } == 2)
        #expect(try check.take(String?.none) { _ in try fails("never") } == nil, "nothing was sent")
        #expect(try check.take("x") { _ in try fails("b") } == nil)
        check.require(true, "never", "is wrong")
        check.require(false, "c", "is required")
        let asked = check
        let error = #expect(throws: ServiceError.self) { try asked.finish() }
        #expect(error?.reason == "VALIDATION_ERROR")
        #expect(error?.details.map { "\($0.field) \($0.message)" } == ["a is wrong", "b is wrong", "c is required"])
    }

    @Test func `of a field the first thing that is wrong with it counts`() throws {
        let found = FieldCheck.problems { check in
            check.require(false, "a", "is required")
            check.require(false, "a", "is too long")
            _ = try check.take { try fails("a") }
            _ = try check.take { try fails("b") }
        }
        #expect(found.map { "\($0.field) \($0.message)" } == ["a is required", "b is wrong"])
    }

    @Test func `what another finds wrong is added for other fields only, up to a number`() {
        func details(_ fields: String...) -> [ServiceError.Detail] { fields.map { .init(field: $0, message: "is wrong") } }
        var known = details("a.b[2]", "", "c")
        known.add(details("", "a", "a.b", "a.b[2]", "a.b[2].x", "a.b[3]", "c", "cc", "d"), most: 5)
        #expect(known.map(\.field) == ["a.b[2]", "", "c", "a.b[3]", "cc"])
        known.add(details("e"), most: 2)
        #expect(known.count == 5)
    }

    @Test func `a refusal that is about no field ends the checks`() throws {
        var check = FieldCheck()
        #expect(throws: Broken.self) { try check.take { throw Broken() } }
        #expect(throws: ServiceError.unavailable()) { try check.take { throw ServiceError.unavailable() } }
        try check.finish()
        #expect(FieldCheck.problems { throw Broken() } == [])
        #expect(FieldCheck.problems { _ = try fails("a") }.map(\.field) == ["a"])
    }
}
