import type { Signature } from '@waxwing/contract/mail/identities.ts'
import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { Gathered } from '../../../kit/gathered.ts'
import { isReachable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { type AccountOfTenant, accountViewsOf } from '../../../accounts/store.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { requireMaySend } from './limits.ts'

/**
 * Facts of an account that are read before a message is composed for it. All of them may change until it is accepted.
 */
export interface SendingTerms {
  account: AccountView
  /** Sends that the plan of the tenant still allows today; null if it sets no limit. */
  sendsLeft: number | null
  signByDefault: boolean
  /** The signature of the account's own address. */
  signature: Signature | null
  /**
   * The time by the database, which decides when entries are due, as it was read and as far as this process has counted
   * on.
   */
  now(): Date
}

type FoundTerms = SendingTerms & { isPastDue: boolean }

/** Calls whose terms are read by one statement. */
const READ_MAX = 100

/** Reads the terms of many calls at once. */
export class TermReads extends Gathered<AccountOfTenant, FoundTerms | null> {
  constructor(db: Db) {
    super(accounts => findTerms(db, accounts), READ_MAX)
  }
}

/** The account of the path, with its terms of sending. Refuses a tenant whose payment is overdue. */
export async function requireSendingTerms(
  { db, tenantId, credential }: RequestContext,
  { termReads }: { termReads: TermReads },
  accountId: string,
): Promise<SendingTerms> {
  const found = isReachable(credential, accountId)
    ? await termReads.ask({ tenantId, id: accountId.toLowerCase() })
    : null
  if (!found) {
    // Payment and plan are checked before the account.
    await requireMaySend(db, tenantId)
    return refuse('account_not_found')
  }
  if (found.isPastDue) refuse('billing_past_due')
  return found
}

/** Terms in the order of the accounts; null for missing accounts. */
async function findTerms(db: Db, accounts: readonly AccountOfTenant[]): Promise<Array<FoundTerms | null>> {
  const nameOf = ({ tenantId, id }: AccountOfTenant) => `${tenantId} ${id}`
  const different = [...new Map(accounts.map(account => [nameOf(account), account])).values()]
  const rows = await accountViewsOf(db, different)
    .leftJoin('plan', 'plan.id', 'tenant.plan_id')
    .leftJoin('mail_settings', 'mail_settings.account_id', 'account.id')
    .leftJoin('tenant_sends', join =>
      join
        .onRef('tenant_sends.tenant_id', '=', 'account.tenant_id')
        .on('tenant_sends.day', '=', sql<Date>`(clock_timestamp() at time zone 'UTC')::date`),
    )
    .select([
      sql<boolean>`tenant.past_due_at is not null`.as('is_past_due'),
      sql<number | null>`plan.sends_per_day - coalesce(tenant_sends.count, 0)`.as('sends_left'),
      sql<boolean>`coalesce(mail_settings.sign_by_default, false)`.as('sign_by_default'),
      sql<Signature | null>`coalesce(mail_settings.signature, mail_settings.provider_signature)`.as(
        'own_signature',
      ),
      sql<Date>`clock_timestamp()`.as('now'),
    ])
    .execute()
  const readAt = performance.now()
  const found = new Map(
    rows.map(row => {
      const { is_past_due, sends_left, sign_by_default, own_signature, now, ...account } = row
      const terms = {
        account,
        isPastDue: is_past_due,
        sendsLeft: sends_left,
        signByDefault: sign_by_default,
        signature: own_signature,
        now: () => new Date(now.getTime() + performance.now() - readAt),
      }
      return [nameOf({ tenantId: account.tenant_id, id: account.id }), terms]
    }),
  )
  return accounts.map(account => found.get(nameOf(account)) ?? null)
}
