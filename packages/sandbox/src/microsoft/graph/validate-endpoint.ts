const TIMEOUT_MS = 10_000
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
