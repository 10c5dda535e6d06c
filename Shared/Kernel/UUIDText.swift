/// The text of a UUID, 8-4-4-4-12 hexadecimal digits. Not part of `ID`, so that no id's type makes code of its own.
public enum UUIDText {
    /// Bytes of the text.
    public static let length = 36

    /// The two halves of a UUID in either case; nil for any other text.
    ///
    /// - Parameter text: 36 bytes.
    public static func parse(_ text: UnsafePointer<UInt8>) -> (high: UInt64, low: UInt64)? {
        guard text[8] == 0x2D, text[13] == 0x2D, text[18] == 0x2D, text[23] == 0x2D else { return nil }
        // Every id of every request is read so: no branch a digit, and one look at the end whether all were digits.
        var wrong: UInt8 = 0
        let high = digits(text, 0..<8, &wrong) << 32 | digits(text, 9..<13, &wrong) << 16 | digits(text, 14..<18, &wrong)
        let low = digits(text, 19..<23, &wrong) << 48 | digits(text, 24..<36, &wrong)
        return wrong & 0xF0 == 0 ? (high, low) : nil
    }

    @inline(__always)
    private static func digits(_ text: UnsafePointer<UInt8>, _ range: Range<Int>, _ wrong: inout UInt8) -> UInt64 {
        var number: UInt64 = 0
        for position in range {
            let byte = text[position]
            let (digit, letter) = (byte &- 0x30, (byte | 0x20) &- 0x61)
            let value = digit < 10 ? digit : letter < 6 ? letter &+ 10 : 0xFF
            wrong |= value
            number = number << 4 | UInt64(value)
        }
        return number
    }

    /// Writes the text in lower case.
    ///
    /// - Parameter bytes: room for 36.
    public static func write(high: UInt64, low: UInt64, to bytes: UnsafeMutableRawBufferPointer) {
        let second = hexadecimal(UInt32(truncatingIfNeeded: high))
        let third = hexadecimal(UInt32(truncatingIfNeeded: low >> 32))
        bytes.storeBytes(of: hexadecimal(UInt32(truncatingIfNeeded: high >> 32)).bigEndian, toByteOffset: 0, as: UInt64.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: second >> 32).bigEndian, toByteOffset: 9, as: UInt32.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: second).bigEndian, toByteOffset: 14, as: UInt32.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: third >> 32).bigEndian, toByteOffset: 19, as: UInt32.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: third).bigEndian, toByteOffset: 24, as: UInt32.self)
        bytes.storeBytes(of: hexadecimal(UInt32(truncatingIfNeeded: low)).bigEndian, toByteOffset: 28, as: UInt64.self)
        (bytes[8], bytes[13], bytes[18], bytes[23]) = (0x2D, 0x2D, 0x2D, 0x2D)
    }

    /// The eight digits of a number, the first in the highest byte; all at once, because every id of every reply is written so.
    private static func hexadecimal(_ number: UInt32) -> UInt64 {
        var digits = UInt64(number)
        digits = (digits << 16 | digits) & 0x0000_FFFF_0000_FFFF
        digits = (digits << 8 | digits) & 0x00FF_00FF_00FF_00FF
        digits = (digits << 4 | digits) & 0x0F0F_0F0F_0F0F_0F0F
        // 6 more carries the digits from 10 on into the next half of their bytes.
        let isLetter = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return digits &+ 0x3030_3030_3030_3030 &+ isLetter &* 39
    }
}
