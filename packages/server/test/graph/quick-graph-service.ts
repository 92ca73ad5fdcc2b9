/**
 * A program that runs the service like `waxwing serve`, but with shorter times, strict checks of its answers, and a clock
 * that runs ahead, by which folders are soon asked for their links and listed again.
 */
import { neverOverloaded } from '../../src/door/overload.ts'
import { runService } from '../run-service.ts'

const CLOCK_SPEED = 60
const begunAt = Date.now()

await runService({
  isStrict: true,
  overload: neverOverloaded,
  pace: {
    pollSeconds: 0.2,
    pulseSeconds: 0.2,
    now: () => begunAt + (Date.now() - begunAt) * CLOCK_SPEED,
  },
})
