import type { AvailabilityQuestion } from '@waxwing/contract/calendars/availability.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { effectiveSettings } from '../../../accounts/settings.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import { openSlicedWork } from '../../../kit/sliced-work.ts'
import { askAttendees, asker } from './ask-attendees.ts'
import { type CountedCalendar, countCalendars } from './counted-calendars.ts'
import { findSlots, type FoundSlots } from './find-slots.ts'
import type { SlotQuestion } from './grid.ts'
import { findBusyTimes, findCalendars, findProvenTimes } from './store.ts'
import type { Party } from './watch-party.ts'

/** An account with what is known of its calendars. */
export interface AskedAccount extends Party {
  accountId: string
  calendars: CountedCalendar[]
  provenAt: Date | null
  /** Whether a series of a counted calendar has more occurrences than the index holds. */
  isTruncated: boolean
}

export interface Availability {
  accounts: AskedAccount[]
  attendees: Array<Party & { address: string }>
  found: FoundSlots
}

export interface FindingAvailability {
  connections: Connections
  inSlices: ReturnType<typeof openSlicedWork>
}

/**
 * Finds the slots in which accounts are free: their busy times are read from the index, and attendees are asked live. Refuses
 * with `unknown_calendar`.
 */
export async function findAvailability(
  { connections, inSlices }: FindingAvailability,
  context: RequestContext,
  views: readonly AccountView[],
  { body, question, mode }: { body: AvailabilityQuestion; question: SlotQuestion; mode: 'all' | 'any' },
): Promise<Availability> {
  const { range, before, after } = question
  const buffered = { start: range.start - before, end: range.end + after }
  const accounts = await readAccounts(context, views, { body, range: buffered })
  const { log } = context
  const askers = views.filter(mayAsk).flatMap(view => asker(view) ?? [])
  const asked = { addresses: body.attendees, range: buffered }
  const attendees = await askAttendees({ connections, log, gone: context.gone() }, askers, asked)
  const { requireAll, explain } = body
  const steps = findSlots({ ...question, accounts, attendees, mode, requireAll, explain })
  return { accounts, attendees, found: await inSlices(context.tenantId)(steps) }
}

async function readAccounts(
  { db }: RequestContext,
  views: readonly AccountView[],
  { body, range }: { body: AvailabilityQuestion; range: { start: number; end: number } },
): Promise<AskedAccount[]> {
  const accountIds = views.map(({ id }) => id)
  const calendars = await findCalendars(db, accountIds)
  const named = new Set(body.calendarIds)
  const known = new Set(calendars.map(({ id }) => id))
  const unknown = [...named].filter(id => !known.has(id))
  if (unknown.length > 0) refuseCalendars(unknown)
  const ofAccount = Map.groupBy(calendars, ({ accountId }) => accountId)
  const counted = new Map(accountIds.map(id => [id, countCalendars(ofAccount.get(id) ?? [], named)]))
  const isCounted = new Set(
    [...counted.values()].flat().flatMap(calendar => (calendar.isCounted ? [calendar.calendarId] : [])),
  )
  const resolved = views.filter(isResolved).map(({ id }) => id)
  const busy = await findBusyTimes(db, { accountIds: resolved, calendarIds: [...isCounted] }, range)
  const proven = body.explain ? await findProvenTimes(db, accountIds) : new Map<string, Date>()
  return accountIds.map(accountId => ({
    accountId,
    address: null,
    busy: busy.get(accountId) ?? null,
    calendars: counted.get(accountId) ?? [],
    provenAt: proven.get(accountId) ?? null,
    isTruncated: (ofAccount.get(accountId) ?? []).some(
      ({ id, isTruncated }) => isTruncated && isCounted.has(id),
    ),
  }))
}

const SHOWN_IDS_MAX = 3

function refuseCalendars(ids: readonly string[]): never {
  const more = ids.length > SHOWN_IDS_MAX ? ' and others' : ''
  const named = ids.slice(0, SHOWN_IDS_MAX).join(', ')
  refuse('unknown_calendar', undefined, {
    message: `No account that is asked about has these calendarIds: ${named}${more}.`,
  })
}

/** Whether the provider of an account may be asked about others. */
function mayAsk(view: AccountView): boolean {
  return view.status === 'active' && effectiveSettings(view.tenant_settings, view).calendarEnabled
}

/** Whether the index has the busy times of an account. */
function isResolved(view: AccountView): boolean {
  const half = view.other_halves?.find(({ kind }) => kind === 'calendar')
  return mayAsk(view) && (half?.initializedAt ?? null) !== null
}
