import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Call } from '../world/calls.ts'
import type { Fault, FaultKind } from '../world/faults.ts'
import type { Ground } from '../world/ground.ts'
import type { Host } from '../world/provider.ts'
import type { HostApp } from './host-app.ts'

/** Faults that refuse a call before it takes effect; a part of a batch can have no others. */
const REFUSALS: readonly FaultKind[] = ['rate_limit', 'quota', 'unauthorized', 'error']

/** Milliseconds for which a fault `slow` holds an answer back by default. */
const PAUSE_MILLISECONDS = 1000

const SECRET_VALUE = /((?:^|&)(?:access_token|refresh_token|id_token|token|code|client_secret)=)[^&]*/g

/** The log of calls, and the faults that strike them. */
type Logged = Pick<Ground, 'calls' | 'faults'>

/** Answers one HTTP request to a host: logs it, and lets a fault strike it. */
export async function answerCall(
  ground: Logged,
  host: Host,
  app: HostApp,
  request: Request,
  env: HttpBindings,
): Promise<Response> {
  const call = beginCall(ground, host.name, request, null)
  const fault = ground.faults.strike(call)
  call.fault = fault?.does ?? null
  const { does } = fault ?? {}
  if (does === 'hang') return hang(env)
  if (fault && REFUSALS.includes(fault.does)) return finish(call, host.refuse(fault, host.name))
  if (fault && does === 'slow') await pause(fault, env)
  const response = await app.fetch(request, { ...env, call })
  if (does === 'lost') return cut(env)
  if (does === 'torn') return tear(finish(call, response), env)
  return finish(call, response)
}

/** Answers one part of a batch: a call of its own in the log, which a fault may refuse. */
export async function answerPart(
  ground: Logged,
  app: HostApp,
  request: Request,
  batch: Call,
  refuse: Host['refuse'],
): Promise<Response> {
  const call = beginCall(ground, batch.host, request, batch.id)
  const fault = ground.faults.strike(call, REFUSALS)
  call.fault = fault?.does ?? null
  return finish(call, fault ? refuse(fault, batch.host) : await app.fetch(request, { call }))
}

function beginCall({ calls }: Logged, host: string, request: Request, partOf: number | null): Call {
  const { pathname, search } = new URL(request.url)
  return calls.begin({
    host,
    method: request.method,
    path: pathname,
    query: withoutSecrets(search),
    partOf,
  })
}

function withoutSecrets(search: string): string {
  return search.slice(1).replaceAll(SECRET_VALUE, '$1hidden')
}

function finish(call: Call, response: Response): Response {
  call.status = response.status
  return response
}

function pause(fault: Fault, env: HttpBindings): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, fault.milliseconds ?? PAUSE_MILLISECONDS)
    env.outgoing.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Sends no answer until the client disconnects. */
function hang(env: HttpBindings): Promise<Response> {
  return new Promise(resolve => env.outgoing.once('close', () => resolve(RESPONSE_ALREADY_SENT)))
}

function cut(env: HttpBindings): Response {
  env.outgoing.destroy()
  return RESPONSE_ALREADY_SENT
}

/** Sends the head and half of the body, and ends the connection. */
async function tear(response: Response, env: HttpBindings): Promise<Response> {
  const body = Buffer.from(await response.arrayBuffer())
  env.outgoing.writeHead(response.status, {
    ...Object.fromEntries(response.headers),
    'content-length': Math.max(1, body.byteLength),
  })
  env.outgoing.write(body.subarray(0, body.byteLength >> 1), () => env.outgoing.destroy())
  return RESPONSE_ALREADY_SENT
}
