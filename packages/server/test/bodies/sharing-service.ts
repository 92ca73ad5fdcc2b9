/** A program that runs the service like `waxwing serve`, but is quicker to share accounts and to take over from the dead. */
import { readProcessConfig } from '../../src/cli/connect.ts'
import { welcomeFirst } from '../../src/cli/first-start.ts'
import { openLog } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'

const config = readProcessConfig()
const log = openLog({ level: 'debug', format: 'json' })
await startService(config, {
  log,
  onRunning: (installation, baseUrl) => welcomeFirst(installation, baseUrl, { folder: config.dataDir, log }),
  isStrict: true,
  pace: {
    pollSeconds: 0.2,
    pulseSeconds: 0.2,
    share: { checkSeconds: 1, stepSeconds: 0.5, settleSeconds: 2 },
    lease: { leaseSeconds: 5, heartbeatSeconds: 1, answerSeconds: 2, fenceSeconds: 3.5 },
  },
})
