import MediaService
import Runtime

await MediaCommands.runIfAsked()
await ServiceMain.run(MediaModule.self)
