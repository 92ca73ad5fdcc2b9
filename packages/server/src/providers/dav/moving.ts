import type { Creation } from '../changing-calendars.ts'
import type { EffectRecord } from '../effect.ts'
import { ProviderFailure } from '../failure.ts'
import { EVENT_TYPE } from './event-writing.ts'
import { StatusFailure } from './failure.ts'
import { deleteFile, putFile, request, requireEtag } from './file-writing.ts'
import { type FileSource, getFile } from './files.ts'
import { urlOf } from './hrefs.ts'
import { SILENCE } from './scheduling.ts'

/** Servers answer so that cannot move a file to another collection. */
const WITHOUT_MOVE = new Set([400, 403, 405, 501, 502])

/** Moves a file to another collection. The new path is that of one creation only, so that another try goes on. */
export async function moveFile(
  source: FileSource,
  { from, to, mayExist }: { from: string; to: string } & Creation,
  record: EffectRecord,
): Promise<void> {
  const isThere = mayExist && (await exists(source, to))
  if (isThere) {
    record.done()
    return removeOriginal(source, from, record)
  }
  const headers = { destination: urlOf(to, source.home).href, overwrite: 'F' }
  try {
    return await record.run(() => request(source, { method: 'MOVE', path: from, headers }))
  } catch (error) {
    if (!(error instanceof StatusFailure) || !WITHOUT_MOVE.has(error.status)) throw error
  }
  const { bytes } = await getFile(source, EVENT_TYPE, from)
  const file = { path: to, bytes, type: EVENT_TYPE.type }
  await record.run(() => putFile(source, file, { 'if-none-match': '*' }))
  await removeOriginal(source, from, record)
}

async function exists(source: FileSource, path: string): Promise<boolean> {
  try {
    await requireEtag(source, path)
    return true
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return false
    throw error
  }
}

async function removeOriginal(source: FileSource, path: string, record: EffectRecord): Promise<void> {
  try {
    // The event goes on in the other calendar, so nobody is to be told.
    await deleteFile(source, path, { run: work => record.run(work), headers: SILENCE })
  } catch (error) {
    if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
  }
}
