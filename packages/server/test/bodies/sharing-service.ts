/** A program that runs the service like `waxwing serve`, but is quicker to share accounts and to take over from the dead. */
import { runService } from '../run-service.ts'

await runService({
  isStrict: true,
  pace: {
    pollSeconds: 0.2,
    pulseSeconds: 0.2,
    share: { checkSeconds: 1, stepSeconds: 0.5, settleSeconds: 2 },
    lease: { leaseSeconds: 5, heartbeatSeconds: 1, answerSeconds: 2, fenceSeconds: 3.5 },
  },
})
