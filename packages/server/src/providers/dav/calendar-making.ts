import type { RemoteCalendar } from '../calendars.ts'
import type { CalendarFields, Creation } from '../changing-calendars.ts'
import { changingBy, type EffectRecord } from '../effect.ts'
import { ProviderFailure } from '../failure.ts'
import { askAll } from './ask.ts'
import { findCalendar } from './calendar-collections.ts'
import { requireWithin } from './collections.ts'
import { StatusFailure } from './failure.ts'
import { request } from './file-writing.ts'
import type { FileSource } from './files.ts'
import { canonicalPath, urlOf } from './hrefs.ts'
import { CAL, COLOR, D, mkcalendarBody, type PropValues, proppatchBody } from './names.ts'

/* Making, changing and deleting calendars. */

/** Creates a calendar whose name on the server is the id of the creation, or finds the one of an earlier try. */
export function createCalendar(
  source: FileSource,
  { creationId, name, description, color, timeZone }: CalendarFields & Creation,
): Promise<RemoteCalendar> {
  return changingBy(identity, async record => {
    // A server may give each calendar a colour of its own.
    const given = Object.entries(valuesOf({ name, description, color, timeZone })).filter(
      ([, value]) => value !== null,
    )
    const values = Object.fromEntries(given)
    const path = `${canonicalPath(source.home.pathname)}/${creationId}`
    const isMade = await make(source, path, values, record)
    try {
      return await setValues(source, path, values, record)
    } catch (error) {
      // A calendar that lacks a field is none that was asked for.
      if (isMade && error instanceof ProviderFailure && error.kind === 'unsupported')
        await undo(() => request(source, { method: 'DELETE', path, isCollection: true }))
      throw error
    }
  })
}

/** A failure of it would hide the reason. */
async function undo(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
  }
}

export function changeCalendar(
  source: FileSource,
  key: string,
  change: Partial<CalendarFields>,
): Promise<RemoteCalendar> {
  return changingBy(identity, record =>
    setValues(source, requireWithin(key, source.home), valuesOf(change), record),
  )
}

export function removeCalendar(source: FileSource, key: string): Promise<void> {
  return changingBy(identity, async record => {
    const path = requireWithin(key, source.home)
    if (path === canonicalPath(source.home.pathname))
      throw new ProviderFailure('unsupported', 'The only calendar of this address cannot be deleted.')
    // Anything else at the path is left alone.
    await findCalendar(source.client, source.home, path)
    await record.run(() => request(source, { method: 'DELETE', path, isCollection: true }))
  })
}

const identity = (record: EffectRecord): EffectRecord => record

function valuesOf({ name, description, color, timeZone }: Partial<CalendarFields>): PropValues {
  if (timeZone !== undefined && timeZone !== null)
    throw new ProviderFailure('unsupported', 'The time zone of this calendar cannot be set.')
  return {
    ...(name !== undefined && { [D.displayname]: name }),
    // Within XML, other line breaks are read as these (XML 1.0 section 2.11).
    ...(description !== undefined && {
      [CAL.description]: description && description.replaceAll(/\r\n?/g, '\n'),
    }),
    ...(color !== undefined && { [COLOR]: color && `${color.toLowerCase()}ff` }),
  }
}

/** @returns whether the calendar is new */
async function make(
  source: FileSource,
  path: string,
  values: PropValues,
  record: EffectRecord,
): Promise<boolean> {
  const body = mkcalendarBody(values)
  try {
    await record.run(() => request(source, { method: 'MKCALENDAR', path, isCollection: true, body }))
    return true
  } catch (error) {
    if (!(error instanceof StatusFailure)) throw error
    // Servers refuse a path that is taken in several ways.
    const isThere = await findCalendar(source.client, source.home, path).catch(() => null)
    if (!isThere) throw error
    return false
  }
}

/** Sets the properties that differ. A server may have taken them with the calendar, or none of them. */
async function setValues(
  source: FileSource,
  path: string,
  values: PropValues,
  record: EffectRecord,
): Promise<RemoteCalendar> {
  const { client, home } = source
  const { calendar } = await findCalendar(client, home, path)
  const missing = Object.fromEntries(
    Object.entries(values).filter(([name, value]) => differs(calendar, name, value)),
  )
  const names = Object.keys(missing)
  if (names.length === 0) return calendar
  const set = (body: string) =>
    record.run(() => askAll(client, { method: 'PROPPATCH', url: urlOf(path, home, true), depth: '0', body }))
  await set(proppatchBody(missing))
  const { calendar: changed } = await findCalendar(client, home, path)
  // Servers report what they refused in too many ways.
  if (names.some(name => differs(changed, name, missing[name]!))) {
    const former = valuesOf({ ...calendar, timeZone: null })
    const taken = names.filter(name => differs(changed, name, former[name]!))
    if (taken.length > 0)
      await undo(() => set(proppatchBody(Object.fromEntries(taken.map(name => [name, former[name]!])))))
    throw new ProviderFailure('unsupported', 'The server does not store this field of a calendar.')
  }
  return changed
}

function differs(calendar: RemoteCalendar, name: string, value: string | null): boolean {
  if (name === D.displayname) return calendar.name !== value
  if (name === CAL.description) return calendar.description !== value
  return calendar.color !== (value && value.slice(0, 7))
}
