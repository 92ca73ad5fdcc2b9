import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_AGAIN_MS = 20

/**
 * Calls `look` repeatedly until it returns something, and returns that. Throws after the limit, naming what was
 * awaited.
 */
export async function waitUntil<T>(
  awaited: string,
  look: () => Promise<T | null | undefined | false>,
  limitSeconds = 120,
): Promise<T> {
  const until = performance.now() + limitSeconds * 1_000
  for (;;) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
    if (performance.now() > until) throw new Error(`Waited ${limitSeconds} s in vain for ${awaited}`)
    await sleep(LOOK_AGAIN_MS)
  }
}
