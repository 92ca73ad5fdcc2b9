import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_AGAIN_MS_MIN = 20
const LOOK_AGAIN_MS_MAX = 100
/** Looks cost the processor that the work needs, so they are rarer after a long wait: it grows by a tenth at most. */
const PAUSE_SHARE = 0.1

/**
 * Calls `look` repeatedly until it returns something, and returns that. Throws after the limit, naming what was
 * awaited.
 */
export async function waitUntil<T>(
  awaited: string,
  look: () => Promise<T | null | undefined | false>,
  limitSeconds = 120,
): Promise<T> {
  const since = performance.now()
  for (;;) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
    const waitedMs = performance.now() - since
    if (waitedMs > limitSeconds * 1_000) throw new Error(`Waited ${limitSeconds} s in vain for ${awaited}`)
    await sleep(Math.min(Math.max(waitedMs * PAUSE_SHARE, LOOK_AGAIN_MS_MIN), LOOK_AGAIN_MS_MAX))
  }
}
