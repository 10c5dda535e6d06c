import Kernel
import Testing

struct ServiceNameTests {
    @Test(arguments: ["auth", "meal_plans", "a", "v2", "x_2_y", String(repeating: "a", count: ServiceName.longest)])
    func `a name has letters, digits and single underscores`(name: String) {
        #expect(ServiceName.isValid(name))
    }

    @Test(arguments: [
        "", "_", "_auth", "auth_", "meal__plans", "2meals", "v2-cache", "Auth", "a.b", "*", ">", "a b", "a\n", "ä", "a\u{301}",
        "a/b",
        "a\"b", "a\0b", String(repeating: "a", count: ServiceName.longest + 1),
    ]) func `what is no word of a subject or needs quotes in SQL is no name`(text: String) {
        #expect(!ServiceName.isValid(text))
    }
}
