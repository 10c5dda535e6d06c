import MediaService
import Runtime

await ServiceMain.run(MediaModule.self)
