private import Foundation
private import Glibc

/// Makes a folder whose name nothing else has.
///
/// - Parameters:
///   - prefix: what its name begins with.
///   - parent: the folder in which it is made; nil: that of temporary files (`TMPDIR`).
///   - mode: 0o700 lets only this user enter it. PostgreSQL, which root starts as another user, needs 0o755.
/// - Throws: `ProcessError` when it cannot be made.
package func makeTemporaryFolder(_ prefix: String, in parent: String? = nil, mode: UInt32 = 0o700) throws -> String {
    let parent = parent ?? FileManager.default.temporaryDirectory.path
    var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
        throw ProcessError(description: "no folder can be made in \(parent): \(String(cString: strerror(errno)))")
    }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // mkdtemp(3) always makes it 0o700.
    if mode != 0o700 { chmod(path, mode) }
    return path
}
