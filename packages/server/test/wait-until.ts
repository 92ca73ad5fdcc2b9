import { setTimeout as sleep } from 'node:timers/promises'

/** Pauses grow with the time that was waited already, since most looks are calls of the service, which cost more than waiting. */
const LOOK_AGAIN_MS = { min: 20, max: 100 }
const SHARE_OF_WAIT = 0.1

/**
 * Calls `look` repeatedly until it returns something, and returns that. Throws after the limit, naming what was
 * awaited.
 */
export async function waitUntil<T>(
  awaited: string,
  look: () => Promise<T | null | undefined | false>,
  limitSeconds = 120,
): Promise<T> {
  const begun = performance.now()
  for (;;) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
    const waitedMs = performance.now() - begun
    if (waitedMs > limitSeconds * 1_000) throw new Error(`Waited ${limitSeconds} s in vain for ${awaited}`)
    await sleep(Math.min(Math.max(waitedMs * SHARE_OF_WAIT, LOOK_AGAIN_MS.min), LOOK_AGAIN_MS.max))
  }
}
