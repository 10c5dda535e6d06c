import AuthService
import Runtime

await AuthCommands.runIfAsked()
await ServiceMain.run(AuthModule.self)
