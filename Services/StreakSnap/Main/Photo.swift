import Glibc
import Images
import Runtime

/// Makes a photo for trying things out: a real JPEG with a position in its EXIF, so that its removal can be seen.
enum Photo {
    static let command = ProgramCommand(
        "photo",
        words: "FILE",
        about: "makes a sample photo; .png makes a PNG, any other name a JPEG",
        settings: [seed, width, height]
    ) { words, settings in
        let file = words[0]
        var photo = SamplePhoto(
            seed: UInt64(try settings.get(seed)),
            width: try settings.get(width),
            height: try settings.get(height)
        )
        photo.location = (latitude: 52.52, longitude: 13.405)
        try write(file.hasSuffix(".png") ? try photo.png() : try photo.jpeg(), to: file)
        return .init("")
    }

    private static let seed = Setting(option: "seed", default: 1, in: 0...Int.max, help: "Each seed gives another picture.")
    private static let width = Setting(option: "width", default: 1600, in: 1...10_000, help: "Pixels across.")
    private static let height = Setting(option: "height", default: 1200, in: 1...10_000, help: "Pixels down.")

    private static func write(_ bytes: [UInt8], to file: String) throws {
        guard let output = fopen(file, "w"), fwrite(bytes, 1, bytes.count, output) == bytes.count, fclose(output) == 0 else {
            throw ProgramCommand.Failure("\(file) cannot be written: \(String(cString: strerror(errno)))")
        }
    }
}
