import { implement } from '@orpc/server'
import { calendars } from '@waxwing/contract/calendars/calendars.ts'
import { askWithinChange } from '../../../accounts/ask-for-sync.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import { isUuid } from '../../../kit/ids.ts'
import type { RemoteCalendar } from '../../../providers/calendars.ts'
import type { CalendarFields } from '../../../providers/changing-calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { recordEndedCalendars } from '../calendars/record.ts'
import { lockCalendars } from '../calendars/record-account.ts'
import { recordWrittenCalendar } from '../calendars/record-written.ts'
import { presentCalendar } from '../calendars/rules.ts'
import { type IndexedCalendar, listCalendars } from '../calendars/store.ts'
import { requireCalendars } from '../events/access.ts'
import { changeCalendars, requireWritable } from './ask-provider.ts'
import { requireZone } from './read-input.ts'
import { requireEditable } from './require-target.ts'

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
        work: writer => writer.createCalendar({ ...fields, creationId, mayExist }),
      })
      return record(context, account.id, remote)
    }),

    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const account = await requireCalendars(context, params.accountId)
      const calendar = await requireCalendar(context, account.id, params.calendarId)
      const change = readFields(body)
      const reached = await requireWritable(context, account)
      requireEditable(calendar)
      if (Object.keys(change).length === 0) return context.change(async () => presentCalendar(calendar))
      const remote = await changeCalendars(context, connections, reached, {
        marked: [],
        work: writer => writer.changeCalendar(calendar.provider_key, change),
      })
      return record(context, account.id, remote)
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
        work: writer => writer.removeCalendar(calendar.provider_key).catch(unlessGone),
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

function record(context: RequestContext, accountId: string, remote: RemoteCalendar) {
  return context.change(async unit => {
    const { account } = await lockCalendars(unit, accountId)
    const columns = await recordWrittenCalendar(unit, account, remote)
    return presentCalendar(columns ?? refuse('provider_conflict'))
  })
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
    ...(timeZone !== undefined && { timeZone: timeZone && requireZone(timeZone) }),
  }
}

async function requireCalendar(
  { db }: RequestContext,
  accountId: string,
  calendarId: string,
): Promise<IndexedCalendar> {
  const id = calendarId.toLowerCase()
  const all = isUuid(id) ? await listCalendars(db, accountId) : []
  return all.find(calendar => calendar.id === id) ?? refuse('calendar_not_found')
}

function unlessGone(error: unknown): void {
  if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
}
