import { createServer } from 'node:net'
import type { Config } from '../../config.ts'
import { type Finding, ok, warning, wrong } from './finding.ts'

const ANSWER_SECONDS = 3

/** The id of the installation: `new` before its first start, null if its database does not reveal it. */
export type OwnId = string | 'new' | null

/**
 * Whether the service of this installation runs on this machine, according to its metrics port; if it does not run,
 * whether its ports are free.
 */
export async function checkService(config: Config, ownId: OwnId): Promise<Finding[]> {
  const { metricsHost, metricsPort, host, port, roles } = config
  const metrics = metricsPort === 0 ? 'free' : await lookAt(metricsHost, metricsPort)
  if (typeof metrics === 'object' && isOurs(metrics, ownId))
    return [await describeOurs(originOf(metricsHost, metricsPort))]
  const api = port === 0 || !roles.includes('api') ? 'free' : await lookAt(host, port)
  // Our own service would have answered on the other port, if it has one.
  const findings = [
    ...describePort('WAXWING_METRICS_PORT', `${metricsHost}:${metricsPort}`, metrics, ownId),
    ...describePort('WAXWING_PORT', `${host}:${port}`, api, metricsPort === 0 ? null : ownId),
  ]
  if (findings.length > 0) return findings
  return [ok('service', 'Does not run on this machine now, and its ports are free.')]
}

/**
 * The holder of a port: a Waxwing service with the id of its installation (null if unknown), or another program.
 */
type Holder = 'free' | 'foreign' | 'refused' | { id: string | null }

async function lookAt(host: string, port: number): Promise<Holder> {
  const state = await tryListening(host, port)
  if (state !== 'held') return state
  const origin = originOf(host, port)
  const told = await ask(`${origin}/installation`)
  if (typeof told?.id === 'string') return { id: told.id }
  const health = await ask(`${origin}/health/live`)
  return health?.status === 'ok' ? { id: null } : 'foreign'
}

/** The origin by which a program on this machine reaches a server that listens on this host and port. */
function originOf(host: string, port: number): string {
  const address = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}

/** Listens briefly, without serving anyone. */
async function tryListening(host: string, port: number): Promise<'free' | 'held' | 'refused'> {
  const server = createServer()
  return new Promise(resolve => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'EADDRINUSE' ? 'held' : 'refused'),
    )
    server.listen(port, host, () => server.close(() => resolve('free')))
  })
}

/** Null if the answer is not a JSON object. */
async function ask(url: string): Promise<{ id?: unknown; status?: unknown } | null> {
  const signal = AbortSignal.timeout(ANSWER_SECONDS * 1000)
  try {
    const answer = await fetch(url, { signal, redirect: 'manual' })
    const body: unknown = await answer.json()
    return typeof body === 'object' ? body : null
  } catch {
    return null
  }
}

function isOurs({ id }: { id: string | null }, ownId: OwnId): boolean {
  return id !== null && id === ownId
}

async function describeOurs(origin: string): Promise<Finding> {
  const health = await ask(`${origin}/health/ready`)
  if (health?.status === 'ok') return ok('service', 'Runs on this machine, and is ready.')
  return warning('service', 'Runs on this machine, but is not ready.', 'Its log says why.')
}

function describePort(setting: string, name: string, holder: Holder, ownId: OwnId): Finding[] {
  if (holder === 'free') return []
  const remedy = `Stop it, or set ${setting} to a free port.`
  if (holder === 'foreign') return [wrong('service', `${name} is used by another program.`, remedy)]
  if (holder === 'refused') {
    return [
      wrong('service', `This user may not listen on ${name}.`, `Set ${setting} or WAXWING_HOST to another.`),
    ]
  }
  if (ownId !== null)
    return [wrong('service', `${name} is used by the Waxwing service of another installation.`, remedy)]
  return [
    warning(
      'service',
      `A Waxwing service answers on ${name}. It cannot be determined whether it belongs to this installation.`,
    ),
  ]
}
