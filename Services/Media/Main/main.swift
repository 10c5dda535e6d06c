import MediaService
import Runtime
import ServiceRuntime

await ProgramMain.run(ServiceHost<MediaModule>.self)
