/// Checks and conversions on text that lies in memory as bytes.
enum ByteText {
    /// Whether the bytes are well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
    static func isUTF8(_ start: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var position = 0
        while position < count {
            if count &- position >= 8 {
                let word = UnsafeRawPointer(start + position).loadUnaligned(as: UInt64.self)
                if word & 0x8080_8080_8080_8080 == 0 {
                    position &+= 8
                    continue
                }
            }
            let lead = start[position]
            if lead < 0x80 {
                position &+= 1
                continue
            }
            let length = sequenceLength(start + position, count &- position)
            if length == 0 { return false }
            position &+= length
        }
        return true
    }

    /// Bytes of the well-formed multi-byte sequence at `start`; 0 when there is none.
    @inline(__always)
    static func sequenceLength(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int {
        let lead = start[0]
        guard count >= 2, lead >= 0xC2 else { return 0 }
        let second = start[1]
        if lead < 0xE0 { return second & 0xC0 == 0x80 ? 2 : 0 }
        guard count >= 3, start[2] & 0xC0 == 0x80 else { return 0 }
        if lead < 0xF0 {
            let lowest: UInt8 = lead == 0xE0 ? 0xA0 : 0x80
            let highest: UInt8 = lead == 0xED ? 0x9F : 0xBF
            return second >= lowest && second <= highest ? 3 : 0
        }
        guard lead <= 0xF4, count >= 4, start[3] & 0xC0 == 0x80 else { return 0 }
        let lowest: UInt8 = lead == 0xF0 ? 0x90 : 0x80
        let highest: UInt8 = lead == 0xF4 ? 0x8F : 0xBF
        return second >= lowest && second <= highest ? 4 : 0
    }

    /// Position of the first byte at or after `position` that a JSON string cannot hold as it is: a quote, a backslash or a control
    /// character; `end` when there is none. Eight bytes at a time; `sawHighBit` says whether UTF-8 is left to be checked.
    @inline(__always)
    static func nextSpecial(
        _ base: UnsafePointer<UInt8>,
        from start: Int,
        to end: Int,
        sawHighBit: inout Bool
    ) -> Int {
        var position = start
        var high: UInt64 = 0
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        while end &- position >= 8 {
            let word = UInt64(littleEndian: UnsafeRawPointer(base + position).loadUnaligned(as: UInt64.self))
            let quote = word ^ (ones &* 0x22)
            let backslash = word ^ (ones &* 0x5C)
            let stop =
                ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word) & tops
            if stop != 0 {
                // Borrows make false marks only above a true one, so the lowest mark is exact.
                let offset = stop.trailingZeroBitCount >> 3
                high |= offset == 0 ? 0 : word & tops & (~0 >> UInt64(64 &- offset &* 8))
                sawHighBit = sawHighBit || high != 0
                return position &+ offset
            }
            high |= word & tops
            position &+= 8
        }
        while position < end {
            let byte = base[position]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 { break }
            high |= UInt64(byte & 0x80)
            position &+= 1
        }
        sawHighBit = sawHighBit || high != 0
        return position
    }

    /// Percent-decodes; nil when a `%` is not followed by two hex digits.
    ///
    /// - Parameter plusIsSpace: as in `application/x-www-form-urlencoded` query strings.
    static func percentDecoded(_ bytes: UnsafeBufferPointer<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "%") {
                guard position + 2 < bytes.count, let high = hexDigit(bytes[position + 1]),
                    let low = hexDigit(bytes[position + 2])
                else { return nil }
                result.append(high << 4 | low)
                position += 3
            } else {
                result.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                position += 1
            }
        }
        return result
    }

    @inline(__always)
    static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: return byte - 48
        case 65...70: return byte - 55
        case 97...102: return byte - 87
        default: return nil
        }
    }

    /// Text for a message to a developer, cut off at 100 bytes so that input cannot blow up an answer.
    static func shown(_ bytes: some Collection<UInt8>) -> String {
        let text = String(decoding: bytes.prefix(100), as: UTF8.self)
        return bytes.count > 100 ? text + "…" : text
    }
}
