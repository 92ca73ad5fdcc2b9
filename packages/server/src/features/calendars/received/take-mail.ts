import { sql } from 'kysely'
import { homeOf } from '../../../accounts/halves/home.ts'
import { type ReachedAccount, reachedHalf } from '../../../accounts/reach.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { effectiveSettings } from '../../../accounts/settings.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import type {
  ItemPlace,
  MailedEvent,
  MailedInvitation,
  WriteOptions,
  WrittenEvents,
} from '../../../providers/changing-calendars.ts'
import { findModule } from '../../tenancy/plans/store.ts'
import { findHome } from '../calendars/home.ts'
import { findCalendarFacts } from '../calendars/record-account.ts'
import { endedCalendars, listCalendars } from '../calendars/store.ts'
import { lookAtIndex, type SeenState } from '../writing/seen-state.ts'
import type { InvitationsMode } from './following.ts'
import { isKnown } from './known-organizer.ts'

/** The calendars of the account are not there yet, so that the mail is read later. */
export class CalendarsAwaited extends Error {
  override name = 'CalendarsAwaited'
}

/** Copies of an event that are looked at. */
const PLACES_MAX = 10
const TELLS_SECONDS = 20

export interface TakeOptions {
  db: Db
  connections: Connections
  mode: InvitationsMode
}

/**
 * The account as its calendars are reached. Null if they are switched off.
 * @throws CalendarsAwaited
 */
export async function reachCalendars(db: Db, account: AccountView): Promise<ReachedAccount | null> {
  const { id, tenant_id: tenantId, tenant_settings: settings } = account
  const isOn =
    effectiveSettings(settings, account).calendarEnabled && (await findModule(db, tenantId, 'calendar'))
  if (!isOn) return null
  const reached = reachedHalf(account, 'calendar')
  const half = account.other_halves?.find(({ kind }) => kind === 'calendar')
  if (!reached || half?.initializedAt == null || (await findHome(db, id)) !== homeOf(account, 'calendar'))
    throw new CalendarsAwaited('The calendars of the account are not read yet')
  return reached
}

/**
 * Brings the event of a mail to the state that the mail has, at the provider. A provider that itself tells people of invitations
 * is left alone.
 * @returns with the state of the index before; null if there was nothing to do; `awaited` if the index lacks the event that the mail
 * answers or ends
 */
export async function takeMail(
  { db, connections, mode }: TakeOptions,
  reached: ReachedAccount,
  { mail, window }: { mail: MailedInvitation; window: CalendarWindow },
): Promise<{ written: WrittenEvents; seen: SeenState } | 'awaited' | null> {
  const { id: accountId } = reached
  const { own, self } = await findCalendarFacts(db, accountId)
  const options: WriteOptions = { self, own, notify: false, concernsOthers: false, window }
  return connections.use(
    reached,
    'calendars',
    async ({ writer }) => {
      const event = await writer.readInvitation?.(mail, options)
      if (!event || !isStorableKey(event.uid)) return null
      const places = await listPlaces(db, accountId, event.uid)
      const isNew = places.length === 0 && event.method === 'request'
      if (isNew && !(await mayEnter({ db, mode, accountId, own }, event, mail))) return null
      const calendarKey = places[0]?.calendarKey ?? (await findPrimaryKey(db, accountId))
      if (calendarKey === null) return null
      if (await writer.tellsPeople(calendarKey, AbortSignal.timeout(TELLS_SECONDS * 1_000))) return null
      if (places.length === 0 && !isNew) return 'awaited'
      const newEvent = isNew ? { uid: event.uid, calendarKey } : null
      const seen = await lookAtIndex(db, accountId, places[0]?.id ?? null)
      const written = await writer.takeInvitation?.({ mail, places, newEvent }, options)
      return written ? { written, seen } : null
    },
    { isRepeatable: false },
  )
}

/** Whether a new event may enter by itself: those who invite the account must be known to it. */
async function mayEnter(
  {
    db,
    mode,
    accountId,
    own,
  }: Pick<TakeOptions, 'db' | 'mode'> & { accountId: string; own: ReadonlySet<string> },
  { organizer }: MailedEvent,
  { from }: MailedInvitation,
): Promise<boolean> {
  if (mode !== 'all')
    for (const address of new Set([organizer, from]))
      if (!(await isKnown(db, { accountId, own }, address))) return false
  return true
}

/** The calendar that new events enter; null if there is none that can be written to. */
async function findPrimaryKey(db: Db, accountId: string): Promise<string | null> {
  const calendars = await listCalendars(db, accountId)
  return calendars.find(one => one.is_primary && one.can_edit)?.provider_key ?? null
}

interface HeldPlace extends ItemPlace {
  id: string
}

/** The places of the index that have the event of a UID, of calendars that can be written to, the primary one first. */
async function listPlaces(db: Db, accountId: string, uid: string): Promise<HeldPlace[]> {
  const { rows } = await sql<HeldPlace>`
    select held.id, calendar.provider_key as "calendarKey", held.provider_key as key
    from calendar_event as held join calendar on calendar.id = held.calendar_id
    where held.account_id = ${accountId} and held.uid = ${uid} and held.kind <> 'exception'
      and held.provider_key is not null and held.missing_look is null
      and calendar.can_edit and calendar.id <> all(${endedCalendars(accountId)})
    order by calendar.is_primary desc, held.id limit ${PLACES_MAX}
  `.execute(db)
  return rows
}
