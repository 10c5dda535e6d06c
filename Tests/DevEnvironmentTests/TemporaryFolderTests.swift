import Foundation
import Processes
import Testing

@Suite struct TemporaryFolderTests {
    @Test func `is a new one each time, open to whom it was made for`() throws {
        let parent = try makeTemporaryFolder("parent-")
        defer { try? FileManager.default.removeItem(atPath: parent) }
        let folders = [
            try makeTemporaryFolder("own-", in: parent), try makeTemporaryFolder("own-", in: parent),
            try makeTemporaryFolder("open-", in: parent, mode: 0o755),
        ]
        #expect(Set(folders).count == 3 && folders.allSatisfy { $0.hasPrefix(parent + "/") })
        let modes = try folders.map { try FileManager.default.attributesOfItem(atPath: $0)[.posixPermissions] as? Int }
        #expect(modes == [0o700, 0o700, 0o755])
    }

    @Test func `says where it cannot be made`() {
        let error = #expect(throws: ProcessError.self) { try makeTemporaryFolder("x-", in: "/nowhere") }
        #expect(error?.description.contains("/nowhere: No such file") == true)
    }
}
