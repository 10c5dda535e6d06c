import GatewayService
import Runtime

await ProgramMain.run(GatewayHost.self)
