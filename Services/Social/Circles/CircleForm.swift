internal import Kernel
internal import SocialDomain

/// What a circle is to be called, checked field by field (PF-2).
struct CircleForm {
    /// As it is stored; nil when none was sent.
    let name: String?
    /// As it is stored, `.some(nil)` for none; nil when none was sent.
    let description: String??

    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    init(name: String?, description: String?) throws {
        var check = FieldCheck()
        self.name = try check.take(name) { try CircleTexts.name($0) }
        self.description = try check.take(description) { try CircleTexts.description($0) }
        try check.finish()
    }
}
