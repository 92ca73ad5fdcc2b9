import type { HttpBindings } from '@hono/node-server'
import { type AnyProcedure, type AnyRouter, isProcedure } from '@orpc/server'
import openapiDocument from '@waxwing/contract/openapi.json' with { type: 'json' }
import type { OperationMeta } from '@waxwing/contract/operation.ts'
import { type Context, Hono } from 'hono'
import type { PublicRoute } from '../pages/public-route.ts'
import type { PushReceiver } from '../kit/push-receiver.ts'
import { isSameHost } from '../kit/link-base.ts'
import type { Logger } from '../kit/log.ts'
import type { SureWindows } from '../limits/windows.ts'
import {
  type AnswerHeaders,
  answerJson,
  answerProtocolError,
  answerReason,
  answerRefusal,
  headersFor,
} from './answer.ts'
import { type Client, clientAddresses } from './client-address.ts'
import { corsFor } from './cors.ts'
import type { Door } from '../door/open-operation.ts'
import { type LoadClass, loadClassOf } from '../door/load-class.ts'
import type { Overload } from '../door/overload.ts'
import { overloaded } from '../door/refusals.ts'
import { openLargeBodies } from './large-bodies.ts'
import { type ServeOperation, serveOperation } from './operation-route.ts'
import { answerNothing, createPublicRoutes, partsOf } from './public-routes.ts'
import { PushBodies, servePush } from './pushes.ts'
import { readParams } from './read-params.ts'
import { REFERENCE_PATHS, openReference } from './reference/files.ts'
import { answerFile, staticFile } from './reference/static-file.ts'
import { requestIdOf } from './request-id.ts'
import { NO_ROUTE, type ObserveAnswer } from './observe-answers.ts'

type Env = { Bindings: HttpBindings }
export type App = Hono<Env>

export interface AppOptions extends Door {
  /** The implemented contract: see `openWings`. */
  operations: AnyRouter
  corsOrigins: readonly string[]
  /** Addresses and CIDRs of the reverse proxies whose X-Forwarded-For is trusted. */
  trustProxy: readonly string[]
  /** Whether requests can be served: the database answers and the service is not shutting down. */
  isReady: () => Promise<boolean>
  overload: Overload
  /** Routes for people and their mail programs, without a credential. */
  publicRoutes?: readonly PublicRoute[]
  /** Receivers of the pushes of providers. */
  pushes?: readonly PushReceiver[]
  /** The host that serves links and nothing else; null if there is none. */
  linksHost?: string | null
  /** Windows of one minute, for what clients ask for without a credential. */
  publicWindows: SureWindows
  /** Aborts when the process stops: what waits or streams ends then. */
  stopping?: AbortSignal
  /** Called with each answer. */
  observe?: ObserveAnswer
}

type Serve = (
  context: Context<Env>,
  headers: AnswerHeaders,
  requestId: string,
) => Response | Promise<Response>
type Methods = Record<string, { serve: Serve; loadClass: LoadClass }>

/**
 * Serves over HTTP every operation of the contract, the OpenAPI document, its reference page and the health checks.
 * Checks request id, overload and route here, in this order; docs/ARCHITECTURE.md lists what follows.
 */
