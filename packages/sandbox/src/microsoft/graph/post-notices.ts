const RETRIES_MAX = 10
const RETRY_FIRST_MS = 200
const RETRY_MAX_MS = 10_000
const TIMEOUT_MS = 10_000

/** Posts a body until it is taken, as Graph does with its notices. */
export async function postUntilTaken(
  url: string,
  body: string,
  delay: number,
  signal: AbortSignal,
): Promise<void> {
  if (delay > 0) await pause(delay, signal)
  for (let attempt = 0; attempt <= RETRIES_MAX && !signal.aborted; attempt += 1) {
    if (await posted(url, body, signal)) return
    await pause(Math.min(RETRY_FIRST_MS * 2 ** attempt, RETRY_MAX_MS), signal)
  }
}

async function posted(url: string, body: string, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

const ANSWER_BYTES_MAX = 64 * 1024

/** Whether an endpoint proves that it expects notices: it answers the token as plain text within ten seconds. */
export async function isValidated(url: string, token: string, signal: AbortSignal): Promise<boolean> {
  const asked = new URL(url)
  asked.searchParams.set('validationToken', token)
  try {
    const response = await fetch(asked, {
      method: 'POST',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    const text = await response.text()
    return (
      response.status === 200 &&
      /^text\/plain\b/i.test(response.headers.get('content-type') ?? '') &&
      text.length <= ANSWER_BYTES_MAX &&
      text === token
    )
  } catch {
    return false
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, milliseconds)
    signal.addEventListener('abort', done)
  })
}
