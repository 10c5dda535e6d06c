package import Kernel

/// The compiled rules of a zone (TZif, RFC 9636) that a test makes up.
///
/// - Parameters:
///   - hours: the offset at first.
///   - changes: other offsets, in hours, and from when each holds, in time order.
package func zoneFile(_ hours: Int, _ changes: [(at: Instant, hours: Int)] = []) -> [UInt8] {
    func big(_ value: Int64, _ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: value >> ((size - 1 - $0) * 8)) }
    }
    func block(_ size: Int, _ changes: [(at: Instant, hours: Int)]) -> [UInt8] {
        let types = [hours] + changes.map(\.hours)
        let counts = [0, 0, 0, changes.count, types.count, 4].flatMap { big(Int64($0), 4) }
        var bytes = Array("TZif2".utf8) + Array(repeating: 0, count: 15) + counts
        bytes += changes.flatMap { big($0.at.seconds, size) } + changes.indices.map { UInt8($0 + 1) }
        bytes += types.flatMap { big(Int64($0) * 3_600, 4) + [0, 0] }
        return bytes + Array("LMT\u{0}".utf8)
    }
    let last = changes.last?.hours ?? hours
    return block(4, []) + block(8, changes) + Array("\n<ABC>\(-last)\n".utf8)
}
