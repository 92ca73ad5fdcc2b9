import { setTimeout as sleep } from 'node:timers/promises'
import type { RunClient } from './client-run.ts'

const AT_ONCE = 8
const MINUTE_MILLISECONDS = 60_000
/** Before and after the end of a window, requests come without a pause. */
const EDGE_MILLISECONDS = 2_000
const PAUSE_MILLISECONDS = [300, 1_200] as const

/** Sends requests to all processes at once: without a pause until a window is spent and around its end, otherwise rarely. */
export const spendWindows: RunClient = async ({ api, random, signal }) => {
  while (!signal.aborted) {
    const replies = await Promise.all(
      Array.from({ length: AT_ONCE }, () => api.send({ method: 'GET', path: '/v1/accounts' })),
    )
    const intoMinute = Date.now() % MINUTE_MILLISECONDS
    const isAtEdge = Math.min(intoMinute, MINUTE_MILLISECONDS - intoMinute) < EDGE_MILLISECONDS
    const isSpent = replies.some(({ status }) => status !== 200)
    const pause = isSpent && !isAtEdge ? random.between(...PAUSE_MILLISECONDS) : random.between(10, 60)
    await sleep(pause, null, { signal }).catch(() => {})
  }
}
