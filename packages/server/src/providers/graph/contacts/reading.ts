import type { RemoteContact, UnreadableContact } from '../../contacts.ts'
import { ProviderFailure } from '../../failure.ts'
import { isOfPart } from '../../http/ask-twice.ts'
import { type AskOptions, BATCH_PARTS_MAX, type GraphRequest, segment } from '../api.ts'
import { askTwice } from '../ask-twice.ts'
import { CONTACT_FIELDS, isReadable, readItem, type ReadContact } from './contact.ts'
import { type GraphItem, itemSchema } from '../items.ts'
import type { ContactsConnection } from './contacts-connection.ts'
import { isContactFolder, PROBE } from './folders.ts'

/** Notes may be long. */
const CONTACT_BYTES_MAX = 4 * 1024 * 1024

export interface ReadContacts {
  contacts: RemoteContact[]
  unreadable: UnreadableContact[]
  /** Keys that the provider does not have in any folder of contacts. */
  gone: string[]
}

export function pathOfContact(key: string): string {
  return `contacts/${segment(key)}`
}

function requestOfContact(key: string): GraphRequest<GraphItem> {
  return {
    path: pathOfContact(key),
    query: { $select: CONTACT_FIELDS },
    schema: itemSchema,
    accepts: [200],
    answerBytesMax: CONTACT_BYTES_MAX,
  }
}

/** Reads contacts by their keys, wherever they are. Throws failures that no contact causes. */
export async function readContacts(
  connection: ContactsConnection,
  keys: readonly string[],
  options: AskOptions,
): Promise<ReadContacts> {
  const result: ReadContacts = { contacts: [], unreadable: [], gone: [] }
  for (let at = 0; at < keys.length; at += BATCH_PARTS_MAX) {
    const asked = keys.slice(at, at + BATCH_PARTS_MAX)
    const outcomes = await askTwice(connection.api, asked.map(requestOfContact), options, PROBE)
    for (const [index, { value, failure }] of outcomes.entries()) {
      const key = asked[index]!
      if (failure?.kind === 'not_found') result.gone.push(key)
      else if (failure && !isOfPart(failure)) throw failure
      else if (value?.id !== key)
        result.unreadable.push({
          key,
          version: null,
          reason: failure?.message ?? 'Microsoft Graph answered with another contact',
        })
      else await sortOut(connection, value, result, options)
    }
  }
  return result
}

/** Adds an item that has every field to the contacts that can be read, to the others, or to those that are gone. */
export async function sortOut(
  connection: ContactsConnection,
  item: GraphItem,
  result: ReadContacts,
  options: AskOptions,
): Promise<void> {
  const read = readItem(item)
  if (!isReadable(read)) result.unreadable.push(read)
  else if (await isContactFolder(connection, read.contact.folderKey, options))
    result.contacts.push(read.contact)
  else result.gone.push(item.id)
}

/** Reads one contact. Throws `not_found` if it is in no folder of contacts, and `unavailable` if it cannot be read. */
export async function requireContact(
  connection: ContactsConnection,
  key: string,
  options: AskOptions,
): Promise<ReadContact> {
  const { value } = await connection.api.ask(requestOfContact(key), options)
  const read = requireReadable(value)
  if (await isContactFolder(connection, read.contact.folderKey, options)) return read
  throw new ProviderFailure('not_found', 'The contact was deleted.')
}

export function requireReadable(item: GraphItem): ReadContact {
  const read = readItem(item)
  if (isReadable(read)) return read
  throw new ProviderFailure('unavailable', `${read.reason}.`)
}
