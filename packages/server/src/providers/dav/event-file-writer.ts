import type { Creation, WriteOptions, WrittenEvents } from '../changing-calendars.ts'
import type { EffectRecord } from '../effect.ts'
import { ProviderFailure } from '../failure.ts'
import type { EventEdit } from './events/event-edit.ts'
import { editFile, EVENT_TYPE, type OpenCalendar, readItem } from './event-writing.ts'
import { StatusFailure } from './failure.ts'
import { overtaking, putFile, request, unchangedSince } from './file-writing.ts'
import { type DavFile, type FileSource, getFile } from './files.ts'
import { findByUid } from './listing.ts'
import { type Scheduling, SILENCE } from './scheduling.ts'

/** A change of a file, and for whom it is made. */
export interface FileChange {
  edit: EventEdit
  options: WriteOptions
  record: EffectRecord
}

/** Writes files of events, and reads them again. */
export class EventFileWriter {
  readonly #source: FileSource
  readonly #scheduling: Scheduling

  constructor(source: FileSource, scheduling: Scheduling) {
    this.#source = source
    this.#scheduling = scheduling
  }

  /** Edits a file as it is on the server. @returns whether anything of it is left */
  edit(calendar: OpenCalendar, path: string, { edit, options, record }: FileChange): Promise<boolean> {
    return overtaking(async () => {
      const file = await getFile(this.#source, EVENT_TYPE, path)
      const bytes = await this.#apply(calendar, file.bytes, edit, options)
      if (bytes?.equals(file.bytes)) return true
      const condition = unchangedSince(file.etag)
      const headers = await this.#headersOf(options)
      if (bytes)
        await record.run(() =>
          putFile(this.#source, { path, bytes, type: EVENT_TYPE.type }, { ...headers, ...condition }),
        )
      else
        await record.run(() =>
          request(this.#source, { method: 'DELETE', path, headers: { ...headers, ...condition } }),
        )
      return bytes !== null
    })
  }

  async #apply(calendar: OpenCalendar, bytes: Buffer, edit: EventEdit, options: WriteOptions) {
    // A write that concerns nobody else leaves SCHEDULE-AGENT as it is.
    const isSet = options.concernsOthers && (await this.#scheduling.isOffered())
    const agent = isSet ? (options.notify ? ('server' as const) : ('client' as const)) : null
    return editFile(this.#source, calendar, { bytes, edit, options, agent })
  }

  async #headersOf({ notify, concernsOthers }: WriteOptions): Promise<Record<string, string>> {
    return !(notify && concernsOthers) && (await this.#scheduling.isOffered()) ? SILENCE : {}
  }

  /** Makes a file whose name and UID are the id of a creation, or finds the one of an earlier try. */
  async make(
    calendar: OpenCalendar,
    { bytes, edit, creation, options, record }: FileChange & { bytes: Buffer; creation: Creation },
  ): Promise<{ path: string; isNew: boolean }> {
    const { creationId, mayExist } = creation
    const earlier = mayExist ? await this.findOwn(calendar, creationId) : null
    if (earlier) return { path: earlier.path, isNew: false }
    const made = await this.#apply(calendar, bytes, edit, options)
    if (!made) throw new ProviderFailure('rejected', 'The event has nothing that can be written.')
    const file = { path: `${calendar.path}/${creationId}.ics`, bytes: made, type: EVENT_TYPE.type }
    const headers = { ...(await this.#headersOf(options)), 'if-none-match': '*' }
    try {
      const { path } = await record.run(() => putFile(this.#source, file, headers))
      return { path, isNew: true }
    } catch (error) {
      if (!(error instanceof StatusFailure) || error.kind !== 'conflict') throw error
      const found = await this.findOwn(calendar, creationId)
      if (!found) throw error
      record.done()
      return { path: found.path, isNew: false }
    }
  }

  /** The file of a creation; null if there is none. */
  async findOwn(calendar: OpenCalendar, creationId: string, signal?: AbortSignal): Promise<DavFile | null> {
    const path = `${calendar.path}/${creationId}.ics`
    const isOwn = async (at: string) => {
      try {
        const file = await getFile(this.#source, EVENT_TYPE, at, signal)
        const item = await readItem(this.#source, calendar, file)
        // A moved file has the name, and keeps its UID.
        return at === path || item?.uid === creationId ? file : null
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
  async written(
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
