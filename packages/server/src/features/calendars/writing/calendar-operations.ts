import { implement } from '@orpc/server'
import { type Calendar, calendars } from '@waxwing/contract/calendars/calendars.ts'
import { askWithinChange } from '../../../accounts/ask-for-sync.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isUuid } from '../../../kit/ids.ts'
import type { CalendarsProvider, RemoteCalendar } from '../../../providers/calendars.ts'
import type { CalendarFields } from '../../../providers/changing-calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { recordEndedCalendars } from '../calendars/record.ts'
import { lockCalendars } from '../calendars/record-account.ts'
import { recordWrittenCalendar } from '../calendars/record-written.ts'
import { changedCalendarFields, presentCalendar } from '../calendars/rules.ts'
import { type IndexedCalendar, listCalendars } from '../calendars/store.ts'
import { requireCalendars } from '../events/access.ts'
import { changeCalendars, requireWritable } from './ask-provider.ts'
import { requireZone } from './read-input.ts'
import { requireEditable } from './require-target.ts'
import { Overtaken } from './seen-state.ts'

const LISTING_SECONDS = 30

const on = implement(calendars).$context<RequestContext>()

/** The operations that change calendars at the provider of their account. */
export function calendarWriteOperations({ connections }: { connections: Connections }) {
  return {
    create: on.create.handler(async ({ input: { params, body }, context }) => {
      const account = await requireCalendars(context, params.accountId)
      const { name, description = null, color = null, timeZone = null } = readFields(body)
      const reached = await requireWritable(context, account)
      const { id: creationId, isResumed: mayExist } = context.attempt
      const fields = { name: name ?? '', description, color, timeZone }
      const remote = await changeCalendars(context, connections, reached, {
        marked: [],
        work: ({ writer }) => writer.createCalendar({ ...fields, creationId, mayExist }),
      })
      return context.change(unit => record(unit, account.id, remote, null))
    }),

    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const account = await requireCalendars(context, params.accountId)
      const calendar = await requireCalendar(context, account.id, params.calendarId)
      const change = readFields(body)
      const reached = await requireWritable(context, account)
      requireEditable(calendar)
      if (Object.keys(change).length === 0) return context.change(async () => presentCalendar(calendar))
      const { provider_key: key } = calendar
      const changed = await changeCalendars(context, connections, reached, {
        marked: [],
        work: ({ writer }) => writer.changeCalendar(key, change),
      })
      const ask = async () => {
        const listing = AbortSignal.timeout(LISTING_SECONDS * 1_000)
        const work = (provider: CalendarsProvider) => provider.listCalendars(listing)
        const listed = await changeCalendars(context, connections, reached, { marked: [], work })
        return listed.find(one => one.key === key) ?? null
      }
      return recordLatest(context, account.id, { before: calendar, changed, ask })
    }),

    delete: on.delete.handler(async ({ input: { params }, context }) => {
      const account = await requireCalendars(context, params.accountId)
      const calendar = await requireCalendar(context, account.id, params.calendarId)
      const reached = await requireWritable(context, account)
      if (calendar.is_primary) refuse('calendar_primary')
      requireEditable(calendar)
      if (calendar.access !== 'owner') refuse('calendar_read_only')
      await changeCalendars(context, connections, reached, {
        marked: [],
        // It may be gone already, by an earlier try of this request.
        work: ({ writer }) => writer.removeCalendar(calendar.provider_key).catch(unlessGone),
      })
      return context.change(async unit => {
        const locked = await lockCalendars(unit, account.id)
        await recordEndedCalendars(unit, locked.account, [calendar])
        // The next look deletes its events.
        await askWithinChange(unit.sql, account, 'calendar')
        unit.wake(account.id)
        return null
      })
    }),
  }
}

/** @param changedId the calendar that was changed; null: it is new */
async function record(
  unit: UnitOfWork,
  accountId: string,
  remote: RemoteCalendar,
  changedId: string | null,
): Promise<Calendar> {
  const { account } = await lockCalendars(unit, accountId)
  const columns = await recordWrittenCalendar(unit, account, remote, changedId)
  return presentCalendar(columns ?? refuse(changedId === null ? 'provider_conflict' : 'calendar_not_found'))
}

/** A change is read again so often if the index gets another state of its calendar meanwhile. */
const READS_MAX = 3

/**
 * Records a changed calendar. If the index got another state of it since the provider was asked, the provider is asked again,
 * so that the older state is not recorded last.
 * @param before the calendar of the index before the provider was asked
 * @param ask asks for the calendar as it is now; null: it is gone
 */
async function recordLatest(
  context: RequestContext,
  accountId: string,
  {
    before,
    changed,
    ask,
  }: { before: IndexedCalendar; changed: RemoteCalendar; ask: () => Promise<RemoteCalendar | null> },
): Promise<Calendar> {
  let [seen, remote] = [before, changed]
  for (let reads = 0; ; reads++) {
    try {
      return await context.change(async unit => {
        await lockCalendars(unit, accountId)
        const now = await findCalendar(unit.sql, accountId, before.id)
        const isOther = now !== null && changedCalendarFields(seen, now).length > 0
        if (isOther && reads < READS_MAX) throw new Overtaken()
        return record(unit, accountId, remote, before.id)
      })
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error
    }
    seen = (await findCalendar(context.db, accountId, before.id)) ?? refuse('calendar_not_found')
    remote = (await ask()) ?? refuse('calendar_not_found')
  }
}

/** The fields that a body names. A blank description clears, like null. */
function readFields({
  name,
  description,
  color,
  timeZone,
}: {
  [Name in keyof CalendarFields]?: CalendarFields[Name] | undefined
}): Partial<CalendarFields> {
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description: description?.trim() ? description : null }),
    ...(color !== undefined && { color: color && color.toLowerCase() }),
    ...(timeZone !== undefined && { timeZone: timeZone && requireZone(timeZone, 'timeZone') }),
  }
}

async function requireCalendar(
  { db }: RequestContext,
  accountId: string,
  calendarId: string,
): Promise<IndexedCalendar> {
  const id = calendarId.toLowerCase()
  return (isUuid(id) ? await findCalendar(db, accountId, id) : null) ?? refuse('calendar_not_found')
}

async function findCalendar(db: Db, accountId: string, id: string): Promise<IndexedCalendar | null> {
  return (await listCalendars(db, accountId)).find(calendar => calendar.id === id) ?? null
}

function unlessGone(error: unknown): void {
  if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
}
