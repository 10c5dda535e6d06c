import ArgumentParser
import FoundationEssentials
import Images

/// Makes a photo for trying things out: a real JPEG with a position in its EXIF, so that its removal can be seen.
struct Photo: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Make a sample photo.")

    @Argument(help: "The file to write; .png makes a PNG, anything else a JPEG.") var file: String
    @Option(help: "Each seed gives another picture.") var seed: UInt64 = 1
    @Option(help: "Pixels across.") var width = 1600
    @Option(help: "Pixels down.") var height = 1200

    func run() throws {
        var photo = SamplePhoto(seed: seed, width: width, height: height)
        photo.location = (latitude: 52.52, longitude: 13.405)
        try Data(file.hasSuffix(".png") ? photo.png() : photo.jpeg()).write(to: URL(filePath: file))
    }
}
