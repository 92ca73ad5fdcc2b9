import type { ContactChange, NewContact, RemoteContact } from '../contacts.ts'
import { changingBy, type EffectRecord } from '../effect.ts'
import { ProviderFailure } from '../failure.ts'
import { type AddressBook, findBooks, findBookToWrite } from './address-books.ts'
import { newCard, UnreadableCard, UnwritableCard } from './card-files.ts'
import { requireWithin } from './collections.ts'
import { isStrong } from './etags.ts'
import { StatusFailure } from './failure.ts'
import { deleteFile, overtaking, putFile, unchangedSince, type Written } from './file-writing.ts'
import type { DavFile, FileSource } from './files.ts'
import { getCard, readContact } from './reading.ts'

const VCARD = 'text/vcard; charset=utf-8'

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
  return changingBy(identity, record => {
    const path = requireWithin(key, source.home)
    return overtaking(async () => {
      const file = await getCard(source, path)
      const bytes = await writing(() => source.files.editCard(source.home.href, file.bytes, change))
      if (bytes.equals(file.bytes)) return requireContact(source, file)
      const written = await record.run(() => put(source, { path, bytes }, unchangedSince(file.etag)))
      return requireContact(source, await storedFile(source, written))
    })
  })
}

/** Deletes a card, whatever version it has by now. */
export function removeCard(source: FileSource, key: string): Promise<void> {
  return changingBy(identity, record =>
    deleteFile(source, requireWithin(key, source.home), { run: work => record.run(work) }),
  )
}

function identity(record: EffectRecord): EffectRecord {
  return record
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

function put(
  source: FileSource,
  file: Pick<DavFile, 'path' | 'bytes'>,
  condition: Record<string, string>,
): Promise<Written> {
  return putFile(source, { ...file, type: VCARD }, condition)
}

async function storedFile(source: FileSource, written: Written): Promise<DavFile> {
  return isStrong(written.etag) ? written : getCard(source, written.path)
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
