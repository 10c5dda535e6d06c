import AuthService
import Runtime
import ServiceRuntime

await ProgramMain.run(ServiceHost<AuthModule>.self)
