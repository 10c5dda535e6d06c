import Foundation
import Processes
import Testing

/// What every process pays for in memory, whether it uses it or not.
struct LinkageTests {
    static let services = ["gateway", "auth", "social", "streaks", "media", "notifications", "billing"]

    @Test(arguments: services) func `No service loads the whole of Foundation, whose ICU alone has 40 MB`(service: String)
        async throws
    {
        let libraries = try await libraries(of: service)
        #expect(libraries.contains("libFoundationEssentials.so"))
        for library in ["libFoundation.so", "libFoundationInternationalization.so", "lib_FoundationICU.so"] {
            #expect(!libraries.contains(library), "\(service) loads \(library)")
        }
    }

    /// The libraries that starting an executable loads, with those they need.
    private func libraries(of executable: String) async throws -> Set<String> {
        let result = try await run("ldd", [Installation.binaries.appending(path: executable).path])
        try #require(result.status == 0, "\(result.errors)")
        return Set(
            result.text.split(separator: "\n").compactMap { line in
                line.split(whereSeparator: \.isWhitespace).first.map(String.init)
            }
        )
    }
}
