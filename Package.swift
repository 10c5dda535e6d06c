// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("ExistentialAny"),
]

/// A library of `Shared`.
func shared(_ name: String, _ needs: [Target.Dependency] = [], resources: [Resource]? = nil, not: [String] = []) -> Target {
    .target(name: name, dependencies: needs, path: "Shared/\(name)", exclude: not, resources: resources, swiftSettings: strict)
}

/// A C library of the system: a module map and a shim header.
func system(_ name: String, pkgConfig: String?, apt: String) -> Target {
    .systemLibrary(name: name, path: "Shared/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

/// A library that lies elsewhere.
func module(_ name: String, _ path: String, _ needs: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: needs, path: path, swiftSettings: strict)
}

/// The generated messages, server protocol and client of one proto package.
func contract(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    module(name, "Proto/Generated/\(name)", ["Kernel", "Wire", "Bus"] + dependencies)
}

/// One feature of a service (D14): a folder beside `Service/`, with tables of its own if it has any.
struct Feature {
    let name: String
    let dependencies: [Target.Dependency]
    let hasTables: Bool

    init(_ name: String, _ dependencies: [Target.Dependency], hasTables: Bool = true) {
        (self.name, self.dependencies, self.hasTables) = (name, dependencies, hasTables)
    }
}

/// The targets of a service: pure rules, what its features share (`core`; a single feature shares nothing), the features, the list of them,
/// its thin executable, and its tests, which see all of these and what else they use (`tested`).
func service(
    _ name: String,
    core: [Target.Dependency]? = nil,
    features: [Feature],
    list: [Target.Dependency] = [],
    tested: [Target.Dependency] = []
) -> [Target] {
    let common: [Target.Dependency] = ["Kernel", "Bus", "Database", "Outbox", "Runtime", "ServiceRuntime"]
    let api: [Target.Dependency] = [.byName(name: "\(name)Domain"), .byName(name: "\(name)API"), "Wire", "CommonAPI"]
    let parts = (core.map { [Feature("Core", $0)] } ?? []) + features
    func target(_ part: String, _ dependencies: [Target.Dependency], hasTables: Bool = false) -> Target {
        .target(
            name: name + part,
            dependencies: dependencies,
            path: "Services/\(name)/\(part)",
            resources: hasTables ? [.embedInCode("Migrations")] : nil,
            swiftSettings: strict
        )
    }
    return [target("Domain", ["Kernel"])]
        + parts.map { part in
            let core: [Target.Dependency] = core == nil || part.name == "Core" ? [] : [.byName(name: "\(name)Core")]
            return target(part.name, common + api + core + part.dependencies, hasTables: part.hasTables)
        } + [
            target("Service", common + api + parts.map { .byName(name: name + $0.name) } + list),
            .executableTarget(
                name: name.lowercased(),
                dependencies: [.byName(name: "\(name)Service"), "Runtime", "ServiceRuntime"],
                path: "Services/\(name)/Main",
                swiftSettings: strict
            ),
            tests(
                "\(name)ServiceTests",
                hosting + apis + (["Domain", "Service"] + parts.map(\.name)).map { .byName(name: name + $0) } + tested
            ),
        ]
}

/// One target of each service.
func all(_ part: String) -> [Target.Dependency] { serviceNames.map { .byName(name: $0 + part) } }
let serviceNames = ["Auth", "Social", "Streaks", "Media", "Notifications", "Billing"]

/// What a service of another repository is made of (deploy/docs/service-kit.md).
let kit = ["Kernel", "Wire", "Bus", "Database", "Outbox", "Replicas", "Runtime", "ServiceRuntime", "CommonAPI"]

/// The messages of all services, and the copies of facts that they keep of each other.
let apis: [Target.Dependency] = all("API") + ["CommonAPI", "Replicas"]

/// What tests of a service, or of what hosts one, need.
let hosting: [Target.Dependency] = [
    "Outbox", "Runtime", "ServiceRuntime", "Bus", "Database", "Kernel", "Wire", "TestSupport", "Processes",
    .product(name: "Logging", package: "swift-log"),
]

/// A program that tests or people start from the repository.
func program(_ name: String, _ path: String, exclude: [String] = [], _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: "Tests/\(path)", exclude: exclude, swiftSettings: strict)
}