export function createApp(options: AppOptions): App {
  const app: App = new Hono()
  const cors = corsFor(options.corsOrigins)
  const { log } = options

  /**
   * Refuses a request before anything of it is read if the service is overloaded. Health checks report on the process,
   * so they pass.
   */
  function shed(route: string, loadClass: LoadClass, headers: AnswerHeaders): Response | null {
    if (route.startsWith('/health/') || !options.overload.isOverloaded(loadClass)) return null
    return answerRefusal(headers, overloaded())
  }

  /** Answers one request, whatever happens, with its id. Reports the answer to the observer. */
  async function exchange(context: Context<Env>, route: string, serve: Serve): Promise<Response> {
    const startedAt = performance.now()
    const { method, headers } = context.req.raw
    const requestId = requestIdOf(headers.get('x-request-id') ?? undefined)
    const answerHeaders = headersFor(requestId, cors.headersFor(headers.get('origin') ?? undefined))
    const answer = await answerOrFail(
      () => serve(context, answerHeaders, requestId),
      answerHeaders,
      log,
      requestId,
    )
    const seconds = (performance.now() - startedAt) / 1000
    options.observe?.({ requestId, method, route, status: answer.status, seconds })
    return answer
  }

  /** As `exchange`, of everything but links: refused on the host that serves only those, and while load is shed. */
  function exchangeApi(
    context: Context<Env>,
    route: string,
    { loadClass, serve }: Methods[string],
  ): Promise<Response> {
    const { linksHost = null } = options
    if (linksHost !== null && isSameHost(context.req.raw.headers.get('host'), linksHost))
      return exchange(context, NO_ROUTE, (_, headers) => answerNothing(headers))
    return exchange(
      context,
      route,
      (_, headers, requestId) => shed(route, loadClass, headers) ?? serve(context, headers, requestId),
    )
  }

  function addPath(path: string, methods: Methods) {
    const allowed = Object.keys(methods).flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    const serve: Serve = (context, headers, requestId) => {
      const { method } = context.req.raw
      const asked = methods[method === 'HEAD' ? 'GET' : method]
      if (asked) return asked.serve(context, headers, requestId)
      const preflight = path.startsWith('/v1/') ? cors.preflight(context.req.raw, allowed) : null
      if (preflight) return new Response(null, { status: 204, headers: { ...headers, ...preflight } })
      return answerProtocolError({ ...headers, allow: allowed.join(', ') }, 'method_not_allowed')
    }
    app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), context => {
      const { method } = context.req.raw
      // A request that asks whether it may write comes before a write.
      const unknown = method === 'OPTIONS' ? 'write' : 'read'
      const loadClass = methods[method === 'HEAD' ? 'GET' : method]?.loadClass ?? unknown
      return exchangeApi(context, path, { loadClass, serve })
    })
  }

  for (const [path, methods] of operationPaths(options)) addPath(path, methods)
  for (const [path, methods] of openPaths(options)) addPath(path, methods)
  addPublicRoutes(app, options, exchange)
  addPushes(app, options, exchange)
  app.notFound(context =>
    exchangeApi(
      context,
      NO_ROUTE,
      read((_, headers) => answerProtocolError(headers, 'not_found')),
    ),
  )
  return app
}

function addPublicRoutes(
  app: App,
  { publicRoutes = [], linksHost = null, trustProxy, publicWindows, log }: AppOptions,
  exchange: (context: Context<Env>, route: string, serve: Serve) => Promise<Response>,
) {
  const clientOf = readClients(trustProxy)
  const serveRoute = createPublicRoutes({ windows: publicWindows, log })
  for (const route of publicRoutes) {
    const servePublic = serveRoute(route)
    const serve: Serve = (context, _, requestId) => {
      const { req, env } = context
      // Scripts of other pages have no business with what they answer.
      const headers = headersFor(requestId, {})
      if (!route.isLink && linksHost !== null && isSameHost(req.raw.headers.get('host'), linksHost))
        return answerNothing(headers)
      const { incoming, outgoing } = env
      const segment = req.param('segment') ?? ''
      const client = clientOf(context)
      return servePublic({ request: req.raw, requestId, client, segment, headers, incoming, outgoing })
    }
    app.all(`${partsOf(route.path).prefix}:segment`, context => exchange(context, route.path, serve))
  }
}

/** Pushes are cheap, and a provider that is sent away comes again, so they are taken even while load is shed. */
function addPushes(
  app: App,
  { pushes = [], linksHost = null }: AppOptions,
  exchange: (context: Context<Env>, route: string, serve: Serve) => Promise<Response>,
) {
  const bodies = new PushBodies()
  for (const receiver of pushes) {
    const serve: Serve = ({ req, env }, _, requestId) => {
      const headers = headersFor(requestId, {})
      if (linksHost !== null && isSameHost(req.raw.headers.get('host'), linksHost))
        return answerNothing(headers)
      return servePush(receiver, bodies, {
        request: req.raw,
        headers,
        incoming: env.incoming,
        outgoing: env.outgoing,
      })
    }
    app.all(receiver.path, context => exchange(context, receiver.path, serve))
  }
}

const NO_PAGES =
  'This service has no documentation pages now: they were not made, or cannot be read.\nIn its clone, npm run docs makes them.\n'

