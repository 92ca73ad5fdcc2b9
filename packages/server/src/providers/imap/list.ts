import { ProviderFailure } from '../failure.ts'
import type { CommandArguments, CommandConnection } from './command.ts'
import { type ListedMailbox, MAILBOXES_MAX, type MailboxStatus, type Namespaces } from './mailboxes.ts'
import { decodeMailboxName } from './names.ts'
import { compact, keyOf, nameOf, readStatus, updatedStatus } from './status.ts'
import { type ImapAttribute, objectIdOf, pairsOf, textOf, textsOf } from './values.ts'

const atom = (value: string) => ({ type: 'ATOM', value })

/** Each costs a round trip; with more mailboxes, a rename is recognised in other ways, if at all. */
const IDS_MAX = 1000
/** RFC 6154 and RFC 9051 define about twenty attributes of a mailbox, the longest with 15 letters. */
const ATTRIBUTES_MAX = 32
const ATTRIBUTE_LENGTH_MAX = 32
const PREFIXES_MAX = 100

export interface Listing {
  mailboxes: ListedMailbox[]
  statuses: Map<string, MailboxStatus>
  /** Number of mailboxes beyond the limits. */
  leftOut: number
  /** Whether the server reported changes (NOTIFY) among the answers. */
  isDisturbed: boolean
}

/** RFC 8474 ids of mailboxes by name and UIDVALIDITY, as far as they were requested. */
export type MailboxIds = Map<string, string | null>

/**
 * Lists every mailbox with its state: in one round if the server can, otherwise with a STATUS for each. Ids are
 * requested once, and separately: in the answer to LIST, Cyrus 3.6 sends bytes of its memory instead.
 */
export async function askMailboxes(connection: CommandConnection, ids: MailboxIds): Promise<Listing> {
  const listing = emptyListing()
  const unread = connection.leftOut
  const canAskStatus = connection.has('LIST-STATUS') && connection.has('LIST-EXTENDED')
  if (!canAskStatus || !(await list(connection, listing, returnOptions(connection)))) {
    listing.mailboxes.length = 0
    listing.leftOut = 0
    if (!(await list(connection, listing, [])))
      throw new ProviderFailure('rejected', 'The server lists no mailboxes.')
  }
  listing.leftOut += connection.leftOut - unread
  for (const { wireName, attributes } of listing.mailboxes) {
    const isSelectable = ![...attributes].some(attribute => /^\\(?:noselect|nonexistent)$/i.test(attribute))
    if (isSelectable && !listing.statuses.has(keyOf(wireName))) await askStatus(connection, listing, wireName)
  }
  if (connection.has('OBJECTID'))
    for (const [name, status] of listing.statuses)
      status.mailboxId = await askId(connection, ids, name, status)
  return listing
}

/** Lists every mailbox, without its state. */
export async function askNames(connection: CommandConnection): Promise<Listing> {
  const listing = emptyListing()
  const options = [atom('RETURN'), [atom('SPECIAL-USE')]]
  if (connection.has('LIST-EXTENDED') && connection.has('SPECIAL-USE')) {
    if (await list(connection, listing, options)) return listing
    listing.mailboxes.length = 0
  }
  if (!(await list(connection, listing, [])))
    throw new ProviderFailure('rejected', 'The server lists no mailboxes.')
  return listing
}

/** Adds the state of one mailbox to a listing. */
export async function askState(
  connection: CommandConnection,
  listing: Listing,
  wireName: string,
  ids: MailboxIds,
): Promise<void> {
  await askStatus(connection, listing, wireName)
  const status = findStatus(listing, wireName)
  if (status && connection.has('OBJECTID'))
    status.mailboxId = await askId(connection, ids, keyOf(wireName), status)
}

/** Whether there is a mailbox of this name, by STATUS. */
export async function answersTo(connection: CommandConnection, wireName: string): Promise<boolean> {
  const listing = emptyListing()
  await askStatus(connection, listing, wireName)
  return findStatus(listing, wireName) !== null
}

/** Names of the mailboxes that the account is subscribed to, as far as the server lists them. */
export async function askSubscribed(connection: CommandConnection): Promise<Set<string>> {
  const subscribed = new Set<string>()
  await accepts(connection, () =>
    connection.run({
      name: 'LSUB',
      arguments: ['', '*'],
      answers: {
        LSUB(_, values) {
          const mailbox = readListed(values)
          if (mailbox && subscribed.size < MAILBOXES_MAX) subscribed.add(mailbox.wireName)
        },
      },
    }),
  )
  return subscribed
}

export function findStatus(listing: Listing, wireName: string): MailboxStatus | null {
  return listing.statuses.get(keyOf(wireName)) ?? null
}

function emptyListing(): Listing {
  return { mailboxes: [], statuses: new Map(), leftOut: 0, isDisturbed: false }
}

/** RFC 5258 and RFC 5819. A server may leave out data that is not requested by name. */
function returnOptions(connection: CommandConnection): CommandArguments {
  const options: CommandArguments = connection.has('SPECIAL-USE') ? [atom('SPECIAL-USE')] : []
  return [atom('RETURN'), [...options, atom('STATUS'), statusItems(connection)]]
}

