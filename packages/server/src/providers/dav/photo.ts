import { PHOTO_BYTES_MAX, type RemotePhoto } from '../contacts.ts'
import { photoOf, requirePhotoSize } from '../http/photo-answer.ts'
import { type CardPhoto, UnreadableCard } from './card-files.ts'
import type { DavClient } from './client.ts'
import { requireWithin } from './collections.ts'
import type { FileSource } from './files.ts'
import { getCard } from './reading.ts'

/** Where photos are read that a card only names by an address. */
export interface PhotoSource extends FileSource {
  /** Sends no password. */
  stranger: DavClient
}

/** The photo of a card, from the card itself or from the web. Null if it has none. */
export async function readPhotoOf(
  source: PhotoSource,
  key: string,
  signal: AbortSignal,
): Promise<RemotePhoto | null> {
  const file = await getCard(source, requireWithin(key, source.home), signal)
  const photo = await findPhoto(source, file.bytes)
  if (photo.type === 'none') return null
  if (photo.type === 'url') return openUrl(source, new URL(photo.url), photo.version, signal)
  const { contentType, version, content } = photo
  return { contentType, version, open: () => whole(content) }
}

/** A card that has become unreadable has no photo that can be read. */
async function findPhoto({ files, home }: FileSource, bytes: Buffer): Promise<CardPhoto> {
  try {
    return (await files.readCard(home.href, bytes)).photo
  } catch (error) {
    if (error instanceof UnreadableCard) return { type: 'none' }
    throw error
  }
}

async function* whole(content: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  requirePhotoSize(content.length)
  yield content
}

/** An address on the server of the cards is asked for with the login, and any other without. */
async function openUrl(
  { client, home, stranger }: PhotoSource,
  url: URL,
  version: string,
  signal: AbortSignal,
): Promise<RemotePhoto | null> {
  const isOwn = url.origin === home.origin
  if (!isOwn && url.protocol !== 'https:') return null
  const answer = await (isOwn ? client : stranger).send({
    method: 'GET',
    url,
    headers: { accept: 'image/*' },
    // One more shows that there is more.
    answerBytesMax: PHOTO_BYTES_MAX + 64 * 1024,
    signal,
  })
  if (answer.status !== 200) {
    await answer[Symbol.asyncDispose]()
    return null
  }
  return photoOf(answer, version)
}
