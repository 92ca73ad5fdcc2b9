import type {
  CalendarsWriter,
  ChangedPart,
  Creation,
  EventChange,
  EventInput,
  EventResponse,
  ItemPlace,
  MailedEvent,
  MailedInvitation,
  MemberPlace,
  RemovedPart,
  WriteOptions,
  WrittenEvents,
} from '../changing-calendars.ts'
import { changingBy, type EffectRecord, rehearsing } from '../effect.ts'
import { ProviderFailure } from '../failure.ts'
import { changeCalendar, createCalendar, removeCalendar } from './calendar-making.ts'
import { requireWithin } from './collections.ts'
import type { EventEdit } from './events/event-edit.ts'
import { EventFileWriter } from './event-file-writer.ts'
import { EVENT_TYPE, type OpenCalendar, openCalendar } from './event-writing.ts'
import { UnreadableEvents } from './events/event-file.ts'
import { deleteFile } from './file-writing.ts'
import { type FileSource, getFile } from './files.ts'
import { isMember } from './hrefs.ts'
import { openScheduling, type Scheduling, SILENCE } from './scheduling.ts'
import { takeInvitation } from './mailed-invitations.ts'
import { moveFile } from './moving.ts'

interface AskedChange {
  place: ItemPlace
  part: ChangedPart
  change: EventChange
}

/** Changes calendars and events of a home. A class, since thousands of idle accounts keep one each. */
export class DavCalendarsWriter implements CalendarsWriter {
  readonly #source: FileSource
  readonly #scheduling: Scheduling
  readonly #files: EventFileWriter

  constructor(source: FileSource) {
    this.#source = source
    this.#scheduling = openScheduling(source)
    this.#files = new EventFileWriter(source, this.#scheduling)
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
    return (await this.#files.findOwn(calendar, creationId, signal))?.path ?? null
  }

  createEvent(
    { calendarKey, fields, ...creation }: { calendarKey: string; fields: EventInput } & Creation,
    options: WriteOptions,
  ): Promise<WrittenEvents> {
    return changingBy(identity, async record => {
      const calendar = await this.#open(calendarKey)
      const edit: EventEdit = { type: 'create', uid: creation.creationId, fields }
      const file = await this.#files.make(calendar, {
        bytes: Buffer.alloc(0),
        edit,
        creation,
        options,
        record,
      })
      return this.#files.written(calendar, file.path, [file.path], options)
    })
  }

  changeEvent(asked: AskedChange, options: WriteOptions): Promise<WrittenEvents> {
    return changingBy(identity, record => this.#change(asked, options, record))
  }

  requireChangeable(asked: AskedChange, options: WriteOptions): Promise<void> {
    return rehearsing(identity, record => this.#change(asked, options, record))
  }

  async #change(
    { place, part, change }: AskedChange,
    options: WriteOptions,
    record: EffectRecord,
  ): Promise<WrittenEvents> {
    const calendar = await this.#open(place.calendarKey)
    const path = this.#pathOf(place)
    if (part.type === 'following') return this.#split(calendar, path, { part, change, options, record })
    if (Object.keys(change).length > 0)
      await this.#files.edit(calendar, path, { edit: { type: 'change', part, change }, options, record })
    return this.#files.written(calendar, path, [path], options)
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
        const isLeft = await this.#files.edit(calendar, path, { edit, options, record })
        return isLeft
          ? this.#files.written(calendar, path, [path], options)
          : { items: [], gone: [place], place }
      }
      const isSilent = !(options.notify && options.concernsOthers) && (await this.#scheduling.isOffered())
      if (isSilent && options.concernsOthers)
        await this.#requireSilence(await this.#open(place.calendarKey), path, options, record)
      const headers: Record<string, string> = isSilent ? SILENCE : {}
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
      await moveFile(this.#source, this.#scheduling, { from: this.#pathOf(place), to, ...creation }, record)
      return { ...(await this.#files.written(calendar, to, [to], options)), gone: [place] }
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
      const edit: EventEdit = { type: 'respond', part, response: { response, comment } }
      await this.#files.edit(calendar, path, { edit, options, record })
      return this.#files.written(calendar, path, [path], options)
    })
  }

  async readInvitation(
    { bytes, from }: MailedInvitation,
    { own }: Pick<WriteOptions, 'own'>,
  ): Promise<MailedEvent | null> {
    const { files, home } = this.#source
    try {
      return await files.readInvitation(home.href, bytes, { from, own })
    } catch (error) {
      if (error instanceof UnreadableEvents) return null
      throw error
    }
  }

  takeInvitation(
    asked: Parameters<NonNullable<CalendarsWriter['takeInvitation']>>[0],
    options: WriteOptions,
  ): Promise<WrittenEvents | null> {
    return changingBy(identity, record =>
      takeInvitation(this.#source, this.#files, asked, { options, record }),
    )
  }

  #open(calendarKey: string): Promise<OpenCalendar> {
    return openCalendar(this.#source, calendarKey)
  }

  #pathOf({ calendarKey, key }: ItemPlace): string {
    const path = requireWithin(key, this.#source.home)
    if (isMember(path, calendarKey)) return path
    throw new ProviderFailure('not_found', 'The event is not in this calendar.')
  }

  /** Refuses a deletion of which the server would inform people. */
  async #requireSilence(
    calendar: OpenCalendar,
    path: string,
    options: WriteOptions,
    record: EffectRecord,
  ): Promise<void> {
    try {
      await this.#files.edit(calendar, path, { edit: { type: 'silence' }, options, record })
    } catch (error) {
      // A file that cannot be read can be deleted all the same.
      if (!(error instanceof ProviderFailure) || error.kind !== 'rejected') throw error
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
    const made = await this.#files.make(calendar, { bytes, edit, creation, options, record })
    try {
      // Another client may have moved or ended it since the new series was made.
      const end: EventEdit = { type: 'end', member }
      await this.#files.edit(calendar, path, { edit: end, options, record })
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      // An earlier try has ended it.
      const hasEnded = error.kind === 'not_found' && !made.isNew
      if (!hasEnded && error.isBeforeAcceptance && made.isNew)
        await deleteFile(this.#source, made.path, { run: work => work() })
      if (!hasEnded) throw error
    }
    return this.#files.written(calendar, made.path, [path, made.path], options)
  }
}

const identity = (record: EffectRecord): EffectRecord => record
