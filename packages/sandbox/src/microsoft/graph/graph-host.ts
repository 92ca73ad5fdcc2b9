import { randomUUID } from 'node:crypto'
import { type Context, Hono } from 'hono'
import { answerPart } from '../../hosting/answer-call.ts'
import type { HostApp, HostEnv } from '../../hosting/host-app.ts'
import type { Cloud } from '../clouds.ts'
import { microsoftFault } from '../faults.ts'
import type { MicrosoftGround } from '../ground.ts'
import { authenticate, type GraphCaller, requireCallingUser, requireOwner } from './authenticate.ts'
import { serveBatch } from './batch.ts'
import { errorResponse, GraphRefusal, unknownSegment } from './errors.ts'
import type { GraphMail } from './mail.ts'
import { readProfile, userInfo } from './me.ts'
import type { Watching } from './watching.ts'

type HostContext = Context<HostEnv>

/** Plays Graph of a cloud: checks tokens, finds the mailbox of a path, and hands it the call. */
export function graphHost(
  ground: MicrosoftGround,
  mail: GraphMail,
  watching: Pick<Watching, 'serve'>,
  cloud: Cloud,
): HostApp {
  const app: HostApp = new Hono<HostEnv>()
  const { clock } = ground
  const random = ground.random.stream(`batches of ${cloud.name}`)

  /** Answers a call whose token is good. A refusal that `serve` throws becomes the answer. */
  const answer =
    (serve: (context: HostContext, caller: GraphCaller) => object | Promise<object>) =>
    async (context: HostContext): Promise<Response> => {
      const { req, env } = context
      const ids = { requestId: randomUUID(), clientRequestId: req.header('client-request-id') ?? null }
      try {
        const answered = await serve(context, authenticate(ground, cloud, req.raw, env.call))
        const response = answered instanceof Response ? answered : context.json(answered)
        return withIds(response, ids)
      } catch (error) {
        if (!(error instanceof GraphRefusal)) throw error
        return withIds(errorResponse(error, { at: clock.now(), ...ids }), ids)
      }
    }

  app.get(
    '/oidc/userinfo',
    answer((_, caller) => userInfo(requireCallingUser(caller))),
  )
  app.get(
    '/v1.0/me',
    answer(({ req }, caller) => readProfile(ground, caller, requireCallingUser(caller), new URL(req.url))),
  )
  app.get(
    '/v1.0/users/:id',
    answer(({ req }, caller) => readProfile(ground, caller, req.param('id') ?? '', new URL(req.url))),
  )
  app.post(
    '/v1.0/$batch',
    answer(({ req, env }) =>
      serveBatch(req.raw, part => answerPart(ground, app, part, env.call, microsoftFault), random),
    ),
  )
  for (const path of ['/v1.0/subscriptions', '/v1.0/subscriptions/*'])
    app.all(
      path,
      answer(({ req }, caller) =>
        watching.serve(caller, req.path.slice('/v1.0/subscriptions/'.length), req.raw),
      ),
    )
  app.all(
    '/v1.0/*',
    answer(({ req }, caller) => {
      const { pathname } = new URL(req.url)
      const { name, path } = mailboxIn(pathname)
      return mail.serve(caller, requireOwner(ground, caller, name), path, req.raw)
    }),
  )
  app.notFound(
    answer(({ req }) => {
      throw unknownSegment(req.path.split('/').find(Boolean) ?? '')
    }),
  )
  return app
}

const MAILBOX = /^\/v1\.0\/(?:me|users(?:\/([^/]+)|\('([^/']+)'\)))\/(.+)$/

/** `me`, or the id or address of a user, and the path below. */
function mailboxIn(pathname: string): { name: string; path: string } {
  const [, slashed, keyed, path] = MAILBOX.exec(pathname) ?? []
  if (path === undefined) throw unknownSegment(pathname.split('/')[2] ?? '')
  const id = slashed ?? keyed
  return { name: id === undefined ? 'me' : decodeSegment(id), path }
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw unknownSegment(segment)
  }
}

/** Adds the id of the request, and the id that the client gave it. */
function withIds(
  response: Response,
  { requestId, clientRequestId }: { requestId: string; clientRequestId: string | null },
): Response {
  if (!response.headers.has('request-id')) response.headers.set('request-id', requestId)
  response.headers.set(
    'client-request-id',
    clientRequestId ?? response.headers.get('request-id') ?? requestId,
  )
  return response
}
