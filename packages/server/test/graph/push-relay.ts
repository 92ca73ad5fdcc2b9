import { listen } from '../../../sandbox/src/hosting/listen.ts'

/** Milliseconds that a process has to answer a push. */
const ANSWER_MS = 10_000

/** An address for pushes that outlives the processes of the service. */
export interface PushRelay extends AsyncDisposable {
  readonly url: string
}

/** Passes what comes on to the process that `findAddress` names; answers 502 if there is none, if it is down, or if it is too slow. */
export async function startPushRelay(findAddress: () => string | undefined): Promise<PushRelay> {
  const listening = await listen(request => passOn(request, findAddress()), 0, '127.0.0.1')
  return {
    url: `http://127.0.0.1:${listening.port}`,
    [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose](),
  }
}

async function passOn(request: Request, address: string | undefined): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const headers = { 'content-type': request.headers.get('content-type') ?? '' }
  try {
    const body = await request.arrayBuffer()
    const answer = await fetch(new URL(pathname + search, address), {
      method: request.method,
      headers,
      body,
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    const type = { 'content-type': answer.headers.get('content-type') ?? '' }
    return new Response(await answer.arrayBuffer(), { status: answer.status, headers: type })
  } catch {
    return new Response(null, { status: 502 })
  }
}
