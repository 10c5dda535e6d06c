import Foundation
import Processes
import Testing

@testable import Images

/// What a real browser makes of a page.
struct Screenshot {
    private let raster: Raster
    var width: Int { raster.width }
    var height: Int { raster.height }

    /// Has headless Chromium show a page, and keeps the picture as `.run/artefacts/NAME.png`, to be looked at.
    ///
    /// - Parameter scriptTime: milliseconds by the clock of the page's scripts before the picture; requests do not count.
    init(of address: String, width: Int, height: Int, name: String, scriptTime: Int = 0) async throws {
        let file = URL(filePath: ".run/artefacts/\(name).png")
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try? FileManager.default.removeItem(at: file)
        let profile = FileManager.default.temporaryDirectory.appending(path: "browser-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: profile) }
        try #require(Command.find("chromium") != nil, "Chromium is missing; deploy/dev setup installs it")
        let browser = try await run(
            "chromium",
            [
                // Its sandbox needs rights that containers lack; the page is ours.
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                "--user-data-dir=\(profile.path)", "--window-size=\(width),\(height)", "--screenshot=\(file.path)",
            ] + (scriptTime > 0 ? ["--virtual-time-budget=\(scriptTime)"] : []) + [address]
        )
        try #require(FileManager.default.fileExists(atPath: file.path), "\(browser.status): \(browser.transcript)")
        try Vips.start()
        raster = try PosterPainter.decoded(Array(try Data(contentsOf: file)), within: 4_096).raster()
    }

    func pixel(_ x: Int, _ y: Int) -> (red: Int, green: Int, blue: Int) {
        let place = (y * width + x) * raster.bands
        return (Int(raster.pixels[place]), Int(raster.pixels[place + 1]), Int(raster.pixels[place + 2]))
    }

    /// How many of the pixels in these columns are of a kind.
    func count(columns: Range<Int>, _ isMeant: ((red: Int, green: Int, blue: Int)) -> Bool) -> Int {
        columns.reduce(0) { sum, x in sum + (0..<height).count { isMeant(pixel(x, $0)) } }
    }
}
