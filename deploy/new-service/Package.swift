// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("ExistentialAny"),
]

// StreakSnap's service kit.
KIT_DEPENDENCY

/// A product of it.
func kit(_ product: String) -> Target.Dependency { .product(name: product, package: "KIT_IDENTITY") }

let package = Package(
    name: "sample-name",
    platforms: [.macOS(.v14)],
    products: [.executable(name: "sample-name", targets: ["SampleNameMain"])],
    dependencies: [streaksnap],
    targets: [
        // Made from Proto/ by deploy/generate, never edited.
        .target(
            name: "SampleNameAPI",
            dependencies: [kit("ServiceKit")],
            path: "Generated/SampleNameAPI",
            swiftSettings: strict
        ),
        .target(
            name: "SampleNameService",
            dependencies: ["SampleNameAPI", kit("ServiceKit")],
            path: "Sources/Service",
            resources: [.embedInCode("Migrations")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "SampleNameMain",
            dependencies: ["SampleNameService", kit("ServiceKit")],
            path: "Sources/Main",
            swiftSettings: strict
        ),
        .testTarget(
            name: "SampleNameServiceTests",
            dependencies: ["SampleNameService", "SampleNameAPI", kit("ServiceKit"), kit("ServiceKitTesting")],
            path: "Tests/SampleNameServiceTests",
            swiftSettings: strict
        ),
    ]
)
