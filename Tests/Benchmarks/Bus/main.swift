// The bus against nats.c itself: echo RPC of 200 bytes with three headers, one and 64 in flight, in one run.
//
//   bus-benchmark [seconds]        starts a private nats-server and a responder process, measures, prints a table
//   bus-benchmark responder URL    answers: the bus service on rpc.bench.v1.Echo, a plain nats.c handler on raw.echo

import Glibc

let arguments = CommandLine.arguments
if arguments.count == 3, arguments[1] == "responder" {
    try await Responder.run(url: arguments[2])
} else {
    try await Benchmark.run(seconds: arguments.count > 1 ? Double(arguments[1]) ?? 3 : 3)
}
exit(0)
