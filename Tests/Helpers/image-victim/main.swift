import FoundationEssentials
import Glibc
import Images
import Logging

// Ends while threads of the image library work, as a service does whose grace period is over: image-victim PHOTO ...

/// Registered before the library is loaded, so that it runs after the library's own destructors: a process may have more to do then.
nonisolated func takeTime() { usleep(300_000) }
atexit { takeTime() }

let photos = try CommandLine.arguments.dropFirst().map { [UInt8](try Data(contentsOf: URL(filePath: $0))) }
let logger = Logger(label: "image-victim") { _ in SwiftLogNoOpLogHandler() }
let images = ImageProcessor(threads: 6, queueLimit: 64, logger: logger)
let painter = PosterPainter(threads: 2, queueLimit: 64, logger: logger)
let poster = Poster(
    width: 300,
    height: 200,
    background: Poster.Gradient([Poster.Colour(0)]),
    layers: [.line(Poster.Line("Streak 🔥", font: "Inter Semi-Bold", size: 40, x: 150, y: .middle(100), width: 280))]
)

// Whatever is used has been used once: the library is whole.
for photo in photos { _ = try await images.renditions(of: photo) }
_ = try await painter.png(poster)
for number in 0..<12 {
    Task.detached {
        while true {
            _ = try? await images.renditions(of: photos[number % photos.count])
            if number < 2 { _ = try? await painter.png(poster) }
        }
    }
}
// Until some of it is under way.
for _ in 0..<photos.count { _ = try? await images.renditions(of: photos[0]) }
exit(7)
