import Foundation
import Transcoding

// Prints what transcoding costs: nanoseconds per message, best of several rounds, and the rate over the larger of the two forms.
//
//   swift run -c release transcoding-benchmark Tests/TranscodingTests/Fixtures/kitchen.binpb
//
// The descriptor must have streaksnap.kitchen.v1.

let name = "streaksnap.kitchen.v1."
let path = CommandLine.arguments.dropFirst().first ?? "Tests/TranscodingTests/Fixtures/kitchen.binpb"
let set = try DescriptorSet(serialized: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))

func measure(_ label: String, bytes: Int, rounds: Int = 7, _ body: () throws -> Int) throws {
    let clock = ContinuousClock()
    var best = Double.infinity
    var sum = 0
    let repetitions = max(20, 4_000_000 / max(bytes, 100))
    for _ in 0..<rounds {
        let start = clock.now
        for _ in 0..<repetitions { sum &+= try body() }
        let took = clock.now - start
        let (seconds, attoseconds) = took.components
        best = min(best, (Double(seconds) * 1e9 + Double(attoseconds) / 1e9) / Double(repetitions))
    }
    let padded = label + String(repeating: " ", count: max(1, 44 - label.count))
    print(padded, Int(best), "ns", Int(Double(bytes) / best * 1_000), "MB/s", sum == 0 ? "nothing" : "")
}

func compare(_ label: String, _ message: String, _ json: String) throws {
    guard let request = RequestTranscoder(set, message: name + message),
        let reply = ReplyTranscoder(set, message: name + message, bare: false)
    else { throw DescriptorMissing() }
    let body = Array(json.utf8)
    let wire = try request.transcode(body: body)
    guard case .json(let out) = try reply.transcode(wire, requestID: "0192f0c8-7b1a-7c3e-9d2f-0123456789ab") else { return }
    try measure("request \(label) (\(body.count) B JSON)", bytes: body.count) { try request.transcode(body: body).count }
    try measure("reply   \(label) (\(wire.count) B wire, \(out.count) B JSON)", bytes: out.count) {
        guard case .json(let bytes) = try reply.transcode(wire, requestID: "0192f0c8-7b1a-7c3e-9d2f-0123456789ab") else {
            return 0
        }
        return bytes.count
    }
}

struct DescriptorMissing: Error {}

let id = "0192f0c8-7b1a-7c3e-9d2f-0123456789ab"
let dish = #"{"dish_id":"\#(id)","message":"Your dish is served, enjoy it.","spice":"pepper","note":"Hot!"}"#
try compare("small", "DishReply", dish)
let dishes = #"{"dish_id":"\#(id)","message":"Served.","spice":"chili_powder","note":"no","meta":{"total":7}}"#
try compare("list of 5", "ListDishesReply", "{\"dishes\":[" + Array(repeating: dishes, count: 5).joined(separator: ",") + "]}")
try compare(
    "list of 100",
    "ListDishesReply",
    "{\"dishes\":[" + Array(repeating: dishes, count: 100).joined(separator: ",") + "]}"
)
try compare("long text", "DishReply", #"{"note":"\#(String(repeating: "All plain text. ", count: 6_000))"}"#)
try compare("text with accents", "DishReply", #"{"note":"\#(String(repeating: "déjà vu ", count: 9_000))"}"#)
try compare("integers", "Everything", #"{"ints":[\#((0..<20_000).map { String($0 * 37) }.joined(separator: ","))]}"#)
try compare(
    "every kind",
    "Everything",
    #"{"a_double":1.25,"an_int32":-5,"an_int64":123456789,"a_bool":true,"a_string":"hello world","#
        + #""a_spice":"pepper","a_time":"2026-01-02T03:04:05.678Z","ints":[1,2,3,4],"strings":["a","b","c"],"counts":{"a":1,"b":2}}"#
)

let table = RouteTable()
table.install(set, service: "kitchen")
try measure("match /api/dishes/{dish_id}", bytes: 100) {
    if case .found(_, let values) = table.match(method: "GET", path: "/api/dishes/\(id)") { return values.values.count }
    return 0
}
if case .found(let route, let values) = table.match(method: "GET", path: "/api/dishes/\(id)") {
    try measure("request of a path variable", bytes: 100) { try route.request.transcode(body: [], path: values).count }
    try measure("request of path and query", bytes: 100) {
        try route.request.transcode(body: [], path: values, query: "hot=true&sizes=1&name=abc").count
    }
}
