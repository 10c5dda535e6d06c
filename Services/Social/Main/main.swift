import Runtime
import SocialService

await ServiceMain.run(SocialModule.self)
