import type { Calendar, CalendarChange } from '@waxwing/contract/calendars/calendars.ts'
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { newId } from '../../../kit/ids.ts'
import { isStorableKey, storable } from '../../../kit/storable.ts'
import type { EventAddress, RemoteCalendar } from '../../../providers/calendars.ts'

/** The account whose calendars are recorded, as the database has it now. */
export interface CalendarAccount {
  id: string
  tenantId: string
  /** Whether the first sync is complete: before it, nothing is announced. */
  isInitialized: boolean
  /** Whether the grant of the account allows writes at all. */
  grantsWrites: boolean
}

/** The columns of a calendar, without its cursor. */
export interface CalendarColumns {
  id: string
  provider_key: string
  name: string
  description: string | null
  owner: EventAddress | null
  is_primary: boolean
  access: RemoteCalendar['access']
  can_edit: boolean
  color: string | null
  time_zone: string | null
  is_hidden: boolean
  position: number
}

/** The zone in which whole days and floating times of a calendar lie: its own, else that of the primary one, else UTC. */
export function unzonedOf(
  { time_zone: own }: Pick<CalendarColumns, 'time_zone'>,
  calendars: readonly CalendarColumns[],
): string {
  return own ?? calendars.find(calendar => calendar.is_primary)?.time_zone ?? 'UTC'
}

/** Calendars whose events depend on something else by now, with their new basis. */
export function outdatedBases(
  calendars: ReadonlyArray<CalendarColumns & { basis: string }>,
  own: ReadonlySet<string>,
): Array<{ id: string; basis: string }> {
  return calendars.flatMap(calendar => {
    const basis = basisOf(unzonedOf(calendar, calendars), own)
    return basis === calendar.basis ? [] : [{ id: calendar.id, basis }]
  })
}

/** A digest of the facts besides themselves that the events of a calendar depend on. */
function basisOf(unzoned: string, own: ReadonlySet<string>): string {
  const facts = JSON.stringify([unzoned, ...[...own].toSorted()])
  return createHash('sha256').update(facts).digest('base64url')
}

/**
 * The calendars of a list, without what the interface wrote after the index was read: the list may be older, so these stay
 * as the index has them.
 * @param seen the calendars of the index before the list was asked for
 * @param indexed those of now
 */
export function withoutWritten(
  remotes: readonly RemoteCalendar[],
  seen: readonly CalendarColumns[],
  indexed: readonly CalendarColumns[],
): RemoteCalendar[] {
  const before = new Map(seen.map(calendar => [calendar.id, calendar]))
  const written = indexed.filter(calendar => {
    const known = before.get(calendar.id)
    return !known || changedCalendarFields(known, calendar).length > 0
  })
  const left = new Set(indexed.map(({ id }) => id))
  const held = new Map(written.map(calendar => [calendar.provider_key, calendar]))
  const ended = new Set(seen.flatMap(({ id, provider_key: key }) => (left.has(id) ? [] : [key])))
  const listed = new Set(remotes.map(({ key }) => key))
  const added = written.filter(({ provider_key: key }) => !listed.has(key))
  return [
    ...remotes.flatMap(remote => {
      const calendar = held.get(remote.key)
      if (calendar) return [remoteOf(calendar, remote.isPrimary)]
      return ended.has(remote.key) ? [] : [remote]
    }),
    ...added.map(calendar => remoteOf(calendar, null)),
  ]
}

function remoteOf(columns: CalendarColumns, isPrimary: boolean | null): RemoteCalendar {
  const { provider_key: key, name, description, owner, access, color } = columns
  const { time_zone: timeZone, is_hidden: isHidden } = columns
  return { key, name, description, owner, isPrimary, access, color, timeZone, isHidden }
}

export interface CalendarsPlan {
  inserted: CalendarColumns[]
  updated: Array<{ columns: CalendarColumns; changes: CalendarChange[] }>
  /** Calendars of the index that the provider does not list. */
  vanished: CalendarColumns[]
}

