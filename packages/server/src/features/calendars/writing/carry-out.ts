import type { ReachedAccount } from '../../../accounts/reach.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { Refusal, refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { WriteOptions, WrittenEvents } from '../../../providers/changing-calendars.ts'
import { findMeeting } from '../invitations/load-meetings.ts'
import type { Meeting } from '../invitations/meeting.ts'
import { lockCalendars } from '../calendars/record-account.ts'
import { askForWrite, type AskedWrite, readWritten } from './ask-events.ts'
import { askForLook, type CalendarKeys, changeCalendars } from './ask-provider.ts'
import { beginIntent, endIntent, isNoted, type NotedWrite, whileLeased, type WriteIntent } from './intents.ts'
import { sendsNothing } from './mails.ts'
import type { LockedCalendars, RecordingWritten } from './record-written.ts'
import { requireTelling } from './require-telling.ts'
import type { Writing } from './require-target.ts'
import { lookAtIndex, Overtaken, requireSeen } from './seen-state.ts'

/** A write is read again so often if the index gets another state of it meanwhile. */
const READS_MAX = 3

/** A write of events, with all that recording it needs. */
export interface CarriedWrite<T> {
  /** The id of what it creates, and of its intent. A request that is sent again has the same. */
  id: string
  account: AccountView
  reached: ReachedAccount
  asked: AskedWrite
  to: WriteOptions
  /** The single or series in the index; null: it is new. */
  item: { id: string; isSeries: boolean } | null
  /** The item was moved to another calendar. */
  isMoved?: boolean
  /** The sync is asked about these keys if it is unsure whether anything was written. */
  marked: readonly CalendarKeys[]
  record(
    unit: UnitOfWork,
    locked: LockedCalendars,
    written: WrittenEvents,
    recording: RecordingWritten,
  ): Promise<T>
}

/**
 * Makes a write at the provider, and records it with its answer. A write that may be left half done is noted first, so that the
 * owner of the account finishes it if this process does not.
 */
export async function carryOut<T>(
  context: RequestContext,
  options: Writing & { connections: Connections },
  write: CarriedWrite<T>,
): Promise<T> {
  const { connections, mails } = options
  const { id, account, reached, to, item, marked } = write
  const { asked: given } = write
  const calendarKey = given.type === 'create' ? given.calendarKey : given.place.calendarKey
  const canMail = mails !== undefined
  const isMailed = await requireTelling(context, connections, reached, { calendarKey, marked, to, canMail })
  const itemId = item?.id ?? null
  const { notify, concernsOthers } = to
  const seen = await lookAtIndex(context.db, account.id, itemId)
  const intent: WriteIntent = { asked: given, item: seen.item, notify, concernsOthers, mailed: null }
  if (isMailed) {
    intent.mailed = { before: itemId === null ? null : await requireKept(context.db, account.id, itemId) }
    await mails?.requireSendable(context, account, intent)
  }
  const isIntended = isNoted(given, item?.isSeries ?? false, isMailed)
  const noted = isIntended
    ? await context.step(unit => beginIntent(unit, account.id, id, intent))
    : { id, intent, isNew: true }
  const asked = triedAgain(noted.intent.asked, given)
  const make = async () => {
    const written = await changeCalendars(context, connections, reached, {
      marked,
      // An earlier try may have done something, whatever becomes of this one.
      intentId: isIntended && noted.isNew ? noted.id : null,
      work: ({ writer }) => askForWrite(writer, asked, to),
    })
    return recordLatest(context, options, write, { noted, written, seen, isIntended })
  }
  return isIntended ? whileLeased(context.db, noted.id, make) : make()
}

/** The event before the write, with which its mails are made. Refuses if it is too large to be kept until then. */
async function requireKept(db: Db, accountId: string, itemId: string): Promise<Meeting | null> {
  const meeting = await findMeeting(db, accountId, itemId)
  if (meeting !== 'too_large') return meeting
  return refuse('provider_unsupported', undefined, {
    message:
      'The event has too many people and exceptions to tell its people by mail what changes. Give notify: false to write without that.',
  })
}

/** A write of an earlier try, as that meant it: the index may have its effect by now. */
function triedAgain(asked: AskedWrite, given: AskedWrite): AskedWrite {
  return 'creation' in asked && 'creation' in given ? { ...asked, creation: given.creation } : asked
}

interface Made {
  noted: NotedWrite
  written: WrittenEvents
  seen: Parameters<typeof requireSeen>[3]
  isIntended: boolean
}

/**
 * Records a write. If the index got another state of its items since the provider was asked, the provider is asked again,
 * so that the older state is not recorded last.
 */
async function recordLatest<T>(
  context: RequestContext,
  { connections, planner, mails }: Writing & { connections: Connections },
  { account, reached, to, item, isMoved, marked, record }: CarriedWrite<T>,
  { noted: { id, intent }, written: first, seen: before, isIntended }: Made,
): Promise<T> {
  const { window } = to
  let [written, seen] = [first, before]
  let isOvertaken = intent.item?.version !== before.item?.version
  for (let reads = 0; ; reads++) {
    const isLast = reads === READS_MAX
    const queue =
      intent.mailed && mails
        ? await mails.prepare(reached, { id, intent, written, isOvertaken })
        : sendsNothing
    try {
      return await planner.run(account.id, items =>
        context.change(async unit => {
          const locked = await lockCalendars(unit, account.id)
          if (!isLast) await requireSeen(unit, account.id, written, seen)
          const movedId = isMoved ? (item?.id ?? null) : null
          const answer = await record(unit, locked, written, { window, planner: items, movedId })
          await queue(unit)
          if (isIntended) await endIntent(unit, account.id, id)
          return answer
        }),
      )
    } catch (error) {
      if (!(error instanceof Overtaken)) {
        // It was written all the same.
        if (error instanceof Refusal) await askForLook(context, reached, marked)
        throw error
      }
    }
    isOvertaken = true
    seen = await lookAtIndex(context.db, account.id, item?.id ?? null)
    written = await changeCalendars(context, connections, reached, {
      marked,
      work: provider => readWritten(provider, written, window),
    })
  }
}
