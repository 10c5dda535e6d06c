internal import Kernel

/// streaksnap.common.v1.DescriptorReply, read without its message type: field 1 the set, field 2 its hash, which the gateway computes itself.
struct DescriptorReply {
    let set: [UInt8]

    /// - Throws: `INTERNAL` for bytes that are no such message.
    init(_ bytes: [UInt8]) throws {
        var set: [UInt8] = []
        var rest = bytes[...]
        while let tag = rest.popFirst() {
            guard let length = Self.varint(&rest), length <= rest.count else { throw ServiceError.internal }
            let value = rest.prefix(length)
            rest = rest.dropFirst(length)
            switch tag {
            case 0x0A: set = Array(value)
            case 0x12: break
            default: throw ServiceError.internal
            }
        }
        guard !set.isEmpty else { throw ServiceError.internal }
        self.set = set
    }

    private static func varint(_ bytes: inout ArraySlice<UInt8>) -> Int? {
        var value = 0
        for shift in stride(from: 0, to: 35, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            value |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }
}
