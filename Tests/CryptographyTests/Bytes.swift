/// Bytes of hexadecimal digits; spaces and line breaks between them are passed over.
func bytes(_ digits: String) -> [UInt8] {
    let values = digits.compactMap(\.hexDigitValue)
    return stride(from: 0, to: values.count - 1, by: 2).map { UInt8(values[$0] * 16 + values[$0 + 1]) }
}

/// Lower-case hexadecimal digits.
func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { String(UInt32($0) + 256, radix: 16).dropFirst() }.joined() }
