import type {
  CalendarsWriter,
  ChangedPart,
  Creation,
  EventChange,
  EventInput,
  EventResponse,
  ItemPlace,
  MemberPlace,
  RemovedPart,
  WriteOptions,
  WrittenEvents,
} from '../changing-calendars.ts'
import { changingBy, type EffectRecord } from '../effect.ts'
import { ProviderFailure } from '../failure.ts'
import { findCalendarToRead } from './calendar-collections.ts'
import { changeCalendar, createCalendar, removeCalendar } from './calendar-making.ts'
import { requireWithin } from './collections.ts'
import type { EventEdit } from './events/edit-events.ts'
import { editFile, EVENT_TYPE, type OpenCalendar, readItem } from './event-writing.ts'
import { StatusFailure } from './failure.ts'
import { deleteFile, overtaking, putFile, unchangedSince } from './file-writing.ts'
import { type DavFile, type FileSource, getFile } from './files.ts'
import { isMember } from './hrefs.ts'
import { findByUid } from './listing.ts'
import { openScheduling, type Scheduling } from './scheduling.ts'
import { moveFile } from './moving.ts'

/** Changes calendars and events of a home. A class, since thousands of idle accounts keep one each. */
export class DavCalendarsWriter implements CalendarsWriter {
  readonly #source: FileSource
  readonly #scheduling: Scheduling

  constructor(source: FileSource) {
    this.#source = source
    this.#scheduling = openScheduling(source)
  }

