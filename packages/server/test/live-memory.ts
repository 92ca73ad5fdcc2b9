import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const SAMPLE_MILLISECONDS = 250
const MEGABYTE = 1024 * 1024

/** Returns a function that collects the garbage, and then answers how many megabytes of memory are in use. */
export function liveMemory(): () => number {
  setFlagsFromString('--expose-gc')
  // A context that is made after the flag has the function.
  const collect = runInNewContext('gc') as () => void
  return () => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    return (heapUsed + external) / MEGABYTE
  }
}

/**
 * Does the work, and measures how much more memory was in use meanwhile, at most. Each sample is taken when the garbage
 * was collected, so it does not depend on when that happens otherwise.
 */
export async function measureLiveMemory<T>(work: () => Promise<T>): Promise<{ result: T; grownMb: number }> {
  const measure = liveMemory()
  const before = measure()
  let most = before
  const sampling = setInterval(() => (most = Math.max(most, measure())), SAMPLE_MILLISECONDS)
  try {
    const result = await work()
    return { result, grownMb: Math.max(most, measure()) - before }
  } finally {
    clearInterval(sampling)
  }
}
