import { Counter } from 'prom-client'
import { countEndedChannels } from '../../accounts/grants/channels.ts'
import { EventFollower } from '../../events/follow.ts'
import { dailyAt, hourlyAt } from '../../jobs/schedule.ts'
import { askingGauge } from '../../kit/metrics.ts'
import { openMessageReader } from '../../kit/mime/message-reader.ts'
import type { Resources } from '../../wing/resources.ts'
import type { Wing } from '../../wing/wing.ts'
import type { ReadContext } from '../mail/content/body.ts'
import { availabilityOperations } from './availability/operations.ts'
import type { InvitationServices } from '../sending/invitations/write-invitations.ts'
import { calendarOperations } from './calendars/operations.ts'
import { calendarEventOperations } from './events/operations.ts'
import { openSpanPlanner, type SpanPlanner } from './events/planner.ts'
import { pruneWindows } from './events/prune.ts'
import { rollWindows } from './events/roll.ts'
import type { WindowDays } from './events/window.ts'
import { openInvitationMails } from './invitations/invitation-mails.ts'
import { openCalendarsFollower } from './following/follower.ts'
import { purgeCalendars } from './purge.ts'
import { invitationsFollowing } from './received/following.ts'
import { countInvitations } from './received/pending.ts'
import { ReceivedWorker } from './received/received-worker.ts'
import { CALENDAR_TIMES } from './stored-times.ts'
import { calendarWriteOperations } from './writing/calendar-operations.ts'
import { eventWriteOperations } from './writing/operations.ts'
import { measureUnfinished } from './writing/unfinished.ts'

/**
 * @param content reads messages of mail
 * @param invitations by which people are invited by mail
 */
export function openCalendars(
  resources: Resources,
  { content, invitations }: { content: ReadContext; invitations: InvitationServices },
) {
  const { db, config, clock, connections, log, metrics, opened } = resources
  const givenUp = new Counter({
    name: 'waxwing_calendar_writes_given_up_total',
    help: 'Interrupted writes of events that this process has given up, since they could not be finished',
    registers: [metrics],
  })
  const onGivenUp = () => givenUp.inc()
  const days = { past: config.calendarPastDays, ahead: config.calendarAheadDays }
  const planner = opened.use(openSpanPlanner(log))
  const mails = openInvitationMails({ db, days, clock, invitations })
  return {
    operations: {
      calendars: { ...calendarOperations, ...calendarWriteOperations({ connections }) },
      calendarEvents: {
        ...calendarEventOperations({ days, clock }),
        ...eventWriteOperations({ days, clock, planner, connections, mails }),
      },
      availability: availabilityOperations({ connections, days, clock }),
    },
    recurringTasks: () => [
      {
        name: 'roll_calendar_windows',
        schedule: hourlyAt(44),
        run: signal => rollWindows({ db, days, planner, log, clock }, signal),
      },
      {
        name: 'prune_calendar_windows',
        schedule: dailyAt(3, 52),
        run: signal => pruneWindows({ db, days, clock }, signal),
      },
    ],
    startWorkers: workers => startInvitations(resources, { content, days, planner, workers }),
    gauges: [
      askingGauge(
        'waxwing_invitations_waiting',
        'Messages of the whole installation that may be invitations, and are still to be read',
        () => countInvitations(db),
      ),
      askingGauge(
        'waxwing_calendar_writes_unfinished',
        'Writes of events of the whole installation that were interrupted, and are still to be finished',
        async () => (await measureUnfinished(db)).count,
      ),
      askingGauge(
        'waxwing_calendar_writes_unfinished_oldest_seconds',
        'Age of the oldest interrupted write of an event of the whole installation',
        async () => (await measureUnfinished(db)).oldestSeconds,
      ),
      askingGauge(
        'waxwing_calendar_channels_ended',
        'Calendars of the whole installation whose notifications have ended and were not asked for again',
        () => countEndedChannels(db),
      ),
    ],
    purgeStep: (accountId, signal) => purgeCalendars(db, accountId, signal),
    follower: openCalendarsFollower({ db, days, planner, mails, log, onGivenUp }),
    storedTimes: CALENDAR_TIMES,
  } satisfies Wing
}

/** Reads invitations that come by mail: follows the events, and takes the messages that they name. */
function startInvitations(
  resources: Resources,
  {
    content,
    days,
    planner,
    workers,
  }: { content: ReadContext; days: WindowDays; planner: SpanPlanner; workers: AsyncDisposableStack },
): void {
  const { db, config, clock, connections, instance, pulse, news, log, metrics, opened } = resources
  const { invitations: mode } = config
  const counted = new Counter({
    name: 'waxwing_invitations_total',
    help: 'Messages that this process read because they may be invitations, by what came of them',
    labelNames: ['outcome'],
    registers: [metrics],
  })
  const worker = workers.use(
    new ReceivedWorker({
      ...content,
      // Apart from the reader of the API, whose callers wait.
      reader: opened.use(openMessageReader()),
      connections,
      mode,
      days,
      planner,
      clock,
      instance,
      pulse,
      reach: resources.reachPoint,
      onInvitation: outcome => counted.inc({ outcome }),
    }),
  )
  workers.use(
    new EventFollower({
      db,
      log,
      news,
      subscription: invitationsFollowing(mode),
      onHandled: () => worker.wake(),
      reach: resources.reachPoint,
    }),
  )
}
