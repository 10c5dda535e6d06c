import ArgumentParser
import Glibc
import Images
import Kernel
import Runtime

/// Makes a photo for trying things out: a real JPEG with a position in its EXIF, so that its removal can be seen.
struct Photo: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Make a sample photo.")

    @Argument(help: "The file to write; .png makes a PNG, anything else a JPEG.") var file: String
    @Option(help: "Each seed gives another picture.") var seed: UInt64 = 1
    @Option(help: "Pixels across.") var width = 1600
    @Option(help: "Pixels down.") var height = 1200

    func validate() throws {
        for (name, side) in [("--width", width), ("--height", height)] where !(1...10_000).contains(side) {
            throw ValidationError("\(name) must be from 1 to 10000, not \(side).")
        }
    }

    func run() throws {
        var photo = SamplePhoto(seed: seed, width: width, height: height)
        photo.location = (latitude: 52.52, longitude: 13.405)
        let bytes: [UInt8]
        do { bytes = try file.hasSuffix(".png") ? photo.png() : photo.jpeg() } catch {
            Console.error("streaksnap: \((error as? ServiceError)?.message ?? "\(error)")\n")
            throw ExitCode(1)
        }
        guard let output = fopen(file, "w"), fwrite(bytes, 1, bytes.count, output) == bytes.count, fclose(output) == 0 else {
            Console.error("streaksnap: \(file) cannot be written: \(String(cString: strerror(errno)))\n")
            throw ExitCode(1)
        }
    }
}
