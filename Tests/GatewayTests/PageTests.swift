import Foundation
import TestSupport
import Testing

@testable import GatewayService

/// The pages for browsers, and what they are made of.
struct PageTests {
    private static func text(_ name: String) -> String { String(decoding: PageFiles.all[name] ?? [], as: UTF8.self) }

    private static func ask(_ path: String, _ headers: String = "") async throws -> RawReply {
        try await EchoGateway.shared.value.ask("GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(headers)\r\n")
    }

    @Test func `a page may load nothing from elsewhere, and no page may frame it`() async throws {
        let reply = try await Self.ask("/docs")
        #expect(reply.status == 200 && reply["Content-Type"] == "text/html; charset=utf-8", "\(reply)")
        let policy = try #require(reply["Content-Security-Policy"])
        let parts = policy.split(separator: ";").map { $0.split(separator: " ").map(String.init) }
        #expect(parts.contains(["default-src", "'none'"]) && parts.contains(["frame-ancestors", "'none'"]), "\(policy)")
        let sources = Set(parts.flatMap { $0.dropFirst() })
        #expect(sources == ["'none'", "'self'", "blob:", "data:"], "no inline code, no other server: \(policy)")
        #expect(reply["X-Content-Type-Options"] == "nosniff" && reply["Referrer-Policy"] == "no-referrer")
    }

    @Test func `a file that a browser has is not sent again`() async throws {
        let first = try await Self.ask("/pages/docs.js")
        #expect(first.status == 200 && first["Content-Type"] == "text/javascript; charset=utf-8", "\(first)")
        let tag = try #require(first["ETag"])
        #expect(first["Cache-Control"] == "no-cache")
        let second = try await Self.ask("/pages/docs.js", "If-None-Match: \(tag)\r\n")
        #expect(second.status == 304 && second["ETag"] == tag, "\(second)")
        #expect(try await Self.ask("/pages/docs.js", "If-None-Match: \"other\"\r\n").status == 200)
    }

    @Test func `without the development clock there is no demo and no map, nor anything only they need`() async throws {
        for path in [
            "/demo", "/pages/demo.js", "/pages/phone.js", "/pages/demo.css", "/map", "/pages/land.bin", "/pages/nothing.js",
            "/pages/", "/demo/",
        ] {
            #expect(try await Self.ask(path).status == 404, "\(path)")
        }
        let pages = PageRoutes(isDevelopment: true)
        for path in ["/demo", "/pages/demo.js", "/pages/phone.js", "/map", "/pages/land.bin", "/docs"] {
            #expect(pages.has(path), "\(path)")
        }
        #expect(!pages.has("/pages/nothing.js") && !pages.has("/pages/demo.html"))
    }

    @Test func `the root, and a page with a slash behind its name, lead to the page`() async throws {
        for (path, place) in [("/", "/docs"), ("/docs/", "/docs"), ("/admin/", "/admin")] {
            let reply = try await Self.ask(path)
            #expect(reply.status == 302 && reply["Location"] == place, "\(path): \(reply)")
        }
        let pages = PageRoutes(isDevelopment: true)
        #expect(pages.place(for: "/demo/") == "/demo")
        for path in ["/docs", "//", "/docs//", "/pages/docs.js/", "/api/"] { #expect(pages.place(for: path) == nil, "\(path)") }
    }

    @Test(arguments: [false, true])
    func `all that a page names is there, wherever the page is`(isDevelopment: Bool) throws {
        let pages = PageRoutes(isDevelopment: isDevelopment)
        var waiting = ["docs.html", "admin.html"] + (isDevelopment ? ["demo.html", "map.html"] : [])
        var seen = Set(waiting)
        while let name = waiting.popLast() {
            for match in Self.text(name).matches(of: /"(\/pages\/([a-z]+\.[a-z]+))"/) {
                #expect(pages.has(String(match.1)), "\(match.1) of \(name)")
                if seen.insert(String(match.2)).inserted { waiting.append(String(match.2)) }
            }
        }
        #expect(seen.count > (isDevelopment ? 28 : 17), "\(seen)")
    }

    @Test func `every file of the folder is in the program`() throws {
        let folder = URL(filePath: #filePath).appending(path: "../../../Services/Gateway/Pages/Files").standardized
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(PageFiles.all.keys.sorted() == files.sorted())
    }

    @Test func `no file names another server, or has code in the markup`() {
        #expect(PageFiles.all.count > 15)
        for name in PageFiles.all.keys.sorted() {
            let text = Self.text(name).replacing("http://www.w3.org/2000/svg", with: "")
            #expect(text.firstMatch(of: /(https?:)?\/\/[a-z0-9-]+\.[a-z]/) == nil, "\(name)")
            if name.hasSuffix(".html") {
                #expect(text.firstMatch(of: /<script(?![^>]*src=)| style=| on[a-z]+=|<style/) == nil, "\(name)")
            }
            #expect(text.firstMatch(of: /innerHTML|insertAdjacentHTML|document\.write|\beval\(/) == nil, "\(name)")
        }
    }
}
