import { FOUND_MESSAGES_MAX, type FoundMessage } from '../../changing.ts'
import { fetchItems } from '../fetch.ts'
import type { TrackedMailboxes } from '../follow.ts'
import { searchField } from '../search.ts'
import { locationOf, openForReading } from './open-source.ts'

const FIELD_NAME = /^[\x21-\x39\x3b-\x7e]{1,100}$/
/** Servers search for a part of the field, so this many more may be looked at. */
const LOOKED_AT_MAX = 10 * FOUND_MESSAGES_MAX

const atom = (value: string) => ({ type: 'ATOM', value })

/** A message as it was found, with the facts that set it apart from others of the same Message-ID. */
export interface FoundUid extends FoundMessage {
  uid: number
  size: number
}

/** `ChangingProvider.find` on IMAP. Leaves the mailbox open. */
export async function findByMessageId(
  tracked: TrackedMailboxes,
  mailboxKey: string,
  internetMessageId: string,
  fields: readonly string[],
): Promise<FoundUid[]> {
  const { connection } = tracked
  const { uidValidity } = await openForReading(tracked, mailboxKey)
  // No search can be for anything else, and no message of ours has another.
  if (!/^[\x20-\x7e]+$/.test(internetMessageId)) return []
  // Some servers keep the field without the brackets.
  const uids = await searchField(connection, 'Message-ID', internetMessageId.replaceAll(/^<|>$/g, ''))
  const names = fields.filter(name => FIELD_NAME.test(name))
  const items = [
    ...['UID', 'FLAGS', 'RFC822.SIZE'].map(atom),
    {
      type: 'ATOM',
      value: 'BODY.PEEK',
      section: [atom('HEADER.FIELDS'), ['Message-ID', ...names].map(atom)],
    },
  ]
  const found = new Map<number, FoundUid>()
  const wanted = Array.from(uids.slice(-LOOKED_AT_MAX))
  const refusal = await fetchItems(connection, wanted, items, ({ uid, flags, size, source }) => {
    const header = readFields(source?.toString('utf8') ?? '')
    if (!flags || header.get('message-id') !== internetMessageId) return
    found.set(uid, {
      uid,
      size,
      flags,
      location: locationOf(mailboxKey, uidValidity, uid),
      revision: null,
      fields: named(header, names),
    })
  })
  if (refusal) throw refusal
  return [...found.values()].toSorted((a, b) => b.uid - a.uid).slice(0, FOUND_MESSAGES_MAX)
}

/** The first value of each field by its name in lower case, unfolded (RFC 5322 section 2.2.3). */
function readFields(header: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of header.replaceAll(/\r?\n(?=[ \t])/g, '').split(/\r?\n/)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).trim().toLowerCase()
    if (colon > 0 && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim())
  }
  return fields
}

function named(header: ReadonlyMap<string, string>, names: readonly string[]): Map<string, string> {
  return new Map(
    names.flatMap(name => {
      const value = header.get(name.toLowerCase())
      return value === undefined ? [] : [[name, value] as const]
    }),
  )
}
