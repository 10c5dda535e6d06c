/// The text of a UUID, 8-4-4-4-12 hexadecimal digits. Not part of `ID`, so that no id's type makes code of its own.
public enum UUIDText {
    /// Bytes of the text.
    public static let length = 36

    /// The two halves of a UUID in either case; nil for any other text.
    ///
    /// - Parameter text: at least 36 bytes, or fewer with a zero after them: nothing behind the first wrong byte is read.
    public static func parse(_ text: UnsafePointer<UInt8>) -> (high: UInt64, low: UInt64)? {
        var (high, low) = (UInt64(0), UInt64(0))
        for position in 0..<length {
            let byte = text[position]
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let value = hexValue(byte) else { return nil }
                if position < 18 { high = high << 4 | value } else { low = low << 4 | value }
            }
        }
        return (high, low)
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

    private static func hexValue(_ byte: UInt8) -> UInt64? {
        switch byte {
        case 48...57: return UInt64(byte - 48)
        case 65...70: return UInt64(byte - 55)
        case 97...102: return UInt64(byte - 87)
        default: return nil
        }
    }
}
