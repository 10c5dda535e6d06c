import Runtime
import ServiceRuntime
import StreaksService

await ProgramMain.run(ServiceHost<StreaksModule>.self)