function statusItems(connection: CommandConnection): CommandArguments {
  const items = ['MESSAGES', 'UNSEEN', 'UIDNEXT', 'UIDVALIDITY']
  if (connection.has('CONDSTORE') || connection.has('QRESYNC')) items.push('HIGHESTMODSEQ')
  return items.map(atom)
}

/** @returns false if the server refuses the command */
async function list(
  connection: CommandConnection,
  listing: Listing,
  options: CommandArguments,
): Promise<boolean> {
  // Gmail had XLIST before RFC 6154.
  const name =
    connection.has('XLIST') && !connection.has('SPECIAL-USE') && options.length === 0 ? 'XLIST' : 'LIST'
  return accepts(connection, () =>
    connection.run({
      name,
      arguments: ['', '*', ...options],
      answers: {
        [name](_: number, values: ImapAttribute[]) {
          const mailbox = readListed(values)
          if (isOfRename(values) || mailbox?.attributes.has('\\NonExistent')) listing.isDisturbed = true
          const isRoom =
            listing.mailboxes.length < MAILBOXES_MAX || mailbox?.wireName.toUpperCase() === 'INBOX'
          if (mailbox && isRoom) listing.mailboxes.push(mailbox)
          else listing.leftOut++
        },
        STATUS: (_, values) => addStatus(listing, values),
      },
    }),
  )
}

/** RFC 5465 section 5.4: the fourth value of a renamed mailbox has its old name. */
export function isOfRename(values: ImapAttribute[]): boolean {
  return values.length > 3
}

/** Null if the name is longer than the limit. */
export function readListed([attributes, separatorText, name]: ImapAttribute[]): ListedMailbox | null {
  const wireName = nameOf(name)
  if (wireName === null) return null
  const separator = textOf(separatorText)
  return {
    wireName,
    separator: separator && separator.length === 1 ? separator : null,
    attributes: new Set(
      textsOf(attributes)
        .filter(({ length }) => length <= ATTRIBUTE_LENGTH_MAX)
        .slice(0, ATTRIBUTES_MAX)
        .map(text => compact(text)),
    ),
  }
}

async function askStatus(connection: CommandConnection, listing: Listing, wireName: string): Promise<void> {
  if (/[\u0000\r\n]/.test(wireName)) return
  await accepts(connection, () =>
    connection.run({
      name: 'STATUS',
      arguments: [wireName, statusItems(connection)],
      answers: { STATUS: (_, values) => addStatus(listing, values) },
    }),
  )
}

async function askId(
  connection: CommandConnection,
  ids: MailboxIds,
  name: string,
  { uidValidity }: MailboxStatus,
): Promise<string | null> {
  const key = `${uidValidity} ${name}`
  const known = ids.get(key)
  if (known !== undefined || ids.size >= IDS_MAX) return known ?? null
  let id: string | null = null
  await accepts(connection, () =>
    connection.run({
      name: 'STATUS',
      arguments: [name, [atom('MAILBOXID')]],
      answers: {
        STATUS(_, values) {
          id = objectIdOf(new Map(pairsOf(values[1])).get('MAILBOXID'))
        },
      },
    }),
  )
  ids.set(key, id)
  return id
}

function addStatus(listing: Listing, values: ImapAttribute[]): void {
  const read = readStatus(values)
  if (!read || listing.statuses.size >= MAILBOXES_MAX) return
  const { name, status } = read
  const before = listing.statuses.get(name)
  listing.statuses.set(name, before ? updatedStatus(before, status) : status)
  // One of them is a report, which has only the items that changed.
  if (before) listing.isDisturbed = true
}

/**
 * The namespaces of the account's own mailboxes. Also requested from servers that do not announce NAMESPACE: some
 * have it, and the others only refuse.
 */
export async function askNamespaces(connection: CommandConnection): Promise<Namespaces> {
  const namespaces: Namespaces = { personalPrefix: '', foreignPrefixes: [] }
  await accepts(connection, () =>
    connection.run({
      name: 'NAMESPACE',
      answers: {
        NAMESPACE(_, [personal, others, shared]) {
          namespaces.personalPrefix = prefixesOf(personal)[0] ?? ''
          namespaces.foreignPrefixes = [...prefixesOf(others), ...prefixesOf(shared)].filter(
            prefix => prefix !== '' && !namespaces.personalPrefix.startsWith(prefix),
          )
        },
      },
    }),
  )
  return { ...namespaces, personalPrefix: decodeMailboxName(namespaces.personalPrefix) }
}

function prefixesOf(namespace: ImapAttribute | undefined): string[] {
  if (!Array.isArray(namespace)) return []
  return namespace.slice(0, PREFIXES_MAX).flatMap(entry => {
    if (!Array.isArray(entry)) return []
    const prefix = nameOf(entry[0])
    if (prefix === null) return []
    const separator = nameOf(entry[1]) ?? ''
    return [
      prefix === '' || separator === '' || prefix.endsWith(separator) ? prefix : `${prefix}${separator}`,
    ]
  })
}

/** @returns false if the server refuses, for good; a connection that ends is a failure */
export async function accepts(connection: CommandConnection, ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask()
    return true
  } catch (error) {
    if (connection.isClosed || !(error instanceof ProviderFailure)) throw error
    if (error.kind === 'unavailable' || error.kind === 'throttled') throw error
    return false
  }
}
