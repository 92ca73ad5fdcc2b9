import { createHash } from 'node:crypto'
import type { ItemPlace, MailedInvitation, WriteOptions, WrittenEvents } from '../changing-calendars.ts'
import type { EffectRecord } from '../effect.ts'
import { ProviderFailure } from '../failure.ts'
import { requireWithin } from './collections.ts'
import type { EventFileWriter } from './event-file-writer.ts'
import { editFile, EVENT_TYPE, type OpenCalendar, openCalendar } from './event-writing.ts'
import type { EventEdit } from './events/event-edit.ts'
import { StatusFailure } from './failure.ts'
import { overtaking, putFile, unchangedSince } from './file-writing.ts'
import { type FileSource, getFile } from './files.ts'
import { findByUid } from './listing.ts'

/* Invitations that came by mail, on servers that do not schedule. */

interface Taking {
  mail: MailedInvitation
  options: WriteOptions
  record: EffectRecord
}

/** As `CalendarsWriter.takeInvitation`. */
export async function takeInvitation(
  source: FileSource,
  files: EventFileWriter,
  asked: {
    mail: MailedInvitation
    places: readonly ItemPlace[]
    newEvent: { uid: string; calendarKey: string } | null
  },
  { options, record }: Pick<Taking, 'options' | 'record'>,
): Promise<WrittenEvents | null> {
  const { mail, places, newEvent } = asked
  const taking = { mail, options, record }
  for (const { calendarKey, key } of places) {
    const calendar = await openCalendar(source, calendarKey)
    const path = requireWithin(key, source.home)
    const taken = await change(source, calendar, path, taking)
    if (taken === 'gone') continue
    return taken === 'written' ? files.written(calendar, path, [path], options) : null
  }
  if (!newEvent) return null
  const calendar = await openCalendar(source, newEvent.calendarKey)
  const path = await create(source, calendar, newEvent.uid, taking)
  return path === null ? null : files.written(calendar, path, [path], options)
}

/** Brings the event of a file to the state that the mail has. */
async function change(
  source: FileSource,
  calendar: OpenCalendar,
  path: string,
  { mail, options, record }: Taking,
): Promise<'written' | 'as it was' | 'gone'> {
  try {
    return await overtaking(async () => {
      const file = await getFile(source, EVENT_TYPE, path)
      const edit: EventEdit = { type: 'mailed', ...mail }
      const bytes = await editFile(source, calendar, { bytes: file.bytes, edit, options, agent: null })
      if (!bytes || bytes.equals(file.bytes)) return 'as it was'
      const written = { path, bytes, type: EVENT_TYPE.type }
      await record.run(() => putFile(source, written, unchangedSince(file.etag)))
      return 'written'
    })
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return 'gone'
    throw error
  }
}

/** Servers answer so if a calendar has a UID already (RFC 4791 section 5.3.2.1), or a file of that name. */
const IS_THERE = new Set([403, 409, 412])

/**
 * Makes the file of an invitation.
 * @returns its path; null if the event is over, or the calendar has it as it is in the mail, or newer
 */
async function create(
  source: FileSource,
  calendar: OpenCalendar,
  uid: string,
  taking: Taking,
): Promise<string | null> {
  const { client, home } = source
  const { mail, options, record } = taking
  const held = async (path: string): Promise<string | null | 'gone'> => {
    const taken = await change(source, calendar, path, taking)
    return taken === 'written' ? path : taken === 'gone' ? 'gone' : null
  }
  const known = await findByUid(client, home, calendar.path, uid)
  const outcome = known === null ? 'gone' : await held(known)
  if (outcome !== 'gone') return outcome
  // The same for each mail about the event, so that two of them make one file.
  const name = createHash('sha256').update(uid).digest('hex').slice(0, 40)
  const path = `${calendar.path}/${name}.ics`
  const edit: EventEdit = { type: 'invited' }
  const bytes = await editFile(source, calendar, { bytes: mail.bytes, edit, options, agent: null })
  if (!bytes) return null
  try {
    const file = { path, bytes, type: EVENT_TYPE.type }
    const written = await record.run(() => putFile(source, file, { 'if-none-match': '*' }))
    return written.path
  } catch (error) {
    if (!(error instanceof StatusFailure) || !IS_THERE.has(error.status)) throw error
    const other = (await findByUid(client, home, calendar.path, uid)) ?? path
    const after = await held(other)
    if (after === 'gone') throw error
    return after
  }
}
