import Foundation
import Processes
import TestSupport
import Testing

/// How fast the pages for browsers are.
struct PageTimingTests {
    @Test(arguments: ["/docs", "/demo"])
    func `a page can be used within a second`(path: String) async throws {
        let home = try await Installation.timeTravelling.value
        let python = try await PythonPackages.browser.value
        let arguments = [PythonPackages.file("Pages/speed.py"), "http://127.0.0.1:\(home.http.port)", path, "5"]
        let result = try await run(python, arguments, within: .seconds(300))
        let times = result.text.split(separator: "\n").compactMap { Int($0) }.sorted()
        try #require(result.status == 0 && times.count == 5, "\(result.transcript.suffix(4_000))")
        #expect(times[2] <= 1_000, "ms: \(times)")
    }
}