/** Decides what brings the calendars of the index to those that the provider lists. */
export function planCalendars(
  indexed: readonly CalendarColumns[],
  remotes: readonly RemoteCalendar[],
  grantsWrites: boolean,
): CalendarsPlan {
  const left = new Map(indexed.map(calendar => [calendar.provider_key, calendar]))
  const plan: CalendarsPlan = { inserted: [], updated: [], vanished: [] }
  const listed = new Map(remotes.filter(({ key }) => isStorableKey(key)).map(remote => [remote.key, remote]))
  const primaryKey = primaryKeyOf(indexed, [...listed.values()])
  for (const [position, remote] of [...listed.values()].entries()) {
    const before = left.get(remote.key)
    left.delete(remote.key)
    const columns = columnsOf(before?.id ?? newId(), remote, {
      position,
      isPrimary: remote.key === primaryKey,
      grantsWrites,
    })
    if (!before) {
      plan.inserted.push(columns)
      continue
    }
    const changes = changedCalendarFields(before, columns)
    if (changes.length > 0 || before.position !== position) plan.updated.push({ columns, changes })
  }
  plan.vanished = [...left.values()]
  for (const calendar of plan.vanished)
    if (calendar.is_primary && calendar.provider_key !== primaryKey)
      plan.updated.push({ columns: { ...calendar, is_primary: false }, changes: ['isPrimary'] })
  return plan
}

export function columnsOf(
  id: string,
  remote: RemoteCalendar,
  { position, isPrimary, grantsWrites }: { position: number; isPrimary: boolean; grantsWrites: boolean },
): CalendarColumns {
  const { description, owner } = remote
  return {
    id,
    provider_key: remote.key,
    name: storable(remote.name),
    description: description === null ? null : storable(description),
    owner: owner && {
      name: owner.name === null ? null : storable(owner.name),
      address: storable(owner.address),
    },
    is_primary: isPrimary,
    access: remote.access,
    can_edit: grantsWrites && isWritable(remote.access),
    color: remote.color === null ? null : storable(remote.color),
    time_zone: remote.timeZone,
    is_hidden: remote.isHidden,
    position,
  }
}

/**
 * The key of the primary calendar: the one that the provider names, else the one that is it by now, else the writable one
 * that was indexed first. A calendar that is not listed counts until it is certainly gone. Null if there is none.
 */
function primaryKeyOf(
  indexed: readonly CalendarColumns[],
  remotes: readonly RemoteCalendar[],
): string | null {
  const named = remotes.find(({ isPrimary }) => isPrimary === true)
  if (named) return named.key
  const listed = new Set(remotes.map(({ key }) => key))
  const doubted = indexed.flatMap(({ provider_key: key, access }) =>
    listed.has(key) ? [] : [{ key, access }],
  )
  const writable = new Set(
    [...remotes, ...doubted].flatMap(({ key, access }) => (isWritable(access) ? [key] : [])),
  )
  // Ids grow with the time at which they are made.
  const known = indexed
    .filter(calendar => writable.has(calendar.provider_key))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const kept = known.find(calendar => calendar.is_primary) ?? known[0]
  return kept?.provider_key ?? [...writable][0] ?? null
}

const isWritable = (access: RemoteCalendar['access']) => access === 'owner' || access === 'writer'

export function presentCalendar(columns: CalendarColumns): Calendar {
  return {
    id: columns.id,
    name: columns.name,
    description: columns.description,
    owner: columns.owner && { name: columns.owner.name, address: columns.owner.address },
    isPrimary: columns.is_primary,
    access: columns.access,
    canEdit: columns.can_edit,
    color: columns.color,
    timeZone: columns.time_zone,
    isHidden: columns.is_hidden,
  }
}

/** The names of the fields that differ, as `calendar.updated` has them. */
export function changedCalendarFields(before: CalendarColumns, after: CalendarColumns): CalendarChange[] {
  const [one, other] = [presentCalendar(before), presentCalendar(after)]
  const names = Object.keys(other) as Array<keyof Calendar>
  return names.filter(
    (name): name is CalendarChange => name !== 'id' && !isDeepStrictEqual(one[name], other[name]),
  )
}
