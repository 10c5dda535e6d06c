import Runtime
import ServiceRuntime
import SocialService

await ProgramMain.run(ServiceHost<SocialModule>.self)
