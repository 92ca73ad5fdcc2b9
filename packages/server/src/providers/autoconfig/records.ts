import { Resolver } from 'node:dns/promises'
import { parseHost } from '../../kit/egress/host.ts'
import type { MailServer } from '../mail-server.ts'
import type { ServerCandidates } from './read-config.ts'
import { within } from '../../kit/within.ts'

/** The queries to DNS, in the form of `Resolver` of node:dns/promises. */
export interface RecordResolver {
  resolveSrv(name: string): Promise<Array<{ name: string; port: number; priority: number; weight: number }>>
  resolveMx(name: string): Promise<Array<{ exchange: string; priority: number }>>
  resolveTxt(name: string): Promise<string[][]>
}

export interface Target {
  host: string
  port: number
}

const TARGETS_MAX = 4
const TRY_MILLISECONDS = 1500
const TRIES = 2

/** The resolver of this machine's settings, with short timeouts. */
export function systemRecords(): RecordResolver {
  return new Resolver({ timeout: TRY_MILLISECONDS, tries: TRIES })
}

/**
 * Finds the servers that a domain's SRV records name for a service, best first. RFC 2782 chooses at random by weight; we take the heaviest. A
 * target of "." means that there is none.
 */
export async function findTargets(
  records: RecordResolver,
  service: string,
  domain: string,
  signal: AbortSignal,
): Promise<Target[]> {
  const found = await ask(signal, records.resolveSrv(`${service}.${domain}`))
  return found
    .toSorted((one, other) => one.priority - other.priority || other.weight - one.weight)
    .slice(0, TARGETS_MAX)
    .flatMap(({ name, port }) => {
      const host = parseHost(name)
      return host && port > 0 ? [{ host: host.name, port }] : []
    })
}

/** Servers by RFC 6186, with implicit TLS first (RFC 8314 section 3.3). */
export async function findServersBySrv(
  records: RecordResolver,
  email: string,
  domain: string,
  signal: AbortSignal,
): Promise<ServerCandidates> {
  const targets = (service: string) => findTargets(records, service, domain, signal)
  const [imaps, imap, submissions, submission] = await Promise.all([
    targets('_imaps._tcp'),
    targets('_imap._tcp'),
    targets('_submissions._tcp'),
    targets('_submission._tcp'),
  ])
  const servers = (list: Target[], security: MailServer['security']) =>
    list.map(target => ({ ...target, security, user: email }))
  return {
    imap: [...servers(imaps, 'tls'), ...servers(imap, 'starttls')],
    smtp: [...servers(submissions, 'tls'), ...servers(submission, 'starttls')],
  }
}

/** The hosts that receive mail for a domain, best first. */
export async function findMailHosts(
  records: RecordResolver,
  domain: string,
  signal: AbortSignal,
): Promise<string[]> {
  const found = await ask(signal, records.resolveMx(domain))
  return found
    .toSorted((one, other) => one.priority - other.priority)
    .slice(0, TARGETS_MAX)
    .flatMap(({ exchange }) => parseHost(exchange)?.name ?? [])
}

/** The context path of a service (RFC 6764 section 4); null if its TXT record names none. */
export async function findPath(
  records: RecordResolver,
  service: string,
  domain: string,
  signal: AbortSignal,
): Promise<string | null> {
  const found = await ask(signal, records.resolveTxt(`${service}.${domain}`))
  const path = found.map(parts => parts.join('')).find(text => text.startsWith('path=/'))
  return path?.slice('path='.length) ?? null
}

/** Treats no record, no answer and a broken answer alike. */
async function ask<T>(signal: AbortSignal, answer: Promise<T[]>): Promise<T[]> {
  return within(signal, answer).catch(() => [])
}
