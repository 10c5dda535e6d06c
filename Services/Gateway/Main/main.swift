import GatewayService

await GatewayMain.run()
