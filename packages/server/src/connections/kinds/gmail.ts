import type { Sharing } from '../../kit/share.ts'
import type { Db } from '../../database/pool.ts'
import type { AccountView } from '../../accounts/row.ts'
import { effectiveSettings } from '../../accounts/settings.ts'
import type { ReachedAccount } from '../../accounts/reach.ts'
import { recordWatch } from './gmail-push/record-watch.ts'
import { gmailPushReceiver } from './gmail-push/receive.ts'
import { operatorsTerms, type PushConfig } from './gmail-push/rules.ts'
import { findWatching, type PushTerms } from './gmail-push/store.ts'
import type { Kind, Way } from './kind.ts'
import { sharedUse } from './quota-use.ts'
import { findGranted } from '../../accounts/grants/store.ts'
import type { AccessTokens } from '../../providers/access-tokens.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { gmailAccount } from '../../providers/gmail/account.ts'
import { GMAIL_HOST } from '../../providers/gmail/api.ts'
import type { PushPlan } from '../../providers/gmail/pushing.ts'
import { QuotaGovernor } from '../../providers/google/governor.ts'
import { projectOf } from '../../providers/google/project.ts'
import { readsSettings } from '../../providers/google/scopes.ts'
import { googlePushTokens } from '../../providers/google/push-tokens.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import type { ConnectionPermit } from '../connections.ts'

export interface GmailOptions {
  db: Db
  calls: ProviderCalls
  tokensOf(account: Pick<ReachedAccount, 'id' | 'tenantId'>): AccessTokens
  settings: { gmailUnitsPerMinute: number; gmailProjectUnitsPerMinute: number } & PushConfig
  /** The processes that share the quotas; this one is alone by default. */
  sharing?: Sharing | undefined
  pace?: GmailPace | undefined
}

/** Times of following accounts of Gmail. Tests use shorter ones. */
export interface GmailPace {
  /** Interval of asking whether something happened. */
  pollSeconds?: number
  /** Milliseconds since 1970. */
  now?: () => number
}

/** Accounts that are read by Gmail's interface and send by it, with a grant of their user. */
export function gmailKind({ db, calls, tokensOf, settings, sharing, pace = {} }: GmailOptions): Kind {
  const governor = new QuotaGovernor({
    userUnitsPerMinute: settings.gmailUnitsPerMinute,
    projectUnitsPerMinute: settings.gmailProjectUnitsPerMinute,
    sharing: sharing ? { countProcesses: () => sharing.count, use: sharedUse(db) } : null,
  })
  // By what accounts are watched that use the operator's app.
  const operators = operatorsTerms(settings)
  return {
    endpoints: { mail: 'gmail' },
    waysTo(reached) {
      const reach = { db, calls, governor, operators, tokens: tokensOf(reached), ...pace }
      const connectorOf = (account: AccountView) => gmailConnector(reach, account)
      return { read: connectorOf, send: connectorOf }
    },
    openPushes: taking => [
      gmailPushReceiver({ db, pushTokens: googlePushTokens(calls), operators, ...taking }),
    ],
  }
}

interface GmailReach extends GmailPace {
  db: Db
  calls: ProviderCalls
  governor: QuotaGovernor
  operators: PushTerms | null
  /** Access tokens of the account, shared by all its connections. */
  tokens: AccessTokens
}

/** Accounts of Gmail share the connections to its host, so none of them needs a permit. */
const FREE: ConnectionPermit = { isWanted: false, onWanted: () => {}, [Symbol.dispose]: () => {} }

function gmailConnector(
  { db, calls, governor, operators, tokens, pollSeconds, now }: GmailReach,
  account: AccountView,
): Way {
  const { syncWindowDays, bodyStorage } = effectiveSettings(account.tenant_settings, account)
  return {
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
        pushPlan: await planPushes(db, account.id, operators),
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
