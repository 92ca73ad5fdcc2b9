import type { ContactChange, NewContact, RemoteContact } from '../contacts.ts'
import { changingBy, type EffectRecord } from '../effect.ts'
import { ProviderFailure } from '../failure.ts'
import { readRefusal } from '../http/answers.ts'
import { type AddressBook, findBooks, findBookToWrite } from './address-books.ts'
import { askAll } from './ask.ts'
import { newCard, UnreadableCard, UnwritableCard } from './card-files.ts'
import { requireWithin } from './collections.ts'
import { isStrong } from './etags.ts'
import { StatusFailure } from './failure.ts'
import type { DavFile, FileSource } from './files.ts'
import { isMember, pathOf, urlOf } from './hrefs.ts'
import { hasElement, propText } from './multistatus.ts'
import { D, propfindBody } from './names.ts'
import { getCard, readContact } from './reading.ts'

/** A change is applied again three times. */
const TRIES_MAX = 4
const VCARD = { 'content-type': 'text/vcard; charset=utf-8' }

/** Creates a card whose name and UID are the id of the creation, by which an earlier try is found. */
export function createCard(source: FileSource, contact: NewContact): Promise<RemoteContact> {
  return changingBy(identity, async record => {
    const book = await findWritable(source, contact.folderKey)
    const path = `${book.path}/${contact.creationId}.vcf`
    if (contact.mayExist) {
      const earlier = await findOwn(source, path, contact.creationId)
      if (earlier) return earlier
    }
    const bytes = await writing(async () =>
      newCard(contact.fields, contact.creationId, { version: book.vcard }),
    )
    try {
      const written = await record.run(() => put(source, { path, bytes }, { 'if-none-match': '*' }))
      return await requireContact(source, await storedFile(source, written))
    } catch (error) {
      if (!(error instanceof StatusFailure) || error.kind !== 'conflict') throw error
      const earlier = await findOwn(source, path, contact.creationId)
      if (!earlier) throw error
      record.done()
      return earlier
    }
  })
}

/** Changes lines of a card as it is on the server, and tries again if another client was faster. */
export function changeCard(source: FileSource, key: string, change: ContactChange): Promise<RemoteContact> {
  return changingBy(identity, async record => {
    const path = requireWithin(key, source.home)
    for (let tries = 1; ; tries += 1) {
      const file = await getCard(source, path)
      const bytes = await writing(() => source.files.editCard(source.home.href, file.bytes, change))
      if (bytes.equals(file.bytes)) return await requireContact(source, file)
      try {
        const written = await record.run(() => put(source, { path, bytes }, unchangedSince(file.etag)))
        return await requireContact(source, await storedFile(source, written))
      } catch (error) {
        if (!isOvertaken(error) || tries === TRIES_MAX) throw error
      }
    }
  })
}

/** Deletes a card, whatever version it has by now. */
export function removeCard(source: FileSource, key: string): Promise<void> {
  return changingBy(identity, async record => {
    const path = requireWithin(key, source.home)
    for (let tries = 1; ; tries += 1) {
      const headers = unchangedSince(await requireCard(source, path))
      try {
        return await record.run(() => request(source, { method: 'DELETE', path, headers }))
      } catch (error) {
        if (!isOvertaken(error) || tries === TRIES_MAX) throw error
      }
    }
  })
}

function identity(record: EffectRecord): EffectRecord {
  return record
}

/** Returns the ETag of a card. A collection is never deleted: that would take all its cards with it. */
async function requireCard({ client, home }: FileSource, path: string): Promise<string | null> {
  const body = propfindBody([D.getetag, D.resourcetype])
  const { told } = await askAll(client, { method: 'PROPFIND', url: urlOf(path, home), depth: '0', body })
  const card = told.find(({ paths, status }) => paths.includes(path) && status !== 404)
  if (!card) throw new ProviderFailure('not_found', 'The server no longer has this.')
  if (hasElement(card, D.resourcetype, D.collection))
    throw new ProviderFailure('rejected', 'This is a collection, and not a card.')
  return propText(card, D.getetag)
}

/** A condition needs a strong ETag (RFC 9110 section 13.1.1). Without one the card was read just before. */
function unchangedSince(etag: string | null): Record<string, string> {
  return isStrong(etag) ? { 'if-match': etag.trim() } : {}
}

function isOvertaken(error: unknown): boolean {
  return error instanceof StatusFailure && error.status === 412
}

async function findWritable(
  { client, home }: FileSource,
  key: string | null,
): Promise<Pick<AddressBook, 'path' | 'vcard'>> {
  if (key !== null) return findBookToWrite(client, home, key)
  const books = await findBooks(client, home)
  const book = books.find(({ isReadOnly }) => !isReadOnly)
  if (book) return book
  throw books.length > 0
    ? new ProviderFailure('forbidden', 'All address books of the account can only be read.')
    : new ProviderFailure('not_found', 'The account has no address book.')
}

/** The card of an earlier try; null if there is none. Another card in its place is a conflict. */
async function findOwn(source: FileSource, path: string, uid: string): Promise<RemoteContact | null> {
  try {
    const file = await getCard(source, path)
    const { uid: own } = await source.files.readCard(source.home.href, file.bytes)
    return own === uid ? await requireContact(source, file) : null
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return null
    if (error instanceof UnreadableCard) return null
    throw error
  }
}

/** A card that was sent. Without a strong ETag it may be stored in another form (RFC 6352 section 6.3.2.3). */
interface Written {
  path: string
  bytes: Buffer
  etag: string | null
}

async function put(
  source: FileSource,
  { path, bytes }: Pick<DavFile, 'path' | 'bytes'>,
  condition: Record<string, string>,
): Promise<Written> {
  const headers = { ...VCARD, ...condition }
  const answer = await requestAnswer(source, { method: 'PUT', path, headers, body: bytes })
  const { etag, location } = answer.headers
  const moved = typeof location === 'string' ? pathOf(location, answer.url) : null
  const isInBook = moved !== null && isMember(moved, path.slice(0, path.lastIndexOf('/')))
  return {
    path: isInBook ? moved : path,
    bytes,
    etag: typeof etag === 'string' ? etag : null,
  }
}

async function storedFile(source: FileSource, written: Written): Promise<DavFile> {
  return isStrong(written.etag) ? written : getCard(source, written.path)
}

interface Sent {
  method: 'PUT' | 'DELETE'
  path: string
  headers: Record<string, string>
  body?: Buffer
}

async function request(source: FileSource, sent: Sent): Promise<void> {
  await requestAnswer(source, sent)
}

async function requestAnswer({ client, home }: FileSource, { path, ...sent }: Sent) {
  const opened = await client.send({ ...sent, url: urlOf(path, home) })
  const { url } = opened
  const { status, headers } = await readRefusal(opened)
  if (status < 200 || status > 299) throw new StatusFailure(status, headers)
  return { url, headers }
}

async function writing(write: () => Promise<Buffer>): Promise<Buffer> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof UnreadableCard || error instanceof UnwritableCard)) throw error
    throw new ProviderFailure('rejected', `The card cannot be written: ${error.message}.`, { cause: error })
  }
}

async function requireContact(source: FileSource, file: DavFile): Promise<RemoteContact> {
  try {
    const contact = await readContact(source, file)
    if (contact) return contact
  } catch (error) {
    if (!(error instanceof UnreadableCard)) throw error
  }
  throw new ProviderFailure('unavailable', 'The server stored the card in a form that cannot be read.')
}
