import type { Db } from '../../database/pool.ts'
import type { AccountView } from '../../accounts/row.ts'
import { effectiveSettings } from '../../accounts/settings.ts'
import { reachedAs, type ReachedAccount } from '../../accounts/reach.ts'
import { recordWatch } from './gmail-push/record-watch.ts'
import { findWatching, type PushTerms } from './gmail-push/store.ts'
import { findGranted } from '../../accounts/grants/store.ts'
import type { AccessTokens } from '../../providers/access-tokens.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { gmailAccount } from '../../providers/gmail/account.ts'
import { GMAIL_HOST } from '../../providers/gmail/api.ts'
import type { PushPlan } from '../../providers/gmail/pushing.ts'
import type { QuotaGovernor } from '../../providers/gmail/governor.ts'
import { projectOf } from '../../providers/google/project.ts'
import { readsSettings } from '../../providers/google/scopes.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import type { ConnectionPermit, Connector } from '../connections.ts'

/** What it takes to reach accounts of Gmail. */
export interface GmailReach {
  calls: ProviderCalls
  tokensOf(account: Pick<ReachedAccount, 'id' | 'tenantId'>): AccessTokens
  governor: QuotaGovernor
  /** By what accounts are watched that use the operator's app. */
  operatorsPush?: PushTerms | null
  /** Interval of asking whether something happened. */
  pollSeconds?: number
}

/** Accounts of Gmail share the connections to its host, so none of them needs a permit. */
const FREE: ConnectionPermit = { isWanted: false, onWanted: () => {}, [Symbol.dispose]: () => {} }

/** @param tokens of this account, shared by all its connections */
export function gmailConnector(
  { calls, governor, operatorsPush = null, pollSeconds }: GmailReach,
  account: AccountView,
  tokens: AccessTokens,
  { db, now }: { db: Db; now?: (() => number) | undefined },
): Connector {
  const { syncWindowDays, bodyStorage } = effectiveSettings(account.tenant_settings, account)
  return {
    version: reachedAs(account).version,
    host: GMAIL_HOST,
    syncWindowDays,
    isOneAtATime: false,
    acquire: () => Promise.resolve(FREE),
    async connect(signal) {
      // Shows that the grant and the OAuth app are good.
      await tokens.get(signal)
      const granted = await findGranted(db, account.id)
      if (!granted) throw new ProviderFailure('account_deleted', 'The account was deleted.')
      return gmailAccount({
        calls,
        tokens,
        quota: governor.userOf(projectOf(granted.clientId), account.subject ?? account.email),
        signal,
        pushPlan: await planPushes(db, account.id, operatorsPush),
        readsSettings: async () => readsSettings((await findGranted(db, account.id))?.scopes ?? []),
        takesSources: bodyStorage === 'full',
        ...(pollSeconds !== undefined && { pollSeconds }),
        ...(now && { now }),
      })
    },
  }
}

async function planPushes(db: Db, accountId: string, operators: PushTerms | null): Promise<PushPlan> {
  const { topic = null, watch = null } = (await findWatching(db, accountId, operators)) ?? {}
  return { topic, watch, record: granted => recordWatch(db, accountId, granted) }
}
