import { openSemaphore, type Semaphore } from '../../kit/semaphore.ts'
import type { Sharing } from '../../kit/share.ts'
import { WeakValues } from '../../kit/weak-values.ts'
import type { Db } from '../../database/pool.ts'
import type { AccountView } from '../../accounts/row.ts'
import { effectiveSettings } from '../../accounts/settings.ts'
import type { ReachedAccount } from '../../accounts/reach.ts'
import { recordWatch } from './gmail-push/record-watch.ts'
import { gmailPushReceiver } from './gmail-push/receive.ts'
import { planChannels } from './google-calendar-push/plan.ts'
import { googleCalendarPushReceiver } from './google-calendar-push/receive.ts'
import { operatorsTerms, type PushConfig } from './gmail-push/rules.ts'
import { findWatching, type PushTerms } from './gmail-push/store.ts'
import type { Kind, Way } from './kind.ts'
import type { PushBase } from './push-base.ts'
import { sharedUse } from './quota-use.ts'
import { findGranted } from '../../accounts/grants/store.ts'
import type { AccessTokens } from '../../providers/access-tokens.ts'
import type { ConnectedAccount } from '../../providers/connected-account.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { gmailAccount } from '../../providers/gmail/account.ts'
import { GMAIL_HOST } from '../../providers/gmail/api.ts'
import type { GoogleApiOptions } from '../../providers/google/google-api.ts'
import type { ChannelPlan } from '../../providers/google-calendar/channels.ts'
import { googleStopChannel } from '../../providers/google-calendar/stop-channel.ts'
import { googleCalendarAccount } from '../../providers/google-calendar/google-calendar.ts'
import { HOSTS } from '../../providers/google/hosts.ts'
import type { PushPlan } from '../../providers/gmail/pushing.ts'
import { QuotaGovernor, type UserQuota } from '../../providers/google/governor.ts'
import { projectOf } from '../../providers/google/project.ts'
import { readsSettings } from '../../providers/google/scopes.ts'
import { googlePushTokens } from '../../providers/google/push-tokens.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import { peopleAccount } from '../../providers/people/people.ts'
import type { ConnectionPermit } from '../connections.ts'

