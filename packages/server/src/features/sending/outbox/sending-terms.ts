import type { Signature } from '@waxwing/contract/mail/identities.ts'
import { sql } from 'kysely'
import { isReachable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import { accountViews } from '../../accounts/accounts/store.ts'
import type { RequestContext } from '../../context.ts'
import { refuse } from '../../refuse.ts'
import { requireMaySend } from './limits.ts'

/** What is known of an account before a message is composed for it. All of it may change until the message is accepted. */
export interface SendingTerms {
  account: AccountView
  /** Sends that the plan of the tenant still allows today; null: any number. */
  sendsLeft: number | null
  signByDefault: boolean
  /** Of the account's own address. */
  signature: Signature | null
  /** The time by the database, which decides what is due. */
  now: Date
}

/** The account of the path, and what else a send needs to know. Refuses a tenant whose payment is overdue. */
export async function requireSendingTerms(context: RequestContext, accountId: string): Promise<SendingTerms> {
  const { db, tenantId, credential } = context
  const found = isReachable(credential, accountId) ? await findTerms(context, accountId.toLowerCase()) : null
  if (!found) {
    // Payment and plan are checked before the account.
    await requireMaySend(db, tenantId)
    return refuse('account_not_found')
  }
  if (found.isPastDue) refuse('billing_past_due')
  return found
}

async function findTerms({ db, tenantId }: RequestContext, accountId: string) {
  const row = await accountViews(db, tenantId)
    .where('account.id', '=', accountId)
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
      sql<Signature | null>`mail_settings.signature`.as('own_signature'),
      sql<Date>`clock_timestamp()`.as('now'),
    ])
    .executeTakeFirst()
  if (!row) return null
  const { is_past_due, sends_left, sign_by_default, own_signature, now, ...account } = row
  return {
    account,
    isPastDue: is_past_due,
    sendsLeft: sends_left,
    signByDefault: sign_by_default,
    signature: own_signature,
    now,
  }
}
