import type { RemoteContact } from '../contacts.ts'
import { UnreadableCard } from './card-files.ts'
import {
  type DavFile,
  type FileKind,
  fileVersion,
  type FileReading,
  type FileSource,
  getFile,
} from './files.ts'
import { CARD } from './names.ts'

export const CARDS: FileKind<RemoteContact> = {
  accept: 'text/vcard, text/x-vcard;q=0.9, */*;q=0.1',
  multiget: CARD.multiget,
  data: CARD.data,
  async read(file, source) {
    try {
      return { item: await readContact(source, file) }
    } catch (error) {
      if (error instanceof UnreadableCard) return { unreadable: error.message }
      throw error
    }
  },
}

/** Reads one card as the server stores it. Throws `not_found`, or `rejected` if it is too large. */
export function getCard(source: FileSource, path: string, signal?: AbortSignal): Promise<DavFile> {
  return getFile(source, CARDS, path, signal)
}

/** A file as a contact; null if it is a group. Throws `UnreadableCard`. */
export async function readContact(
  { files, home }: FileReading,
  { path, bytes, etag }: DavFile,
): Promise<RemoteContact | null> {
  const { kind, uid, fields, photo, revisedAt } = await files.readCard(home.href, bytes)
  if (kind === 'group') return null
  return {
    key: path,
    folderKey: path.slice(0, path.lastIndexOf('/')),
    version: fileVersion({ bytes, etag }),
    uid,
    fields,
    photo: photo.type === 'none' ? { type: 'none' } : { type: 'some', version: photo.version },
    updatedAt: revisedAt,
  }
}
