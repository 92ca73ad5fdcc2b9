import { totalmem } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The memory of this process, which its container ends if it uses more than the limit. */
export interface OwnMemory {
  bytesMax: number
  /** What is in use now. */
  bytes(): number
}

/** Null if nothing limits the memory of this process. */
export function ownMemory(): OwnMemory | null {
  const bytesMax = process.constrainedMemory()
  // Without a limit it is 0, or much more than the machine has.
  return bytesMax > 0 && bytesMax < totalmem() ? { bytesMax, bytes: () => process.memoryUsage.rss() } : null
}

/** Collects all garbage, which stops the process for some tenths of a second. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  // Only a context that is made after the flag was set has the function.
  const collect: () => void = runInNewContext('gc')
  collect()
}
