import { Counter, type Metric, type Registry } from 'prom-client'
import { EventFollower } from '../../events/follow.ts'
import { everyMinutes, hourlyAt } from '../../jobs/schedule.ts'
import { askingGauge } from '../../kit/metrics.ts'
import { openMessageReader } from '../../kit/mime/message-reader.ts'
import { openSlicedWork } from '../../kit/sliced-work.ts'
import { openRenderer } from '../../kit/templating/renderer.ts'
import type { Wing } from '../../wing/wing.ts'
import type { Resources } from '../../wing/resources.ts'
import { accountKeys } from '../../accounts/secrets.ts'
import type { ReadContext } from '../mail/content/body.ts'
import { AnswerWorker } from './answers/answer-worker.ts'
import { answersFollowing } from './answers/following.ts'
import { answerMetrics } from './answers/metrics.ts'
import { countAnswers } from './answers/pending.ts'
import { bounceMetrics } from './bounces/metrics.ts'
import { invitationFailures } from './invitations/failures.ts'
import type { InvitationServices } from './invitations/write-invitations.ts'
import { draftOperations } from './drafts/operations.ts'
import { removeSentDraftHandler } from './drafts/remove-sent-draft.ts'
import { mailMergeOperations } from './mail-merges/operations.ts'
import { openLinks } from './links.ts'
import { EndWatch } from './outbox/await-end.ts'
import { wakeAccounts } from './outbox/claims.ts'
import { sweepContent } from './outbox/content.ts'
import { findDoubleCopies, settleCopiesHandler } from './outbox/double-copies.ts'
import type { OnEnded } from './outbox/end-news.ts'
import { holdAfterRestore } from './outbox/held.ts'
import { countQueuedToday } from './accepting/limits.ts'
import { openLargeContents } from './accepting/large-contents.ts'
import { outboxOperations } from './outbox/operations.ts'
import { OutboxWorker } from './outbox/outbox-worker.ts'
import { measureOutbox } from './outbox/store.ts'
import { TermReads } from './accepting/sending-terms.ts'
import { openSharedAccepts } from './accepting/shared-accepts.ts'
import { failHeldBack, failOftenLost, settleByCopies, sweepEntries } from './outbox/sweep.ts'
import { purgeSending } from './purge.ts'
import { suppressionOperations } from './suppressions/operations.ts'
import { suppressionReviewOperations } from './suppressions/review-operations.ts'
import { sweepLists } from './suppressions/sweep-lists.ts'
import { unsubscribeRoute } from './suppressions/unsubscribe-route.ts'
import { templateOperations } from './templates/operations.ts'
import { templateRenderOperations } from './templates/render-operations.ts'
import { TemplateReads } from './templates/store.ts'
import { startJudging } from './tracking/judge-worker.ts'
import { ItemNotes } from './tracking/note-items.ts'
import { trackingOperations } from './tracking/operations.ts'
import { trackingRoutes } from './tracking/routes.ts'
import { countPaused, sweepTracking } from './tracking/store.ts'
import { SENDING_TIMES } from './stored-times.ts'

