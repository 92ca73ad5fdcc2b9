import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import type { Database } from '../../database/pool.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { connectTo } from '../../kit/egress/connect.ts'
import {
  EgressRefused,
  EgressUnresolved,
  type EgressGuard,
  type EgressKind,
  egressGuard,
} from '../../kit/egress/guard.ts'
import { type Finding, ok, warning, wordsOf, wrong } from './finding.ts'

export interface Target {
  host: string
  port: number
}

const CONNECT_SECONDS = 10
const SERVERS_MAX = 50
/** A host that `GET /v1/autoconfig` asks: a public name that the service really needs. */
const PUBLIC_NAME = 'autoconfig.thunderbird.net'
const KINDS: Record<number, EgressKind> = { 25: 'smtp', 465: 'smtp', 587: 'smtp', 443: 'https' }

/**
 * Whether names resolve and the guard allows outgoing connections. Connects only to the targets in `connect`.
 */
export async function checkEgress(
  config: Config,
  database: Database | null,
  connect: Target[],
): Promise<Finding[]> {
  const guard = egressGuard({ allow: parseEgressAllow(config.egressAllow) })
  const findings: Finding[] = []
  for (const target of connect) findings.push(await tryConnection(guard, target))
  if (connect.length > 0) return findings
  const known = database && (await hasAccounts(database)) ? database : null
  const servers = known ? await listServers(known) : []
  const davServers = known ? await listDavServers(known) : []
  const refused = await Promise.all([
    ...servers.map(server => checkServer(guard, server)),
    ...davServers.map(server => checkServer(guard, server, 'https')),
  ])
  return [await checkResolving(guard), ...refused.filter(finding => finding !== null)]
}

async function checkResolving(guard: EgressGuard): Promise<Finding> {
  try {
    const { addresses } = await guard.resolve({ host: PUBLIC_NAME, port: 443, kind: 'https' })
    return ok('egress', `${PUBLIC_NAME} resolves to ${addresses[0]}. No connection was made.`)
  } catch (error) {
    return warning(
      'egress',
      detailOf(error),
      'Check the DNS of this machine (/etc/resolv.conf), unless it should reach private mail servers only.',
    )
  }
}

async function hasAccounts({ db }: Database): Promise<boolean> {
  const { rows } = await sql<{
    exists: boolean
  }>`select to_regclass('account') is not null as exists`.execute(db)
  return rows[0]?.exists ?? false
}

/** The mail servers of accounts, the most used first. */
async function listServers(database: Database): Promise<Target[]> {
  const { rows } = await sql<Target>`
    select server ->> 'host' as host, (server ->> 'port')::integer as port
    from account, unnest(array[imap -> 'imap', imap -> 'smtp']) as server
    where deleted_at is null and jsonb_typeof(server) = 'object'
    group by 1, 2 order by count(*) desc, 1, 2 limit ${SERVERS_MAX}`.execute(database.db)
  return rows
}

/** The DAV servers of accounts, the most used first. */
async function listDavServers({ db }: Database): Promise<Target[]> {
  const { rows } = await sql<{ origin: string }>`
    select substring(url from '^https?://[^/?#]+') as origin
    from account, unnest(array[imap -> 'dav' ->> 'contactsUrl', imap -> 'dav' ->> 'calendarUrl']) as url
    where deleted_at is null and url is not null
    group by 1 order by count(*) desc, 1 limit ${SERVERS_MAX}`.execute(db)
  return rows.flatMap(({ origin }) => {
    const url = URL.parse(origin)
    return url
      ? [{ host: url.hostname, port: Number(url.port) || (url.protocol === 'http:' ? 80 : 443) }]
      : []
  })
}

async function checkServer(
  guard: EgressGuard,
  target: Target,
  kind: EgressKind = kindOf(target),
): Promise<Finding | null> {
  try {
    await guard.resolve({ ...target, kind })
    return null
  } catch (error) {
    return warning('egress', `A server of accounts: ${detailOf(error)}`, remedyFor(error, target))
  }
}

async function tryConnection(guard: EgressGuard, target: Target): Promise<Finding> {
  const name = nameOf(target)
  try {
    const destination = await guard.resolve({ ...target, kind: kindOf(target) })
    const socket = await connectTo(destination, { timeoutSeconds: CONNECT_SECONDS })
    const address = socket.remoteAddress
    socket.destroy()
    return ok('egress', `Connected to ${name} at ${address}.`)
  } catch (error) {
    const isOurs = error instanceof EgressRefused || error instanceof EgressUnresolved
    const message = isOurs ? detailOf(error) : `No connection to ${name}: ${connectionProblem(error)}`
    return wrong('egress', message, remedyFor(error, target))
  }
}

/** If every address of a name failed, the reasons are inside. */
function connectionProblem(error: unknown): string {
  if (!(error instanceof AggregateError)) return error instanceof Error ? error.message : wordsOf(error)
  return error.errors.map((each: unknown) => (each instanceof Error ? each.message : '')).join(', ')
}

function kindOf({ port }: Target): EgressKind {
  return KINDS[port] ?? 'imap'
}

function nameOf({ host, port }: Target): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function detailOf(error: unknown): string {
  if (error instanceof EgressRefused) return `${error.detail}.`
  return error instanceof EgressUnresolved ? `${error.message}.` : wordsOf(error)
}

function remedyFor(error: unknown, target: Target): string {
  if (error instanceof EgressRefused) {
    return `If it is your own server, allow it: WAXWING_EGRESS_ALLOW=${nameOf(target)}`
  }
  if (error instanceof EgressUnresolved) return 'Check the name, and the DNS of this machine.'
  return 'Check the firewall between this machine and the server, and that it listens on that port.'
}
