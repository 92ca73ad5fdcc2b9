/** A program that runs the service like `waxwing serve`, with the lease of production, but is quicker to share accounts. */
import { neverOverloaded } from '../../src/door/overload.ts'
import { openLog } from '../../src/kit/log.ts'
import { runService } from '../run-service.ts'

const service = await runService({
  log: openLog({ level: 'info', format: 'json' }),
  overload: neverOverloaded,
  pace: { share: { checkSeconds: 1, stepSeconds: 0.25, settleSeconds: 2 } },
})
process.once('SIGTERM', () => void service.stop().then(() => process.exit(0)))