/** @param content reads messages of mail */
export async function openSending(resources: Resources, content: ReadContext) {
  const { db, keyRing, config, opened, connections, instance, pulse, waker, wakes, metrics, log } = resources
  // Before anything is accepted: a send that is accepted after a restore was certainly not sent before.
  await holdAfterRestore(db)
  const renderer = opened.use(openRenderer())
  const links = await openLinks(resources)
  const reach = resources.reachPoint
  const templates = opened.use(new TemplateReads(db))
  const services = {
    db,
    connections,
    accountKeys: accountKeys(keyRing),
    links,
    log,
    reach,
    renderer,
    slicesOf: openSlicedWork(),
    largeContents: openLargeContents(),
    templates,
    sharedAccepts: openSharedAccepts(db),
    termReads: opened.use(new TermReads(db)),
  }
  const unsubscribes = new Counter({
    name: 'waxwing_unsubscribes_total',
    help: 'Addresses that were put on a suppression list by the link of a message',
    registers: [metrics],
  })
  const countBounces = bounceMetrics(metrics)
  const failures = invitationFailures(metrics, log)
  const onEnded: OnEnded = ({ counts, failed }) => {
    countBounces('refusal', counts)
    failures.failed(failed)
  }
  const flooded = new Counter({
    name: 'waxwing_tracking_dropped_total',
    help: 'Opens and clicks that were not counted, since 10,000 of their message were waiting to be judged',
    registers: [metrics],
  })
  const notes = opened.use(
    new ItemNotes(db, {
      noted: accountId => waker.wake(accountId, 'waxwing_tracking'),
      flooded: () => flooded.inc(),
    }),
  )
  const settling = { db, connections, wakeSync: (accountId: string) => waker.wake(accountId) }
  const wing = {
    operations: {
      drafts: draftOperations({ ...services, content }),
      outbox: outboxOperations({ ...services, content, ends: new EndWatch(db) }),
      tracking: trackingOperations(services),
      mailMerges: mailMergeOperations({ ...services, content }),
      suppressions: suppressionOperations,
      suppressionReviews: suppressionReviewOperations,
      templates: templateOperations({ renderer }),
      templateRenders: templateRenderOperations(services),
    },
    counts: { sendsToday: countQueuedToday },
    publicRoutes: [
      unsubscribeRoute({ db, links, onUnsubscribed: () => unsubscribes.inc() }),
      ...trackingRoutes({ ...services, notes, keepsAddresses: config.trackingIp }),
    ],
    jobHandlers: [removeSentDraftHandler(settling), settleCopiesHandler(settling)],
    recurringTasks: () => [
      {
        name: 'fail_sends',
        schedule: everyMinutes(1),
        async run(signal) {
          onEnded(await failHeldBack(db, signal))
          onEnded(await failOftenLost(db, signal))
        },
      },
      { name: 'settle_sends', schedule: everyMinutes(1), run: signal => settleByCopies(db, signal) },
      { name: 'settle_sent_copies', schedule: everyMinutes(1), run: signal => findDoubleCopies(db, signal) },
      { name: 'sweep_suppression_lists', schedule: everyMinutes(10), run: signal => sweepLists(db, signal) },
      { name: 'sweep_outbox', schedule: hourlyAt(17), run: signal => sweepEntries(db, signal) },
      { name: 'sweep_tracking', schedule: hourlyAt(37), run: signal => sweepTracking(db, signal) },
      { name: 'sweep_outbox_content', schedule: hourlyAt(27), run: signal => sweepContent(db, signal) },
    ],
    startWorkers(workers) {
      const attempts = new Counter({
        name: 'waxwing_send_attempts_total',
        help: 'Attempts of this process to send a message, by how they ended',
        labelNames: ['outcome'],
        registers: [metrics],
      })
      const worker = workers.use(
        new OutboxWorker({
          ...services,
          instance,
          pulse,
          wakeSync: accountId => waker.wake(accountId),
          onAttempt: outcome => attempts.inc({ outcome }),
          onEnded,
        }),
      )
      const wake = () => worker.wake()
      wakes.on(['waxwing_outbox'], { onWake: wake, onListening: wake })
      const judging = workers.use(startJudging({ ...services, onJudged: countTracked(metrics) }))
      const wakeJudging = () => judging.wake()
      wakes.on(['waxwing_tracking'], { onWake: wakeJudging, onListening: wakeJudging })
      const wakeChanged = (ids: string[]) =>
        void wakeAccounts(db, ids).then(wake, (error: unknown) =>
          log.warn({ error }, 'Accounts that changed are looked at within a minute'),
        )
      wakes.on(['waxwing_wake'], { onWake: wakeChanged, onListening: wake })
      startAnswers(resources, {
        content,
        workers,
        onAnswer: answerMetrics(metrics, counts => countBounces('report', counts)),
      })
    },
    gauges: outboxGauges(resources),
    purgeStep: (accountId, signal) => purgeSending(db, accountId, signal),
    storedTimes: SENDING_TIMES,
  } satisfies Wing
  const { accountKeys: keys, largeContents, slicesOf } = services
  const { dropped } = failures
  const invitations: InvitationServices = { accountKeys: keys, largeContents, slicesOf, reach, dropped }
  return { ...wing, invitations }
}

/** Looks at answers to sends: follows the events, and reads the messages that they name. */
function startAnswers(
  resources: Resources,
  {
    content,
    workers,
    onAnswer,
  }: {
    content: ReadContext
    workers: AsyncDisposableStack
    onAnswer: ReturnType<typeof answerMetrics>
  },
): void {
  const { db, instance, pulse, news, wakes, log, opened, reachPoint: reach } = resources
  const worker = workers.use(
    new AnswerWorker({
      ...content,
      // Apart from the reader of the API, whose callers wait.
      reader: opened.use(openMessageReader()),
      instance,
      pulse,
      reach,
      onAnswer,
    }),
  )
  workers.use(
    new EventFollower({
      db,
      log,
      news,
      subscription: answersFollowing,
      onHandled: () => worker.wake(),
      reach,
    }),
  )
  wakes.on(['waxwing_wake'], { onWake: ids => worker.wakeAccounts(ids), onListening: () => worker.wake() })
}

function outboxGauges({ db }: Resources): Metric[] {
  return [
    askingGauge(
      'waxwing_outbox_queued',
      'Messages of the whole installation that wait to be sent',
      async () => (await measureOutbox(db)).queued,
    ),
    askingGauge(
      'waxwing_outbox_oldest_due_seconds',
      'Seconds that the longest-waiting message of the whole installation has been due',
      async () => (await measureOutbox(db)).oldestDueSeconds,
    ),
    askingGauge(
      'waxwing_answers_waiting',
      'Messages of the whole installation that may answer a send, and are still to be looked at',
      () => countAnswers(db),
    ),
    askingGauge(
      'waxwing_tracking_failing',
      'Messages of the whole installation whose opens and clicks could not be judged, and are tried again later',
      () => countPaused(db),
    ),
  ]
}

function countTracked(metrics: Registry): (kind: 'open' | 'click', isMachine: boolean) => void {
  const options = { labelNames: ['machine'], registers: [metrics] }
  const counters = {
    open: new Counter({
      name: 'waxwing_opens_total',
      help: 'Opens of sent messages, by people and programs',
      ...options,
    }),
    click: new Counter({
      name: 'waxwing_clicks_total',
      help: 'Clicks in sent messages, by people and programs',
      ...options,
    }),
  }
  return (kind, isMachine) => counters[kind].inc({ machine: String(isMachine) })
}
