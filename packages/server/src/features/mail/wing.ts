import { Counter } from 'prom-client'
import { dailyAt, everyMinutes, hourlyAt } from '../../jobs/schedule.ts'
import { openFairSemaphore } from '../../kit/fair-semaphore.ts'
import { askingGauge } from '../../kit/metrics.ts'
import { openMessageReader } from '../../kit/mime/message-reader.ts'
import { openMailFollower } from './following/follower.ts'
import type { Wing } from '../../wing/wing.ts'
import type { Resources } from '../../wing/resources.ts'
import { accountKeys } from '../../accounts/secrets.ts'
import { BodyStoring } from './content/body-storing.ts'
import { openBodyIndex } from './content/body-index.ts'
import { DocumentRewriter } from './content/document-rewriter.ts'
import type { ReadContext } from './content/body.ts'
import { contentOperations } from './content/operations.ts'
import { keepSources } from './content/keep-sources.ts'
import { openPartPlaces } from './content/part-places.ts'
import { listOwnBlobs, sweepOrphans } from './content/sweep-orphans.ts'
import { sweepMessageCopies } from './content/record-copy.ts'
import { sweepBlobs } from './content/record-blobs.ts'
import { beginOwnerWalk } from './content/unwanted-owners.ts'
import { mailboxChangeOperations } from './mailboxes/change-operations.ts'
import { mailboxOperations } from './mailboxes/operations.ts'
import { messageChangeOperations } from './messages/change-operations.ts'
import { identityOperations } from './identities/operations.ts'
import { mailSettingOperations } from './mail-settings/operations.ts'
import { directionsHandler } from './messages/directions-job.ts'
import { messageOperations } from './messages/operations.ts'
import { settleDraftHandler } from './messages/settle-draft-job.ts'
import { purgeMail } from './purge.ts'
import { searchOperations } from './search/operations.ts'
import { countStaleAccounts } from '../../accounts/halves/search-version.ts'
import { threadChangeOperations } from './threads/change-operations.ts'
import { threadOperations } from './threads/operations.ts'
import { sweepThreadLinks } from './threads/sweep.ts'
import { MAIL_TIMES } from './stored-times.ts'

/** Bodies are handed over in batches of small ones: while this thread does something else, the reading one goes on. */
const BODIES_READ_AT_ONCE = 32
/** Accounts whose searches at their provider are counted at once. */
const SEARCHED_ACCOUNTS_MAX = 100_000
/** Most of the database's connections and processors are for requests that are quick. */
const SEARCHES = { atOnce: 4, kept: 1, waitingMax: 64, waitingOfOneMax: 16 }

export function openMail(resources: Resources) {
  const {
    db,
    keyRing,
    config,
    blobs,
    connections,
    limits,
    clock,
    log,
    metrics,
    instance,
    waker,
    wakes,
    opened,
  } = resources
  const stored = { db, blobs, accountKeys: accountKeys(keyRing), log }
  // Apart from the reader of the API, whose callers wait.
  const reader = opened.use(openMessageReader({ readsAtOnce: BODIES_READ_AT_ONCE }))
  const isFollowing = config.roles.includes('sync')
  const bodies = opened.use(
    openBodyIndex({
      ...stored,
      reader,
      findOwnerId: () => (isFollowing ? (instance.lease?.id ?? null) : null),
      isFollowed: (accountId): boolean => bodyStoring.isFollowed(accountId),
      tellOwner: accountId => waker.wake(accountId, 'waxwing_body'),
    }),
  )
  const wakeSync = (accountId: string) => waker.wake(accountId)
  const source = { ...stored, connections, bodies, wakeSync }
  const bodyStoring: BodyStoring = opened.use(new BodyStoring({ ...source, reader, clock }))
  if (isFollowing) {
    wakes.on(['waxwing_wake'], {
      onWake: ids => bodyStoring.wake(ids),
      onListening: () => bodyStoring.wake(null),
    })
    wakes.on(['waxwing_body'], { onWake: ids => bodies.look(ids), onListening: () => undefined })
  }
  const content: ReadContext = {
    ...source,
    reader: opened.use(openMessageReader()),
    partPlaces: openPartPlaces(),
  }
  const owners = beginOwnerWalk()
  const wing = {
    operations: {
      mailboxes: { ...mailboxOperations, ...mailboxChangeOperations({ connections }) },
      messages: {
        ...messageOperations,
        ...messageChangeOperations({ connections }),
        ...contentOperations(content),
      },
      threads: { ...threadOperations, ...threadChangeOperations({ connections }) },
      identities: identityOperations({ db, connections }),
      mailSettings: mailSettingOperations,
      search: searchOperations({
        connections,
        searches: openFairSemaphore(SEARCHES),
        providerSearches: limits.openWindows({ windowsMax: SEARCHED_ACCOUNTS_MAX }),
      }),
    },
    jobHandlers: [directionsHandler(db), settleDraftHandler({ db, connections })],
    recurringTasks: ({ ownedBlobs }) => [
      {
        name: 'sweep_blobs',
        schedule: everyMinutes(1),
        run: signal => sweepBlobs(db, blobs, signal, owners),
      },
      {
        name: 'sweep_orphans',
        schedule: hourlyAt(51),
        run: signal => sweepOrphans({ db, blobs, ownedBlobs, clock, log }, signal),
      },
      { name: 'sweep_uploads', schedule: everyMinutes(10), run: signal => blobs.sweepUploads(signal) },
      { name: 'sweep_message_copies', schedule: hourlyAt(43), run: signal => sweepMessageCopies(db, signal) },
      { name: 'sweep_thread_links', schedule: dailyAt(3, 23), run: signal => sweepThreadLinks(db, signal) },
    ],
    startWorkers(workers) {
      const rewritten = new Counter({
        name: 'waxwing_search_documents_rewritten_total',
        help: 'Search documents that this process has rewritten by the rules of its release',
        registers: [metrics],
      })
      const onRewritten = (count: number) => rewritten.inc(count)
      workers.use(new DocumentRewriter({ ...stored, reader, clock, onRewritten }))
    },
    gauges: [
      askingGauge(
        'waxwing_search_accounts_stale',
        'Accounts of the whole installation whose search documents have not yet been rewritten for this release',
        () => countStaleAccounts(db),
      ),
    ],
    ownedBlobs: ids => listOwnBlobs(db, ids),
    purgeStep: (accountId, signal) => purgeMail(db, blobs, accountId, signal),
    follower: opened.use(
      openMailFollower({
        db,
        log,
        storeBodies(owned) {
          const followed = bodyStoring.follow(owned)
          // The last owner may have stored bodies that it did not index.
          bodies.look([owned.id])
          return { ...followed, keepSources: sources => keepSources({ ...source, reader }, owned, sources) }
        },
      }),
    ),
    storedTimes: MAIL_TIMES,
  } satisfies Wing
  return { ...wing, content }
}
