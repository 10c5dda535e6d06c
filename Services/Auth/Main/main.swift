import AuthService
import Runtime

await ServiceMain.run(AuthModule.self)
