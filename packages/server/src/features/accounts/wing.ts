import { requireSealedValue } from '../../database/sealed-value.ts'
import { everyMinutes, hourlyAt } from '../../jobs/schedule.ts'
import { askingGauge, askingGauges } from '../../kit/metrics.ts'
import type { Wing } from '../../wing/wing.ts'
import type { Resources } from '../../wing/resources.ts'
import { accountOperations } from './accounts/operations.ts'
import { measureFailingPurges, purgeDueAccounts } from './accounts/purge.ts'
import { beginLiveWalk, sampleLiveAccounts } from './accounts/sample-live-accounts.ts'
import { accountKeys } from '../../accounts/secrets.ts'
import { countAccounts } from '../../accounts/store.ts'
import { autoconfigOperations } from './autoconfig/operations.ts'
import { openConnectFlows } from './connect-sessions/flows.ts'
import { hostedConnectOperations, hostedSessionsOf } from './connect-sessions/hosted-operations.ts'
import { connectRoutes } from './connect-pages/routes.ts'
import { connectSessionOperations } from './connect-sessions/operations.ts'
import { sweepSessions } from './connect-sessions/sweep.ts'
import { openOAuthClients } from '../../accounts/apps/clients.ts'
import { oauthAppOperations } from './oauth-apps/operations.ts'
import { restartHandler } from './oauth-apps/restart.ts'
import { openAppSecrets } from '../../accounts/apps/secrets.ts'
import { forgetLeftSubscriptions, leftSubscriptionHandlers } from './grants/left-subscriptions.ts'
import { forgetRevocations, openEndingKeys, revocationHandler } from './grants/revocation.ts'
import { forgetPreviousTokens } from '../../accounts/grants/store.ts'
import { countSubscriptions } from '../../accounts/grants/subscriptions.ts'
import { announceSettingsHandler } from './settings/inherit.ts'
import { requireStorageOf } from './settings/body-storage.ts'
import { settingOperations } from './settings/operations.ts'
import { spreadGrants } from '../../accounts/grants/spread.ts'
import { spreadHalves } from '../../accounts/halves/spread-halves.ts'
import { followDelegateHandler } from './shared-mailboxes/follow-delegate-job.ts'
import { sharedMailboxOperations } from './shared-mailboxes/operations.ts'
import { ACCOUNT_TIMES } from './stored-times.ts'

export async function openAccounts(resources: Resources) {
  const { db, keyRing, config, log, servers, serverSearch, signIns, waker, baseUrl } = resources
  const { connections, deleteSubscription } = resources
  const { allowPlaintext } = config
  const signIn = { accountKeys: accountKeys(keyRing), servers, serverSearch, allowPlaintext }
  const clients = await openOAuthClients(db, keyRing, config)
  const flows = openConnectFlows({ ...resources, clients, mail: signIn })
  const credentialPepper = await requireSealedValue(db, keyRing, 'credential_pepper')
  const endingKeys = await openEndingKeys(db, keyRing)
  const oauth = { accountKeys: signIn.accountKeys, clients, signIns }
  const liveWalk = beginLiveWalk()
  const requireStorage = requireStorageOf(resources.blobs, log)
  return {
    operations: {
      accounts: accountOperations({ ...signIn, credentialPepper, endingKeys, oauth, requireStorage }),
      sharedMailboxes: sharedMailboxOperations({
        accountKeys: signIn.accountKeys,
        connections,
        signIns,
        requireStorage,
      }),
      autoconfig: autoconfigOperations(serverSearch),
      connectSessions: connectSessionOperations({ clients, signIns, requireStorage, baseUrl }),
      hostedConnectSessions: hostedConnectOperations(flows.parts),
      oauthApps: oauthAppOperations({
        secrets: await openAppSecrets(db, keyRing),
        signIns,
        baseUrl,
        isPlayed: config.sandboxUrl !== null,
      }),
      settings: settingOperations(requireStorage),
    },
    publicRoutes: connectRoutes({ flows, baseUrl }),
    hostedSessions: { connect_session: hostedSessionsOf(db) },
    counts: { accounts: countAccounts },
    jobHandlers: [
      announceSettingsHandler(db, accountId => waker.wake(accountId)),
      restartHandler(db, accountId => waker.wake(accountId)),
      followDelegateHandler(db, accountId => waker.wake(accountId)),
      revocationHandler(db, endingKeys, signIns),
      ...leftSubscriptionHandlers(db, endingKeys, deleteSubscription),
    ],
    recurringTasks: ({ purgeSteps }) => [
      {
        name: 'sample_live_accounts',
        schedule: everyMinutes(10),
        run: signal => sampleLiveAccounts(db, liveWalk, signal),
      },
      {
        name: 'purge_accounts',
        schedule: everyMinutes(1),
        run: signal => purgeDueAccounts({ db, steps: purgeSteps, log }, signal),
      },
      {
        name: 'spread_grants',
        schedule: everyMinutes(1),
        run: signal => spreadGrants(db, accountId => waker.wake(accountId), signal),
      },
      {
        name: 'spread_halves',
        schedule: everyMinutes(1),
        run: signal => spreadHalves(db, accountId => waker.wake(accountId), signal),
      },
      {
        name: 'sweep_connect_sessions',
        schedule: hourlyAt(47),
        run: signal => sweepSessions(db, signal),
      },
      {
        name: 'forget_tokens',
        schedule: hourlyAt(11),
        run: async () => {
          await forgetPreviousTokens(db)
          await forgetRevocations(db)
          await forgetLeftSubscriptions(db)
        },
      },
    ],
    gauges: [
      askingGauge(
        'waxwing_purges_failing',
        'Deleted accounts of the whole installation whose purge has failed and is tried again',
        async () => (await measureFailingPurges(db)).count,
      ),
      askingGauges(
        'waxwing_graph_subscriptions',
        'Active accounts of the whole installation whose mailboxes can be subscribed to, by the state of their ' +
          'subscriptions; "due" ones should have been renewed, and "none" are only polled',
        { label: 'state', ask: () => countSubscriptions(db) },
      ),
    ],
    storedTimes: ACCOUNT_TIMES,
  } satisfies Wing
}
