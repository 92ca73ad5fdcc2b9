/**
 * A program that runs `waxwing serve`, but takes a password that is refused to be wrong after 5 seconds in place of ten
 * minutes, for which no run lasts long enough.
 */
import { serve } from '../../src/cli/serve.ts'

await serve({ refusalSeconds: 5 })
