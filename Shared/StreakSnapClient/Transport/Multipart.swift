import Foundation

/// Writes multipart forms (RFC 7578). A form with a file of the device is written to a file of its own, chunk by chunk.
struct Multipart {
    let boundary: String
    let part: String
    let fields: [FormField]
    let file: UploadFile?

    var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// The form's body, and the file to delete after use.
    func body(in folder: URL) throws -> TransportBody {
        guard let file else { return .data(Data(head.utf8) + Data(tail.utf8)) }
        switch file.source {
        case .data(let data): return .data(Data((head + opening(file)).utf8) + data + Data(("\r\n" + tail).utf8))
        case .file(let source):
            do { return .file(try write(file, source, in: folder)) } catch let error as StreakSnapError { throw error } catch {
                throw StreakSnapError(kind: .file, message: "\(source.lastPathComponent) cannot be read: \(error)")
            }
        }
    }

    private func write(_ file: UploadFile, _ source: URL, in folder: URL) throws -> URL {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let target = folder.appendingPathComponent("upload-\(boundary)")
        guard FileManager.default.createFile(atPath: target.path, contents: nil) else {
            throw StreakSnapError(kind: .file, message: "No file can be made in \(folder.path).")
        }
        do {
            let (input, output) = (try FileHandle(forReadingFrom: source), try FileHandle(forWritingTo: target))
            defer {
                try? input.close()
                try? output.close()
            }
            try output.write(contentsOf: Data((head + opening(file)).utf8))
            while let chunk = try input.read(upToCount: 1 << 16), !chunk.isEmpty { try output.write(contentsOf: chunk) }
            try output.write(contentsOf: Data(("\r\n" + tail).utf8))
            return target
        } catch {
            try? FileManager.default.removeItem(at: target)
            throw error
        }
    }

    private var head: String {
        fields.map { "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quoted($0.name))\"\r\n\r\n\($0.value)\r\n" }
            .joined()
    }

    private func opening(_ file: UploadFile) -> String {
        """
        --\(boundary)\r\nContent-Disposition: form-data; name="\(Self.quoted(part))"; filename="\(Self.quoted(file.name))"\r
        Content-Type: \(file.contentType.filter { !$0.isNewline })\r\n\r\n
        """
    }

    private var tail: String { "--\(boundary)--\r\n" }

    private static func quoted(_ text: String) -> String {
        text.replacingOccurrences(of: "\"", with: "%22").replacingOccurrences(of: "\r", with: "%0D")
            .replacingOccurrences(of: "\n", with: "%0A")
    }
}
