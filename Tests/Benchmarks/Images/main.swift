import FoundationEssentials
import Images
import Logging

// Prints how many photos a second can be made into their two renditions, and nothing else is done: what bounds uploads.
//
//   swift run -c release image-benchmark PHOTO [THREADS] [PHOTOS]

let arguments = CommandLine.arguments.dropFirst()
guard let path = arguments.first else {
    print("usage: image-benchmark PHOTO [THREADS] [PHOTOS]")
    throw CancellationError()
}
let threads = arguments.dropFirst().first.flatMap { Int($0) } ?? 2
let photos = arguments.dropFirst(2).first.flatMap { Int($0) } ?? 60
let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
let images = ImageProcessor(threads: threads, queueLimit: photos, logger: Logger(label: "image-benchmark"))
_ = try await images.renditions(of: bytes)

let start = ContinuousClock.now
try await withThrowingTaskGroup(of: Int.self) { group in
    for _ in 0..<photos { group.addTask { try await images.renditions(of: bytes).display.count } }
    try await group.waitForAll()
}
let (seconds, attoseconds) = (ContinuousClock.now - start).components
let took = Double(seconds) + Double(attoseconds) / 1e18
print("\(photos) photos of \(bytes.count) bytes on \(threads) threads: \((Double(photos) / took * 10).rounded() / 10) a second")
