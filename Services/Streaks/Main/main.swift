import Glibc
import Runtime
import StreaksReplay
import StreaksService

// `streaks declare-outage` and `streaks outages` are an operator's. `streaks replay FILE` plays a file of cases against the engine; everything else runs the service.
if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "replay" {
    let (output, exitCode) = CaseReplay().run(file: CommandLine.arguments[2])
    Console.out(output)
    exit(exitCode)
}
await StreaksCommands.runIfAsked()
await ServiceMain.run(StreaksModule.self)
