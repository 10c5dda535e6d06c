import Foundation
import Testing

/// Rules for what is not Swift: the scripts of `deploy/`, and the C around the image library.
struct CommandTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `only deploy/build calls SwiftPM, in one environment`() throws {
        // A changed variable has SwiftPM evaluate the whole package again, and other options have it compile everything again.
        let scripts =
            [
                "dev", "building.sh", "build_progress.py", "check.py", "turns.sh", "test_times.py", "demo", "bench",
                "bench_settlement.py",
                "bench_live.py", "bench_habits.py",
                "bench_notifications.py", "bench_check_ins.py", "bench_database.py", "bench_http.py", "bench_places.py",
                "bench_writes.py", "generate", "package", "chaos_cluster.py", "chaos_load.py", "compare_protos.py",
                "new_service.py", "release", "zone_aliases.py",
            ].map {
                "deploy/\($0)"
            } + [
                ".ci/run"
            ]
        let violations = try scripts.flatMap { path in
            let text = try #require(tree.text(path), "\(path)")
            return Self.lines(of: text, matching: /swift['", ]+(build|run|test|package)\b/).map {
                Violation(path: path, line: $0, problem: "calls SwiftPM: call deploy/build")
            }
        }
        expectNone(violations, "What is tested is what runs, and a null build takes a second.")
        let build = try #require(tree.text("deploy/build"))
        #expect(build.contains("exec env -i "))
    }

    @Test func `threads in the image library are counted to the end of the process`() throws {
        let source = try #require(tree.text("Shared/CVips/cvips.c"))
        let violations = Self.ungated(source).map {
            Violation(path: "Shared/CVips/cvips.c", line: 1, problem: "\($0) calls the library without enter() or GATED")
        }
        expectNone(violations, "Destructors of the library run at the end of the process: a thread inside would crash.")
    }

    @Test func `finds what it forbids, and nothing else`() {
        let bad = """
            int cvips_one(void) { return lib.vips_one(); }
            int cvips_two(void) {
                lib.vips_two();
                return 0;
            }
            int cvips_width(void) { return lib.vips_image_get_width(); }
            int cvips_three(void) { GATED(int, lib.vips_three(), -1); }
            static int inner(void) { return lib.vips_four(); }
            """
        #expect(Self.ungated(bad) == ["cvips_one", "cvips_two"])
        #expect(
            Self.lines(of: "a\nswift build\nswift format\n[\"swift\", \"run\"]", matching: /swift['", ]+(build|run)\b/) == [2, 4]
        )
    }

    /// Functions for Swift that call more of the library than fields of an image, outside the gate.
    private static func ungated(_ source: String) -> [String] {
        let fields = /lib\.(vips_image_get_width|vips_image_get_height|vips_image_get_yoffset|vips_image_set_[a-z_]+|g_free)\b/
        var bodies: [(name: String, text: String)] = []
        var isInside = false
        for line in source.split(separator: "\n") {
            if let name = line.firstMatch(of: /^(?!static)[A-Za-z].*?\b(cvips_[a-z_]+)\(.*\{/)?.output.1 {
                bodies.append((String(name), String(line)))
                isInside = !line.hasSuffix("}")
            } else if isInside {
                bodies[bodies.count - 1].text += "\n" + line
                isInside = line != "}"
            }
        }
        // What starts the library does so before any thread is there.
        return bodies.filter { body in
            body.name != "cvips_start" && !body.text.contains("enter()") && !body.text.contains("GATED(")
                && body.text.replacing(fields, with: "").contains("lib.")
        }.map(\.name)
    }

    private static func lines(of text: String, matching pattern: some RegexComponent) -> [Int] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            line.firstMatch(of: pattern) != nil && !line.hasPrefix("#") ? index + 1 : nil
        }
    }
}
