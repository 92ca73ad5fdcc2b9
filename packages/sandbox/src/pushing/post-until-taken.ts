import { setTimeout as pause } from 'node:timers/promises'

const RETRIES_MAX = 10
const RETRY_FIRST_MS = 200
const RETRY_MAX_MS = 10_000
const TIMEOUT_MS = 10_000

type MakeRequest = () => Request | Promise<Request>

/** Posts a notice until it is answered with success, as Pub/Sub and Graph do. Each attempt makes its request. */
export async function postUntilTaken(
  makeRequest: MakeRequest,
  delayMilliseconds: number,
  signal: AbortSignal,
): Promise<void> {
  const wait = (milliseconds: number): Promise<void> =>
    // It only rejects when the sandbox closes, which ends the loop.
    pause(milliseconds, undefined, { signal }).catch(() => {})
  if (delayMilliseconds > 0) await wait(delayMilliseconds)
  for (let attempt = 0; attempt <= RETRIES_MAX && !signal.aborted; attempt += 1) {
    if (await isTaken(makeRequest, signal)) return
    await wait(Math.min(RETRY_FIRST_MS * 2 ** attempt, RETRY_MAX_MS))
  }
}

async function isTaken(makeRequest: MakeRequest, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(await makeRequest(), {
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}