/** Requests of one client in a minute for the document and the pages of the reference, each with a dozen files. */
const FILES_MAX = 1000

/** The paths of the interface that need no credential. */
function openPaths({
  isReady,
  trustProxy,
  publicWindows,
  log,
}: AppOptions): [path: string, methods: Methods][] {
  const clientOf = readClients(trustProxy)
  const bounded =
    (serve: Serve): Serve =>
    async (context, headers, requestId) => {
      const window = { name: `files:${clientOf(context).group}`, limit: FILES_MAX }
      const { isAccepted, resetSeconds } = await publicWindows.count([window])
      if (isAccepted) return serve(context, headers, requestId)
      return answerReason({ ...headers, 'retry-after': String(resetSeconds) }, 'rate_limited')
    }

  // The document never changes while the service runs, so it is serialized once.
  const openapi = staticFile(JSON.stringify(openapiDocument), { 'content-type': 'application/json' })
  const serveOpenapi: Serve = (context, headers) => answerFile(context.req.raw, headers, openapi)
  const reference = openReference(log)
  const serveReference: Serve = async ({ req }, headers) => {
    const file = await reference.find(new URL(req.url).pathname)
    if (file === 'no_pages')
      return new Response(NO_PAGES, {
        status: 404,
        headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' },
      })
    return file === 'no_file' ? answerProtocolError(headers, 'not_found') : answerFile(req.raw, headers, file)
  }
  const goToReference: Serve = (_, headers) =>
    new Response(null, { status: 302, headers: { ...headers, location: '/docs' } })
  const serveReadiness: Serve = async (_, headers) =>
    (await isReady())
      ? answerJson(headers, 200, { status: 'ok' })
      : answerJson(headers, 503, { status: 'unavailable' })
  return [
    ['/v1/openapi.json', { GET: read(bounded(serveOpenapi)) }],
    ['/', { GET: read(goToReference) }],
    ...REFERENCE_PATHS.map((path): [string, Methods] => [path, { GET: read(bounded(serveReference)) }]),
    ['/health/live', { GET: read((_, headers) => answerJson(headers, 200, { status: 'ok' })) }],
    ['/health/ready', { GET: read(serveReadiness) }],
  ]
}

function read(serve: Serve): Methods[string] {
  return { serve, loadClass: 'read' }
}

async function answerOrFail(
  serve: () => Response | Promise<Response>,
  headers: AnswerHeaders,
  log: Logger,
  requestId: string,
): Promise<Response> {
  try {
    return await serve()
  } catch (error) {
    log.error({ requestId, error }, 'A request failed')
    return answerReason(headers, 'internal_error')
  }
}

/** The client of a request, of which proxies may stand in front. */
function readClients(trustProxy: readonly string[]): (context: Context<Env>) => Client {
  const clientOf = clientAddresses(trustProxy)
  return ({ env, req }) =>
    clientOf(env.incoming.socket.remoteAddress, req.raw.headers.get('x-forwarded-for') ?? undefined)
}

function operationPaths(options: AppOptions): Map<string, Methods> {
  const clientOf = readClients(options.trustProxy)
  const { stopping = new AbortController().signal } = options
  const begin =
    (serve: ServeOperation): Serve =>
    (context, headers, requestId) =>
      serve({
        request: context.req.raw,
        requestId,
        client: clientOf(context),
        params: readParams(context.req.param()),
        headers,
        incoming: context.env.incoming,
        outgoing: context.env.outgoing,
        stopping,
      })

  const largeBodies = openLargeBodies()
  const paths = new Map<string, Methods>()
  for (const procedure of proceduresOf(options.operations)) {
    const meta: OperationMeta = procedure['~orpc'].meta
    const { path, method } = meta
    const methods = paths.get(path) ?? {}
    const serve = begin(serveOperation(procedure, options, largeBodies))
    methods[method] = { serve, loadClass: loadClassOf(meta) }
    paths.set(path, methods)
  }
  return paths
}

/** The procedures of a router, which nests them by section. */
function proceduresOf(router: AnyRouter): AnyProcedure[] {
  if (isProcedure(router)) return [router]
  // Anything other than a procedure is a router of procedures; lazy ones are not used here.
  return Object.values(router as Record<string, AnyRouter>).flatMap(proceduresOf)
}