  createCalendar(...given: Parameters<CalendarsWriter['createCalendar']>) {
    return createCalendar(this.#source, ...given)
  }

  changeCalendar(...given: Parameters<CalendarsWriter['changeCalendar']>) {
    return changeCalendar(this.#source, ...given)
  }

  removeCalendar(key: string) {
    return removeCalendar(this.#source, key)
  }

  tellsPeople(calendarKey: string, signal: AbortSignal): Promise<boolean> {
    requireWithin(calendarKey, this.#source.home)
    return this.#scheduling.isOffered(signal)
  }

  async findCreated(
    { calendarKey, creationId }: { calendarKey: string; creationId: string },
    signal: AbortSignal,
  ): Promise<string | null> {
    const calendar = await this.#open(calendarKey)
    return (await this.#findOwn(calendar, creationId, signal))?.path ?? null
  }

  createEvent(
    { calendarKey, fields, ...creation }: { calendarKey: string; fields: EventInput } & Creation,
    options: WriteOptions,
  ): Promise<WrittenEvents> {
    return changingBy(identity, async record => {
      const calendar = await this.#open(calendarKey)
      const edit: EventEdit = { type: 'create', uid: creation.creationId, fields }
      const file = await this.#make(calendar, { bytes: Buffer.alloc(0), edit, creation, options, record })
      return this.#written(calendar, file.path, [file.path], options)
    })
  }

  changeEvent(
    { place, part, change }: { place: ItemPlace; part: ChangedPart; change: EventChange },
    options: WriteOptions,
  ): Promise<WrittenEvents> {
    return changingBy(identity, async record => {
      const calendar = await this.#open(place.calendarKey)
      const path = this.#pathOf(place)
      if (part.type === 'following') return this.#split(calendar, path, { part, change, options, record })
      await this.#edit(calendar, path, { type: 'change', part, change }, options, record)
      return this.#written(calendar, path, [path], options)
    })
  }

  removeEvent(
    { place, part }: { place: ItemPlace; part: RemovedPart },
    options: WriteOptions,
  ): Promise<WrittenEvents> {
    return changingBy(identity, async record => {
      const path = this.#pathOf(place)
      if (part.type !== 'all') {
        const calendar = await this.#open(place.calendarKey)
        const edit: EventEdit =
          part.type === 'member' ? { type: 'remove', part } : { type: 'truncate', member: part.member }
        const isLeft = await this.#edit(calendar, path, edit, options, record)
        return isLeft ? this.#written(calendar, path, [path], options) : { items: [], gone: [place], place }
      }
      // Without a notice, the server must not find anybody whom it could tell.
      const isSilent = !options.notify && (await this.#scheduling.isOffered())
      if (isSilent) await this.#silence(await this.#open(place.calendarKey), path, options, record)
      const headers: Record<string, string> = isSilent ? { 'schedule-reply': 'F' } : {}
      await deleteFile(this.#source, path, { run: work => record.run(work), headers })
      return { items: [], gone: [place], place }
    })
  }

  moveEvent(
    { place, toCalendarKey, ...creation }: { place: ItemPlace; toCalendarKey: string } & Creation,
    options: WriteOptions,
  ): Promise<WrittenEvents> {
    return changingBy(identity, async record => {
      const calendar = await this.#open(toCalendarKey)
      const to = `${calendar.path}/${creation.creationId}.ics`
      await moveFile(this.#source, { from: this.#pathOf(place), to, ...creation }, record)
      return { ...(await this.#written(calendar, to, [to], options)), gone: [place] }
    })
  }

  respond(
    asked: {
      place: ItemPlace
      part: { type: 'all' } | ({ type: 'member' } & MemberPlace)
    } & EventResponse,
    options: WriteOptions,
  ): Promise<WrittenEvents> {
    return changingBy(identity, async record => {
      const { place, part, response, comment } = asked
      const calendar = await this.#open(place.calendarKey)
      const path = this.#pathOf(place)
      await this.#edit(
        calendar,
        path,
        { type: 'respond', part, response: { response, comment } },
        options,
        record,
      )
      return this.#written(calendar, path, [path], options)
    })
  }

  async #open(calendarKey: string): Promise<OpenCalendar> {
    const { client, home } = this.#source
    const path = requireWithin(calendarKey, home)
    const { timeZone } = await findCalendarToRead(client, home, path)
    return { path, timeZone }
  }

  #pathOf({ calendarKey, key }: ItemPlace): string {
    const path = requireWithin(key, this.#source.home)
    if (isMember(path, calendarKey)) return path
    throw new ProviderFailure('not_found', 'The event is not in this calendar.')
  }

  /** Edits a file as it is on the server. @returns whether anything of it is left */
  #edit(
    calendar: OpenCalendar,
    path: string,
    edit: EventEdit,
    options: WriteOptions,
    record: EffectRecord,
  ): Promise<boolean> {
    return overtaking(async () => {
      const file = await getFile(this.#source, EVENT_TYPE, path)
      const bytes = await this.#apply(calendar, file.bytes, edit, options)
      if (bytes?.equals(file.bytes)) return true
      const condition = unchangedSince(file.etag)
      if (bytes)
        await record.run(() => putFile(this.#source, { path, bytes, type: EVENT_TYPE.type }, condition))
      else await deleteFile(this.#source, path, { run: work => record.run(work) })
      return bytes !== null
    })
  }

  async #apply(calendar: OpenCalendar, bytes: Buffer, edit: EventEdit, options: WriteOptions) {
    const isOffered = await this.#scheduling.isOffered()
    const agent = isOffered ? (options.notify ? ('server' as const) : ('client' as const)) : null
    return editFile(this.#source, calendar, { bytes, edit, options, agent })
  }

  async #silence(
    calendar: OpenCalendar,
    path: string,
    options: WriteOptions,
    record: EffectRecord,
  ): Promise<void> {
    try {
      await this.#edit(calendar, path, { type: 'agent' }, options, record)
    } catch (error) {
      // A file that cannot be read can be deleted all the same.
      if (!(error instanceof ProviderFailure) || error.kind !== 'rejected') throw error
    }
  }

  /** Makes a file whose name and UID are the id of a creation, or finds the one of an earlier try. */
  async #make(
    calendar: OpenCalendar,
    {
      bytes,
      edit,
      creation,
      options,
      record,
    }: {
      bytes: Buffer
      edit: EventEdit
      creation: Creation
      options: WriteOptions
      record: EffectRecord
    },
  ): Promise<{ path: string; isNew: boolean }> {
    const { creationId, mayExist } = creation
    const earlier = mayExist ? await this.#findOwn(calendar, creationId) : null
    if (earlier) return { path: earlier.path, isNew: false }
    const made = await this.#apply(calendar, bytes, edit, options)
    if (!made) throw new ProviderFailure('rejected', 'The event has nothing that can be written.')
    const file = { path: `${calendar.path}/${creationId}.ics`, bytes: made, type: EVENT_TYPE.type }
    try {
      const { path } = await record.run(() => putFile(this.#source, file, { 'if-none-match': '*' }))
      return { path, isNew: true }
    } catch (error) {
      if (!(error instanceof StatusFailure) || error.kind !== 'conflict') throw error
      const found = await this.#findOwn(calendar, creationId)
      if (!found) throw error
      record.done()
      return { path: found.path, isNew: false }
    }
  }

  /** Makes the new series first, so that a failure leaves too many members and not too few, and then ends the old one. */
  async #split(
    calendar: OpenCalendar,
    path: string,
    {
      part,
      change,
      options,
      record,
    }: {
      part: Extract<ChangedPart, { type: 'following' }>
      change: EventChange
      options: WriteOptions
      record: EffectRecord
    },
  ): Promise<WrittenEvents> {
    const { member, creationId, mayExist } = part
    const { bytes } = await getFile(this.#source, EVENT_TYPE, path)
    const edit: EventEdit = { type: 'rest', member, uid: creationId, change }
    const creation = { creationId, mayExist }
    const made = await this.#make(calendar, { bytes, edit, creation, options, record })
    try {
      await this.#edit(calendar, path, { type: 'truncate', member }, options, record)
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      // An earlier try has ended it.
      const hasEnded = error.kind === 'not_found' && !made.isNew
      if (!hasEnded && error.isBeforeAcceptance && made.isNew)
        await deleteFile(this.#source, made.path, { run: work => work() })
      if (!hasEnded) throw error
    }
    return this.#written(calendar, made.path, [path, made.path], options)
  }

  /** The file of a creation; null if there is none. */
  async #findOwn(calendar: OpenCalendar, creationId: string, signal?: AbortSignal): Promise<DavFile | null> {
    const path = `${calendar.path}/${creationId}.ics`
    const isOwn = async (at: string) => {
      try {
        const file = await getFile(this.#source, EVENT_TYPE, at, signal)
        const item = await readItem(this.#source, calendar, file)
        return item?.uid === creationId ? file : null
      } catch (error) {
        if (error instanceof ProviderFailure && error.kind === 'not_found') return null
        throw error
      }
    }
    const found = await isOwn(path)
    if (found) return found
    // Some servers choose their own names.
    const other = await findByUid(this.#source.client, this.#source.home, calendar.path, creationId, signal)
    return other === null ? null : isOwn(other)
  }

  /** The items of these files as they are now. */
  async #written(
    calendar: OpenCalendar,
    key: string,
    paths: readonly string[],
    { window }: WriteOptions,
  ): Promise<WrittenEvents> {
    const items: Array<WrittenEvents['items'][number]> = []
    for (const path of paths) {
      const object = await readItem(
        this.#source,
        calendar,
        await getFile(this.#source, EVENT_TYPE, path),
        window,
      )
      if (!object)
        throw new ProviderFailure('unavailable', 'The server stored the event in a form that cannot be read.')
      items.push({ calendarKey: calendar.path, object })
    }
    return { items, gone: [], place: { calendarKey: calendar.path, key } }
  }
}

const identity = (record: EffectRecord): EffectRecord => record
