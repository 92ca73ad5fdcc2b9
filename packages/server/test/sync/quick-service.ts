/** A program that runs the service like `waxwing serve`, but with shorter times and strict checks of its answers. */
import { neverOverloaded } from '../../src/door/overload.ts'
import { runService } from '../run-service.ts'

const CLOCK_SPEED = 60

await runService({
  isStrict: true,
  overload: neverOverloaded,
  pace: { pollSeconds: 0.2, pulseSeconds: 0.2, now: () => Date.now() * CLOCK_SPEED },
})
