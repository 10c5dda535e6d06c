import NotificationsService
import Runtime

await ServiceMain.run(NotificationsModule.self)
