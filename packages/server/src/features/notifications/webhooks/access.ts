import type { WebhookFilters } from '@waxwing/contract/notifications/webhook-filters.ts'
import type { Db } from '../../../database/pool.ts'
import { wholeSecondsSince } from '../../../kit/egress/discreet-guard.ts'
import { EgressRefused, EgressUnresolved } from '../../../kit/egress/guard.ts'
import { parseHost } from '../../../kit/egress/host.ts'
import { PlainHttpRefused, type TargetGuard } from '../../../kit/egress/target-guard.ts'
import type { Logger } from '../../../kit/log.ts'
import { refuse } from '../../../calls/refuse.ts'
import { type EndpointRow, findEndpoint, findLiveAccounts, findLiveMailboxes } from './store.ts'

/** Returns the endpoint of the path. A malformed id, and one of another tenant, are refused like an unknown one. */
export async function requireEndpoint(
  { tenantId }: { tenantId: string },
  db: Db,
  id: string,
  options: { lock?: boolean } = {},
): Promise<EndpointRow> {
  return (await findEndpoint(db, tenantId, id, options)) ?? refuse('webhook_endpoint_not_found')
}

/** Refuses a URL that is not HTTPS, as far as the URL alone shows it. */
export function requireScheme(targets: TargetGuard, url: string): void {
  try {
    targets.checkScheme(new URL(url))
  } catch (error) {
    if (error instanceof PlainHttpRefused) refuse('https_required')
    throw error
  }
}

/** Refuses a target that events may not be posted to, or whose host does not resolve. */
export async function requireTarget(
  { targets, log }: { targets: TargetGuard; log: Logger },
  url: string,
): Promise<void> {
  requireScheme(targets, url)
  const startedAt = performance.now()
  try {
    await targets.resolve(new URL(url))
  } catch (error) {
    if (!(error instanceof EgressRefused || error instanceof EgressUnresolved)) throw error
    if (error instanceof EgressRefused) log.info({ reason: error.detail }, 'Refused a target of webhooks')
    // A name of the operator's network is refused like one that does not exist, and as late.
    if (!isAddress(url)) await wholeSecondsSince(startedAt)
    refuse(error instanceof PlainHttpRefused ? 'https_required' : 'server_not_allowed')
  }
}

function isAddress(url: string): boolean {
  return parseHost(new URL(url).hostname)?.address != null
}

/**
 * Refuses filters that name accounts or mailboxes which the tenant lacks. Ids that were in the filters before stay, and
 * match nothing, even if their accounts and mailboxes are gone.
 */
export async function requireFilters(
  db: Db,
  tenantId: string,
  before: WebhookFilters,
  after: WebhookFilters,
): Promise<void> {
  const newAccounts = addedTo(before.accountIds, after.accountIds)
  const { mailboxIds } = after.message
  const newMailboxes = addedTo(before.message.mailboxIds, mailboxIds)
  if (newAccounts.length > 0) {
    const known = await findLiveAccounts(db, tenantId, newAccounts)
    refuseMissing('unknown_account', newAccounts, known)
  }
  if (mailboxIds.length === 0) return
  const accountOf = await findLiveMailboxes(db, tenantId, mailboxIds)
  refuseMissing('unknown_mailbox', newMailboxes, accountOf)
  if (after.accountIds.length === 0) return
  const isOutside = [...accountOf.values()].some(accountId => !after.accountIds.includes(accountId))
  if (isOutside) refuse('mailbox_outside_accounts')
}

function addedTo(before: readonly string[], after: readonly string[]): string[] {
  const known = new Set(before)
  return after.filter(id => !known.has(id))
}

function refuseMissing(
  reason: 'unknown_account' | 'unknown_mailbox',
  ids: readonly string[],
  known: Pick<Set<string>, 'has'>,
): void {
  const missing = ids.filter(id => !known.has(id))
  if (missing.length > 0) refuse(reason, { ids: missing })
}