/// A test target: what it tests is optimised, its own code only if it computes much, for that takes the compiler three times as long.
func tests(_ name: String, _ needs: [Target.Dependency], path: String? = nil, resources: [Resource]? = nil) -> Target {
    let flags = computing.contains { name == $0 + "Tests" } ? [] : ["-Onone"]
    let settings = strict + (flags.isEmpty ? [] : [.unsafeFlags(flags)])
    let path = path ?? "Tests/\(name)"
    return .testTarget(name: name, dependencies: needs, path: path, resources: resources, swiftSettings: settings)
}
let computing = ["Domain", "Images", "Kernel", "Tidy", "Transcoding", "Wire"]

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nio = ["NIOCore", "NIOPosix", "NIOHTTP1"].map { Target.Dependency.product(name: $0, package: "swift-nio") }
let blobs: [Target.Dependency] = ["BlobConfiguration", "BlobStore"]

let cLibraries: [Target] =
    [
        system("CNats", pkgConfig: "libnats", apt: "libnats-dev"),
        system("CPostgres", pkgConfig: "libpq", apt: "libpq-dev"),
        system("CProtobufC", pkgConfig: "libprotobuf-c", apt: "libprotobuf-c-dev"),
        system("CCrypt", pkgConfig: "libxcrypt", apt: "libcrypt-dev"),
        system("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
        system("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
        .target(name: "COpenSSL", path: "Shared/COpenSSL", linkerSettings: [.linkedLibrary("crypto")]),
        .target(name: "CVips", path: "Shared/CVips"), .target(name: "CBoundedProcess", path: "Shared/CBoundedProcess"),
        .target(
            name: "CPlaceNames",
            path: "Services/Media/PlaceData",
            exclude: ["README.md", "make.py", "outline.py", "place-names.bin"]
        ),
        .target(name: "CHashProcess", dependencies: ["CCrypt"], path: "Shared/CHashProcess"),
        .target(name: "CMessageLayouts", dependencies: ["CProtobufC"], path: "Shared/CMessageLayouts"),
    ] + ["CEpoll", "CMalloc", "CSpawn"].map { system($0, pkgConfig: nil, apt: "libc6-dev") }

/// Apps compile the client as they do their own code. Here only tests use it: for them it is not worth a fifteenth of the build to optimise it.
let client = shared("StreakSnapClient", not: ["README.md", "API.txt"])
if Context.environment["STREAKSNAP_CLIENT"] == "unoptimised" { client.swiftSettings?.append(.unsafeFlags(["-Onone"])) }

let sharedModules: [Target] = [
    shared("Kernel"), shared("Wire", ["Kernel", "CMessageLayouts", "CProtobufC"]), shared("Loop", ["CEpoll"]),
    shared("HTTPServer", ["Kernel"] + nio),
    shared("Bus", ["Kernel", "Wire", "Loop", "CNats", "Cryptography", logging]),
    shared("Database", ["Kernel", "Loop", "CPostgres", logging]),
    shared("Outbox", ["Kernel", "Wire", "Bus", "Database", logging], resources: [.embedInCode("Migrations")]),
    shared(
        "Replicas",
        ["Kernel", "Bus", "Database", "Outbox", "ServiceRuntime", "CommonAPI", "AuthAPI", "BillingAPI", "SocialAPI"],
        resources: [.embedInCode("Migrations")]
    ),
    shared("Runtime", ["Kernel", "Wire", "Loop", "Bus", "CMalloc", "Cryptography", "HTTPServer", logging] + nio),
    // Apart from Runtime: a gateway has no database.
    shared(
        "ServiceRuntime",
        ["Kernel", "Wire", "Loop", "Bus", "Database", "Outbox", "Runtime", "AuthAPI", "CommonAPI", logging, "Cryptography"],
        resources: [.embedInCode("Migrations")]
    ),
    shared("BlobStore", ["Kernel", "WorkPool", "OutgoingHTTP", "Cryptography", logging]),
    // Not in Runtime: only who stores blobs pays for libcurl.
    shared("BlobConfiguration", ["BlobStore", "Kernel", "Runtime", logging]),
    shared("Cryptography", ["COpenSSL"]), shared("WorkPool", ["Kernel"]), shared("Gzip", ["CZlib"]), shared("Zip", ["CZlib"]),
    shared("OutgoingHTTP", ["Kernel", "WorkPool", "CCurl"]), shared("OutgoingMail", ["Kernel", "WorkPool", "CCurl"]),
    shared("Images", ["Kernel", "WorkPool", "CVips", logging]),
    shared("Videos", ["Kernel", "WorkPool", "CBoundedProcess", "Cryptography", logging]),
    shared("Passwords", ["Kernel", "WorkPool", "CCrypt", "CHashProcess"]),
    shared("Tokens", ["Bus", "Kernel", "Cryptography"]),
    shared("Processes", ["CSpawn"]),
    shared("DevEnvironment", ["Kernel", "Processes", "Cryptography", logging]),
    shared("ServiceKit", kit.map { .byName(name: $0) }),
    shared("ServiceKitTesting", ["ServiceKit", "TestSupport", "DevEnvironment"]),
    client,
    shared("StreakSnapTesting", ["StreakSnapClient"], not: ["README.md", "python"]),
]

// Generated from Proto/, never edited.
let contracts: [Target] =
    [
        contract("CommonAPI"),
        .executableTarget(
            name: "protoc-gen-streaksnap",
            dependencies: ["Wire", "Cryptography"],
            path: "Proto/Generator/Plugin",
            swiftSettings: strict
        ),
    ] + (serviceNames + ["Testing"]).map { contract("\($0)API", ["CommonAPI"]) }

let services: [[Target]] = [
    service(
        "Auth",
        core: ["BillingAPI", "StreaksAPI", "Replicas"],
        features: [
            Feature(
                "Accounts",
                blobs + [
                    "BillingAPI", "NotificationsAPI", "SocialAPI", "StreaksAPI", "Passwords", "Tokens", "OutgoingHTTP",
                    "WorkPool", "Cryptography", logging,
                ]
            ),
            Feature("Profiles", ["MediaAPI", "StreaksAPI", "Replicas"], hasTables: false), Feature("Links", [], hasTables: false),
            Feature("Operations", [], hasTables: false),
        ],
        tested: [
            "GatewayService", "OutgoingHTTP", "Passwords", "Tokens", "HTTPServer", "Cryptography",
        ]
    ),
    service(
        "Social",
        core: ["AuthAPI", "Replicas"],
        features: [
            Feature("Friends", ["AuthAPI", "StreaksAPI", "Replicas"]), Feature("Safety", ["AuthAPI", "MediaAPI", "Replicas"]),
            Feature("Circles", ["AuthAPI", "Replicas"]),
        ],
        tested: ["Cryptography"]
    ),
    service(
        "Streaks",
        core: ["AuthAPI", "BillingAPI", "SocialAPI", "Replicas", logging],
        features: [
            Feature("Mutual", ["AuthAPI", "BillingAPI", "MediaAPI", "SocialAPI", "Replicas", logging]),
            Feature("Reminders", []), Feature("HabitFiles", blobs + ["Replicas", "WorkPool", "Zip", logging], hasTables: false),
            Feature("Leaderboards", ["SocialAPI", "Replicas"]), Feature("HabitReminders", ["NotificationsAPI", "Replicas"]),
            Feature("Goods", ["Replicas"], hasTables: false), Feature("HabitStatistics", ["Replicas"], hasTables: false),
            Feature("CheckIns", ["BillingAPI", "Replicas"]), Feature("Outages", [], hasTables: false),
            Feature("Progress", ["MediaAPI", "Replicas"]), Feature("Rewards", ["BillingAPI", "Replicas"]),
            Feature("Habits", ["MediaAPI", "Replicas"]), Feature("Teams", ["SocialAPI", "Replicas"]),
            Feature("PowerUps", ["Replicas"]), Feature("HabitSync", ["Replicas"]), Feature("Typed", ["MediaAPI", "Replicas"]),
            Feature("Prompts", ["Replicas"]), Feature("Inspector", ["Replicas"], hasTables: false),
            Feature("Analytics", ["BillingAPI", "MediaAPI", "NotificationsAPI"]),
        ],
        list: ["StreaksReplay"],
        tested: blobs + ["StreaksReplay", "HabitModel"]
    ),
    [module("StreaksReplay", "Services/Streaks/Replay", ["StreaksDomain", "Kernel"])],
    service(
        "Media",
        core: blobs + ["AuthAPI", "Images", "Videos", "Replicas", logging],
        features: [
            Feature(
                "Snaps",
                blobs + ["WorkPool", "SocialAPI", "StreaksAPI", "Images", "Replicas", "Cryptography", logging]
            ),
            Feature("Avatars", blobs + ["WorkPool", "Images", logging]),
            Feature("HabitPhotos", blobs + ["WorkPool", "StreaksAPI", "Images", logging]),
            Feature(
                "Places",
                blobs + [
                    "CPlaceNames", "WorkPool", "Images", "Videos", "Replicas", "SocialAPI", "OutgoingHTTP", "Cryptography",
                    logging,
                ]
            ),
            Feature("Cards", blobs + ["SocialAPI", "StreaksAPI", "Images", "Replicas", "Cryptography", logging]),
        ],
        list: blobs + [logging],
        tested: blobs + ["Images", "Videos", "OutgoingHTTP", "Cryptography", "PlaceModel"]
    ),
    service(
        "Notifications",
        core: ["AuthAPI", "BillingAPI", "SocialAPI", "Replicas", logging],
        features: [
            Feature("Log", ["AuthAPI", "BillingAPI", "SocialAPI", "StreaksAPI", "Replicas"], hasTables: false),
            Feature("Push", ["AuthAPI", "Replicas", "Gzip", "OutgoingHTTP", logging]),
            Feature("Mail", ["AuthAPI", "BillingAPI", "OutgoingMail", logging]), Feature("Live", ["StreaksAPI"]),
        ],
        tested: ["Gzip", "OutgoingHTTP", "OutgoingMail", "StreaksDomain", logging]
    ),
    service(
        "Billing",
        features: [Feature("Money", ["AuthAPI", "StreaksAPI", "OutgoingHTTP", "Cryptography", logging])],
        tested: ["OutgoingHTTP", "Cryptography"]
    ),
]

// The gateway compiles without any service's message types (D2).
let gateway: [Target] = [
    module("Transcoding", "Services/Gateway/Transcoding", ["Kernel"]),
    .target(name: "CPageFiles", path: "Services/Gateway/Pages", exclude: ["Files"]),
    .target(
        name: "GatewayService",
        dependencies: [
            "Transcoding", "CPageFiles", "Kernel", "Bus", "BlobConfiguration", "BlobStore", "Gzip", "Tokens", "Runtime",
            "Cryptography", "HTTPServer", logging,
        ] + nio,
        path: "Services/Gateway",
        exclude: ["Main", "Transcoding", "Pages", "README.md"],
        swiftSettings: strict
    ),
    .executableTarget(name: "gateway", dependencies: ["GatewayService"], path: "Services/Gateway/Main", swiftSettings: strict),
    .executableTarget(
        name: "streaksnap",
        dependencies: all("Service") + nio + [
            "GatewayService", "Runtime", "ServiceRuntime", "Outbox", "Tokens", "Bus", "Kernel", "DevEnvironment", "Images",
            "Database", "Gzip", "HTTPServer", "OutgoingHTTP", "Processes", "Cryptography", logging,
        ],
        path: "Services/StreakSnap/Main",
        swiftSettings: strict
    ),
]

let testTargets: [Target] = [
    .target(
        name: "TestSupport",
        dependencies: ["Kernel", "Database", "Processes", "Cryptography", logging],
        path: "Tests/Support",
        exclude: ["Expo", "Mail", "Manifests", "Media", "OpenAPI", "Pages", "Rekognition", "RevenueCat", "S3", "Scaling"],
        swiftSettings: strict
    ),
    module("HabitModel", "Tests/HabitModel", ["Kernel", "StreaksDomain"]),
    module("PlaceModel", "Tests/PlaceModel", ["Kernel", "MediaDomain"]),
    tests("KernelTests", ["Kernel", "Zip", "Processes", "TestSupport"]),
    tests("HTTPServerTests", ["HTTPServer", "Kernel", "TestSupport", .product(name: "NIOEmbedded", package: "swift-nio")] + nio),
    tests("WireTests", all("API") + ["Kernel", "Wire", "CommonAPI", "TestingAPI", "TestSupport", "Processes"]),
    tests("GeneratorTests", ["Bus", "Wire", "Kernel", "CommonAPI", "TestingAPI", "protoc-gen-streaksnap", "Processes"]),
    tests("BusTests", ["Bus", "CNats", "Loop", "Wire", "Kernel", "Processes", "TestSupport", logging]),
    tests("DatabaseTests", ["Database", "Loop", "Kernel", "TestSupport", logging]),
    tests("StreakSnapClientTests", ["StreakSnapClient", "StreakSnapTesting", "TestSupport"]),
    tests("ExampleAppTests", ["StreakSnapClient", "StreakSnapTesting"], path: "Tests/Examples/Swift"),
    tests("BlobStoreTests", hosting + blobs + nio + ["OutgoingHTTP", "HTTPServer", "Cryptography"]),
    tests("ImagesTests", ["Images", "Kernel", "Processes", "TestSupport", "image-victim", logging]),
    program("image-victim", "Helpers/image-victim", ["Images", logging]),
    tests("VideosTests", ["Videos", "CBoundedProcess", "Kernel", "Processes", "TestSupport", logging]),
    tests("PasswordsTests", ["Passwords", "Kernel", "TestSupport"]),
    tests("WorkPoolTests", ["WorkPool", "Kernel", "TestSupport"]),
    tests("DevEnvironmentTests", ["DevEnvironment", "Kernel", "Processes", logging]),
    tests("TranscodingTests", ["Transcoding", "Kernel", "Processes", "TestSupport"], resources: [.copy("Fixtures")]),
    tests(
        "StreaksDomainTests",
        ["StreaksDomain", "StreaksReplay", "HabitModel", "Kernel", "Processes", "TestSupport"],
        resources: [.copy("streak-cases.json"), .copy("model")]
    ),
    tests("TidyTests", ["Kernel", "Processes"]),
    tests(
        "EndToEndTests",
        apis + [
            "Bus", "Wire", "Kernel", "StreaksDomain", "TestingAPI", "DevEnvironment", "TestSupport", "Tokens", "Images",
            "Processes", "CPostgres", "StreakSnapClient", logging,
        ],
        resources: [.copy("Fixtures")]
    ),
    program("outbox-victim", "Helpers/outbox-victim", ["Outbox", "Bus", "Database", "Kernel", "Wire", logging]),
    program("guestbook", "Helpers/guestbook", hosting + ["TestingAPI"]),
    tests("OutboxTests", hosting + ["outbox-victim", "guestbook", "TestingAPI"]),
    tests(
        "RuntimeTests",
        hosting + ["Replicas", "AuthAPI", "BillingAPI", "SocialAPI", "CommonAPI", "Cryptography", "mutation-victim"]
    ),
    program("mutation-victim", "Helpers/mutation-victim", hosting),
    tests(
        "ChaosTests",
        ["Processes", "TestSupport", "chaos", "streaksnap", "auth", "social", "streaks", "media", "notifications", "billing"]
            + ["gateway"]
    ),
    tests("SoakTests", ["Processes", "TestSupport", "soak", "streaks", "billing"]),
    tests("CryptographyTests", ["Cryptography", "Kernel", "Processes", "TestSupport", "CMalloc", "exit-victim"]),
    program("exit-victim", "Helpers/exit-victim", ["Cryptography"]),
    tests("TokensTests", ["Tokens", "Kernel", "Processes", "TestSupport", "Cryptography", "CMalloc"]),
    tests("PersonalDataTests", all("Service") + ["Outbox", "ServiceRuntime", "Database", "TestSupport"]),
    tests("OutgoingHTTPTests", ["OutgoingHTTP", "Kernel", "HTTPServer"] + nio),
    tests("OutgoingMailTests", ["OutgoingMail", "Kernel", "Processes", "TestSupport"]),
    tests(
        "GatewayTests",
        [
            "GatewayService", "Transcoding", "BlobStore", "Gzip", "Tokens", "Runtime", "Bus", "Kernel",
            "HTTPServer", "Processes", "TestSupport", "Cryptography", "DevEnvironment", logging,
            .product(name: "NIOEmbedded", package: "swift-nio"),
        ] + nio,
        resources: [.copy("Fixtures")]
    ),
    tests("DomainTests", all("Domain") + ["CPlaceNames", "Kernel", "TestSupport"]),
    program(
        "soak",
        "Soak",
        exclude: ["Plan"],
        apis + ["DevEnvironment", "Runtime", "Outbox", "Bus", "Wire", "Kernel", "Processes", logging]
    ),
    program(
        "chaos",
        "Chaos",
        ["Database", "DevEnvironment", "Images", "Kernel", "OutgoingHTTP", "Processes", "Runtime", logging]
    ),
    program("bus-benchmark", "Benchmarks/Bus", ["Bus", "Kernel", "Loop", "CNats", "Processes", "TestSupport", logging]),
    program("database-benchmark", "Benchmarks/Database", ["Database", "Kernel", "Processes", "TestSupport", logging]),
    program("transcoding-benchmark", "Benchmarks/Transcoding", ["Transcoding"]),
    program("image-benchmark", "Benchmarks/Images", ["Images", logging]),
    program("leaderboard-benchmark", "Benchmarks/Leaderboard", ["StreaksDomain", "Database", "Kernel", "TestSupport"]),
]

let package = Package(
    name: "streaksnap",
    platforms: [.macOS(.v14), .iOS(.v17), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
    products: [
        .executable(name: "streaksnap", targets: ["streaksnap"]),
        .library(name: "StreakSnapClient", targets: ["StreakSnapClient"]),
        .library(name: "StreakSnapTesting", targets: ["StreakSnapTesting"]),
        .library(name: "ServiceKit", targets: ["ServiceKit"] + kit + serviceNames.map { $0 + "API" }),
        .library(name: "ServiceKitTesting", targets: ["ServiceKitTesting", "TestSupport"]),
        .executable(name: "protoc-gen-streaksnap", targets: ["protoc-gen-streaksnap"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    ],
    targets: cLibraries + sharedModules + contracts + services.flatMap { $0 } + gateway + testTargets
)
