import type { Creation } from '../changing-calendars.ts'
import type { EffectRecord } from '../effect.ts'
import { ProviderFailure } from '../failure.ts'
import { EVENT_TYPE, readItem } from './event-writing.ts'
import { StatusFailure } from './failure.ts'
import { overtaking, putFile, request, requestAnswer, unchangedSince } from './file-writing.ts'
import { type DavFile, type FileSource, getFile } from './files.ts'
import { urlOf } from './hrefs.ts'
import { type Scheduling, SILENCE } from './scheduling.ts'

/** Servers answer so that cannot move a file to another collection. */
const WITHOUT_MOVE = new Set([405, 501, 502])
/** Servers answer so as well, and others where they refuse the move. */
const REFUSED = new Set([400, 403])

export interface FileMove {
  from: string
  to: string
}

/** Moves a file to another collection. The new path is that of one creation only, so that another try goes on. */
export async function moveFile(
  source: FileSource,
  scheduling: Scheduling,
  { from, to, mayExist }: FileMove & Creation,
  record: EffectRecord,
): Promise<void> {
  const copy = mayExist ? await findFile(source, to) : null
  if (copy) {
    record.done()
    return removeOriginal(source, { from, to }, copy, record)
  }
  const headers = { destination: urlOf(to, source.home).href, overwrite: 'F' }
  try {
    return await record.run(() => request(source, { method: 'MOVE', path: from, headers }))
  } catch (error) {
    if (!(error instanceof StatusFailure) || !(await lacksMove(source, from, error.status))) throw error
  }
  const original = await getFile(source, EVENT_TYPE, from)
  if (hasOrganizer(original) && (await scheduling.isOffered()))
    throw new ProviderFailure('unsupported', 'The server cannot move an event without telling its people.')
  await record.run(() => put(source, to, original.bytes, { 'if-none-match': '*' }))
  await removeOriginal(source, { from, to }, original, record)
}

async function lacksMove(source: FileSource, path: string, status: number): Promise<boolean> {
  if (!REFUSED.has(status)) return WITHOUT_MOVE.has(status)
  const { headers } = await requestAnswer(source, { method: 'OPTIONS', path })
  const methods = [headers['allow'] ?? []].flat().join(',').toUpperCase().split(',')
  return !methods.some(method => method.trim() === 'MOVE')
}

/** To a server that schedules, the end of such an event is a cancellation or an answer. */
const hasOrganizer = ({ bytes }: DavFile): boolean => /^ORGANIZER[;:]/im.test(bytes.toString('latin1'))

async function findFile(source: FileSource, path: string): Promise<DavFile | null> {
  try {
    return await getFile(source, EVENT_TYPE, path)
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return null
    throw error
  }
}

const put = (source: FileSource, path: string, bytes: Buffer, condition: Record<string, string>) =>
  putFile(source, { path, bytes, type: EVENT_TYPE.type }, condition)

/**
 * Deletes the original of a copy. If another client has changed it since it was copied, it is copied again.
 * @param copied the content that the copy was made of; the copy itself if that is not known
 */
async function removeOriginal(
  source: FileSource,
  { from, to }: FileMove,
  copied: DavFile,
  record: EffectRecord,
): Promise<void> {
  let held = copied.bytes
  await overtaking(async () => {
    const original = await findFile(source, from)
    if (!original) return
    if (
      !original.bytes.equals(held) &&
      (copied.path === from || !(await isLater(source, copied, original)))
    ) {
      const copy = await getFile(source, EVENT_TYPE, to)
      await record.run(() => put(source, to, original.bytes, { ...SILENCE, ...unchangedSince(copy.etag) }))
      held = original.bytes
    }
    const headers = { ...SILENCE, ...unchangedSince(original.etag) }
    await record.run(() => request(source, { method: 'DELETE', path: from, headers }))
  })
}

/** Whether a file was changed after another one. Servers may store a copy in another form. */
async function isLater(source: FileSource, one: DavFile, other: DavFile): Promise<boolean> {
  const [time, before] = [await changedAt(source, one), await changedAt(source, other)]
  return time > before
}

/** The time of the last change of a file, in milliseconds; 0 if it does not have one. */
async function changedAt(source: FileSource, file: DavFile): Promise<number> {
  const item = await readItem(source, { path: file.path, timeZone: null }, file)
  const events = [item?.event, ...(item?.members?.exceptions ?? []).map(({ event }) => event)]
  return Math.max(0, ...events.map(event => event?.updatedAt?.getTime() ?? 0))
}
