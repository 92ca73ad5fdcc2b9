import type { AccountView } from '../../accounts/row.ts'
import type { ReachedAccount } from '../../accounts/reach.ts'
import { effectiveSettings } from '../../accounts/settings.ts'
import { findGranted } from '../../accounts/grants/store.ts'
import type { Db } from '../../database/pool.ts'
import type { Sharing } from '../../kit/share.ts'
import type { AccessTokens } from '../../providers/access-tokens.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { graphAccount } from '../../providers/graph/account.ts'
import { CALLS_WINDOW, GraphGovernor } from '../../providers/graph/governor.ts'
import { SLOTS_MAX, SlotsOfMailboxes } from '../../providers/graph/slots.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import { CLOUDS } from '../../providers/microsoft/clouds.ts'
import { mailboxIdOf } from '../../providers/microsoft/subject.ts'
import type { ConnectionPermit } from '../connections.ts'
import type { Kind, Way } from './kind.ts'
import { sharedUse } from './quota-use.ts'

export interface GraphOptions {
  db: Db
  calls: ProviderCalls
  tokensOf(account: Pick<ReachedAccount, 'id' | 'tenantId'>): AccessTokens
  /** The processes that share the quotas; this one is alone by default. */
  sharing?: Sharing | undefined
  pace?: GraphPace | undefined
}

/** Times of following accounts of Microsoft Graph. Tests use shorter ones. */
export interface GraphPace {
  /** Interval of looking at the mailbox. */
  pollSeconds?: number
  /** Milliseconds since 1970. */
  now?: () => number
}

/** Accounts that are read by Microsoft Graph, with a grant of their user. */
export function graphKind({ db, calls, tokensOf, sharing, pace = {} }: GraphOptions): Kind {
  const governor = new GraphGovernor({
    sharing: sharing ? { countProcesses: () => sharing.count, use: sharedUse(db, CALLS_WINDOW) } : null,
  })
  const slots = new SlotsOfMailboxes(() => Math.max(1, Math.floor(SLOTS_MAX / (sharing?.count ?? 1))))
  return {
    endpoints: { mail: 'graph' },
    waysTo(reached) {
      const reach = { db, calls, governor, slots, tokens: tokensOf(reached), ...pace }
      return {
        read: account => graphConnector(reach, account),
        send() {
          throw new ProviderFailure('unsupported', 'Accounts of Microsoft Graph only read so far.')
        },
      }
    },
  }
}

interface GraphReach extends GraphPace {
  db: Db
  calls: ProviderCalls
  governor: GraphGovernor
  slots: SlotsOfMailboxes
  /** Access tokens of the account, shared by all its connections. */
  tokens: AccessTokens
}

/** Accounts of a cloud share the connections to its host, so none of them needs a permit. */
const FREE: ConnectionPermit = { isWanted: false, onWanted: () => {}, [Symbol.dispose]: () => {} }

function graphConnector(
  { db, calls, governor, slots, tokens, pollSeconds, now }: GraphReach,
  account: AccountView,
): Way {
  const { syncWindowDays, bodyStorage } = effectiveSettings(account.tenant_settings, account)
  const cloud = CLOUDS[account.cloud ?? 'global']
  return {
    host: cloud.graph,
    syncWindowDays,
    isOneAtATime: false,
    acquire: () => Promise.resolve(FREE),
    async connect(signal) {
      // Shows that the grant and the OAuth app are good.
      await tokens.get(signal)
      const granted = await findGranted(db, account.id)
      if (!granted) throw new ProviderFailure('account_deleted', 'The account was deleted.')
      const mailboxId = mailboxOf(account)
      const name = `${granted.clientId} ${cloud.cloud} ${mailboxId}`
      return graphAccount({
        calls,
        tokens,
        quota: governor.quotaOf(name, slots.of(name)),
        cloud,
        mailboxId,
        signal,
        takesSources: bodyStorage === 'full',
        ...(pollSeconds !== undefined && { pollSeconds }),
        ...(now && { now }),
      })
    },
  }
}

function mailboxOf({ subject }: AccountView): string {
  try {
    return mailboxIdOf(subject ?? '')
  } catch (cause) {
    throw new ProviderFailure('misconfigured', 'The account names no mailbox.', { cause })
  }
}
