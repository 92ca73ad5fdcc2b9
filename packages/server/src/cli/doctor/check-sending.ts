import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import { findMissing } from '../../database/migrate.ts'
import type { Database } from '../../database/pool.ts'
import { trustAlso } from '../../kit/authorities.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { EgressRefused, EgressUnresolved, egressGuard } from '../../kit/egress/guard.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import type { MailServer } from '../../providers/mail-server.ts'
import { greetSmtp } from '../../providers/smtp/check.ts'
import { clientName, UNNAMED } from '../../providers/smtp/client-name.ts'
import { measureOutbox, type OutboxMeasure } from '../../features/sending/outbox/store.ts'
import { type Finding, ok, warning, wordsOf, wrong } from './finding.ts'

const GREET_SECONDS = 10
/** All are greeted at the same time, so this takes at most `GREET_SECONDS`. */
const SERVERS_MAX = 20
/** Retries are due later, so what is due for as long waits for a process, or for a server that is in trouble. */
const OVERDUE_SECONDS = 15 * 60
/** Servers of a blocked port that are named. */
const NAMED_MAX = 3

type SmtpServer = Omit<MailServer, 'user'>

/** An SMTP server of accounts, after it was greeted. */
export interface GreetedServer extends SmtpServer {
  accounts: number
  /** Why it cannot be used; null if it answers. */
  problem: string | null
}

/** Whether the SMTP servers of accounts answer, and are given a name. Connects to them, but does not log in. */
export async function checkSending(config: Config, { db, pool }: Database): Promise<Finding[]> {
  try {
    // A database without the schema of this release cannot be queried.
    if ((await findMissing(pool))?.length !== 0) return []
    const { rows } = await sql<SmtpServer & { accounts: number }>`
      select server ->> 'host' as host, (server ->> 'port')::integer as port, server ->> 'security' as security,
        count(*)::integer as accounts
      from account, lateral (select imap -> 'smtp') as smtp (server)
      where deleted_at is null and jsonb_typeof(server) = 'object'
      group by 1, 2, 3 order by accounts desc, 1, 2, 3 limit ${SERVERS_MAX}
    `.execute(db)
    const overdue = describeOverdue(await measureOutbox(db))
    if (rows.length === 0) return [ok('sending', 'No account has an SMTP server.'), ...overdue]
    const name = clientName(config.baseUrl)
    const options = {
      guard: egressGuard({ allow: parseEgressAllow(config.egressAllow) }),
      authorities: trustAlso(config.certificateAuthorities),
      clientName: name,
    }
    const greeted = await Promise.all(
      rows.map(async server => {
        const failure = await greetSmtp(options, server, GREET_SECONDS).then(() => null, failureOf)
        return { ...server, failure, problem: failure?.message ?? null }
      }),
    )
    const tried = greeted.filter(({ failure }) => !isOfEgress(failure?.cause))
    return [checkName(name), ...describeServers(tried), ...overdue]
  } catch (error) {
    return [wrong('sending', wordsOf(error))]
  }
}

function failureOf(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  throw error
}

/** The check of egress reports names that do not resolve, and servers that may not be reached. */
function isOfEgress(cause: unknown): boolean {
  return cause instanceof EgressRefused || cause instanceof EgressUnresolved
}

function checkName(name: string): Finding {
  if (name !== UNNAMED) return ok('sending', `SMTP servers are told the name ${name}.`)
  return warning(
    'sending',
    'SMTP servers are told no name of this service, since its address is not public. Some of them then refuse mail.',
    'Set WAXWING_BASE_URL to a public address, such as https://mail.example.com.',
  )
}

/** Reports each server that does not answer, or, if none at a port answers, the port. */
export function describeServers(servers: readonly GreetedServer[]): Finding[] {
  const findings: Finding[] = []
  for (const [port, atPort] of Map.groupBy(servers, server => server.port)) {
    const silent = atPort.filter(({ problem }) => problem !== null)
    const isBlocked = silent.length > 1 && silent.length === atPort.length
    findings.push(...(isBlocked ? [describePort(port, silent)] : silent.map(describeServer)))
  }
  const answering = servers.filter(({ problem }) => problem === null).length
  if (answering > 0) findings.unshift(ok('sending', `SMTP servers of accounts that answer: ${answering}`))
  return findings
}

/** Reports messages that should have been sent long ago. */
export function describeOverdue({ queued, oldestDueSeconds }: OutboxMeasure): Finding[] {
  if (oldestDueSeconds < OVERDUE_SECONDS) return []
  const minutes = Math.floor(oldestDueSeconds / 60)
  return [
    warning(
      'sending',
      `A message has been due for ${minutes} minutes. Messages that wait to be sent: ${queued}`,
      'Check that a process with the role jobs runs, and what its log says of sends.',
    ),
  ]
}

function describeServer(server: GreetedServer): Finding {
  return warning(
    'sending',
    `${nameOf(server)}, accounts: ${server.accounts}. ${server.problem}`,
    `Check that it runs, and that this network allows connections to port ${server.port}.`,
  )
}

function describePort(port: number, servers: readonly GreetedServer[]): Finding {
  const named = servers.slice(0, NAMED_MAX).map(server => `${nameOf(server)}: ${server.problem}`)
  const more = servers.length - named.length
  return warning(
    'sending',
    [
      `None of the ${servers.length} SMTP servers at port ${port} answers.`,
      ...named,
      ...(more > 0 ? [`and ${more} more`] : []),
    ].join('\n'),
    `Allow connections to port ${port} in the firewall. Many hosting providers block port 25, and some 465 and 587, until they are asked.`,
  )
}

function nameOf({ host, port }: GreetedServer): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
