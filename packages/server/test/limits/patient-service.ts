/**
 * A program that runs the service like `waxwing serve`, but on a machine that does much else: it waits longer for the
 * store of REDIS_URL, and never takes itself to be overloaded.
 */
import { readProcessConfig } from '../../src/cli/connect.ts'
import { neverOverloaded } from '../../src/door/overload.ts'
import { openLog } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'

const STORE_ANSWER_MILLISECONDS = 10_000

await startService(readProcessConfig(), {
  log: openLog({ level: 'info', format: 'json' }),
  overload: neverOverloaded,
  pace: { storeAnswerMilliseconds: STORE_ANSWER_MILLISECONDS },
})
