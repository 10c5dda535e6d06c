import NotificationsService
import Runtime
import ServiceRuntime

await ProgramMain.run(ServiceHost<NotificationsModule>.self)