export interface GmailOptions {
  db: Db
  calls: ProviderCalls
  tokensOf(account: Pick<ReachedAccount, 'id' | 'tenantId'>): AccessTokens
  settings: {
    gmailUnitsPerMinute: number
    gmailProjectUnitsPerMinute: number
    peopleCallsPerMinute: number
    /** Null: Google alone says when a project has called too often. */
    peopleProjectCallsPerMinute: number | null
    googleCalendarCallsPerMinute: number
    googleCalendarProjectCallsPerMinute: number
  } & PushConfig
  /** The address to which providers push. */
  base: PushBase
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

/** Changes of the contacts of one user that may wait for each other. */
const WRITES_WAITING_MAX = 64

/**
 * Accounts that are read by Gmail's interface and send by it, and whose calendars and contacts are Google's, with a grant of
 * their user.
 */
export function gmailKind({ db, calls, tokensOf, settings, base, sharing, pace = {} }: GmailOptions): Kind {
  const shared = sharing ? { countProcesses: () => sharing.count, use: sharedUse(db) } : null
  const governor = new QuotaGovernor({
    userUnitsPerMinute: settings.gmailUnitsPerMinute,
    projectUnitsPerMinute: settings.gmailProjectUnitsPerMinute,
    sharing: shared,
  })
  const peopleGovernor = new QuotaGovernor({
    api: 'the People API',
    userUnitsPerMinute: settings.peopleCallsPerMinute,
    projectUnitsPerMinute: settings.peopleProjectCallsPerMinute ?? Number.POSITIVE_INFINITY,
    sharing: shared,
  })
  const calendarGovernor = new QuotaGovernor({
    api: 'Google Calendar',
    userUnitsPerMinute: settings.googleCalendarCallsPerMinute,
    projectUnitsPerMinute: settings.googleCalendarProjectCallsPerMinute,
    sharing: shared,
  })
  const lines = new WeakValues<Semaphore>()
  const lineOf = (user: string) =>
    lines.getOrMake(user, () => openSemaphore({ atOnce: 1, waitingMax: WRITES_WAITING_MAX }))
  // By what accounts are watched that use the operator's app.
  const operators = operatorsTerms(settings)
  return {
    endpoints: { mail: 'gmail', calendar: 'google-calendar', contacts: 'people' },
    deleteSubscription: googleStopChannel(calls, pace.now),
    waysTo(reached, reachedFor) {
      const reach = { db, calls, tokens: tokensOf(reached), ...pace }
      const mailOf = (account: AccountView) => gmailConnector({ ...reach, governor, operators }, account)
      return {
        read(account, half) {
          if (half === 'calendar') {
            // Only the follower of the calendars keeps their channels.
            const plan = () => (reachedFor === 'following' ? planChannels(db, base, reached.id) : null)
            return calendarConnector({ ...reach, governor: calendarGovernor, plan }, account)
          }
          if (half === 'contacts')
            return peopleConnector({ ...reach, governor: peopleGovernor, lineOf }, account)
          return mailOf(account)
        },
        send: mailOf,
      }
    },
    openPushes: taking => [
      gmailPushReceiver({ db, pushTokens: googlePushTokens(calls), operators, ...taking }),
      googleCalendarPushReceiver({ db, waker: taking.waker }),
    ],
  }
}

interface Reach extends GmailPace {
  db: Db
  calls: ProviderCalls
  /** The quotas of the API that is called. */
  governor: QuotaGovernor
  /** Access tokens of the account, shared by all its connections. */
  tokens: AccessTokens
}

interface GmailReach extends Reach {
  operators: PushTerms | null
}

interface PeopleReach extends Reach {
  /** The line in which the writes of a user wait for each other. */
  lineOf(user: string): Semaphore
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
      return gmailAccount({
        calls,
        tokens,
        quota: await quotaOf({ db, governor, tokens }, { id: account.id, user: userOf(account) }, signal),
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

/** Leads to the contacts of an account. */
function peopleConnector({ lineOf, ...reach }: PeopleReach, account: AccountView): Way {
  const user = userOf(account)
  return halfConnector(reach, account, {
    host: HOSTS.people,
    open: options => peopleAccount({ ...options, line: lineOf(user) }),
  })
}

/** Leads to the calendars of an account. */
function calendarConnector(
  { plan, ...reach }: Reach & { plan(): ChannelPlan | null },
  account: AccountView,
): Way {
  return halfConnector(reach, account, {
    host: HOSTS.calendar,
    open: options => googleCalendarAccount({ ...options, channelPlan: plan() }),
  })
}

/** Leads to what an account holds besides mail, at another API of Google. */
function halfConnector(
  { db, calls, governor, tokens, now }: Reach,
  account: AccountView,
  { host, open }: { host: string; open(options: GoogleApiOptions): ConnectedAccount },
): Way {
  // The follower of the account keeps the way, so it does not hold the whole row.
  const named = { id: account.id, user: userOf(account) }
  return {
    host,
    syncWindowDays: null,
    isOneAtATime: false,
    acquire: () => Promise.resolve(FREE),
    async connect(signal) {
      const quota = await quotaOf({ db, governor, tokens }, named, signal)
      return open({ calls, tokens, quota, now: now ?? Date.now })
    },
  }
}

/** The name of a user by which quotas and writes are counted. */
const userOf = ({ subject, email }: Pick<AccountView, 'subject' | 'email'>) => subject ?? email

/** The quota of the user of an account. Shows that the grant and the OAuth app are good. */
async function quotaOf(
  { db, governor, tokens }: Pick<Reach, 'db' | 'governor' | 'tokens'>,
  { id, user }: { id: string; user: string },
  signal: AbortSignal,
): Promise<UserQuota> {
  await tokens.get(signal)
  const granted = await findGranted(db, id)
  if (!granted) throw new ProviderFailure('account_deleted', 'The account was deleted.')
  return governor.userOf(projectOf(granted.clientId), user)
}

async function planPushes(db: Db, accountId: string, operators: PushTerms | null): Promise<PushPlan> {
  const { topic = null, watch = null } = (await findWatching(db, accountId, operators)) ?? {}
  return { topic, watch, record: granted => recordWatch(db, accountId, granted) }
}
