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

    @Test func `a refusal that is about no field ends the checks`() throws {
        var check = FieldCheck()
        #expect(throws: Broken.self) { try check.take { throw Broken() } }
        #expect(throws: ServiceError.unavailable()) { try check.take { throw ServiceError.unavailable() } }
        try check.finish()
        #expect(FieldCheck.problems { throw Broken() } == [])
        #expect(FieldCheck.problems { _ = try fails("a") }.map(\.field) == ["a"])
    }
}
