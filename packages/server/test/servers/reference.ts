import {
  attributesOf,
  bytesOf,
  decodeMailboxName,
  encodeMailboxName,
  type ImapValue,
  quote,
} from './imap-values.ts'
import type { MailServer, TestUser } from './mail-server.ts'
import { waitUntil } from '../wait-until.ts'
import { openWitness, RefusedCommand, type Witness } from './witness.ts'

export interface TrueMessage {
  uid: number
  /** Sorted, without `\Recent`. */
  flags: string[]
  internalDate: Date
  size: number
  /** As they are in the server's ENVELOPE (RFC 9051 section 7.5.2): still encoded where they were. */
  messageId: string | null
  inReplyTo: string | null
  subject: string | null
  from: TrueAddress[]
  to: TrueAddress[]
}

export interface TrueAddress {
  name: string | null
  address: string
}

export interface TrueMailbox {
  /** `/`-separated whatever the server's separator is. */
  path: string
  /** Attributes of LIST in lower case, such as `\sent`. */
  attributes: string[]
  uidValidity: number
  unseenCount: number
  messages: TrueMessage[]
}

/** All that a user's mailboxes hold, read from the server by the independent client. Sorted by path and by UID. */
export async function readTruth(server: MailServer, user: TestUser): Promise<TrueMailbox[]> {
  await using witness = await openWitness(server, user)
  const { untagged } = await witness.command('LIST "" "*"')
  const mailboxes: TrueMailbox[] = []
  for (const [kind, attributes, , name] of untagged) {
    if (kind !== 'LIST' || !Array.isArray(attributes)) continue
    const flags = attributes.map(attribute => String(attribute).toLowerCase())
    if (flags.includes('\\noselect') || flags.includes('\\nonexistent')) continue
    const path = decodeMailboxName(bytesOf(name)?.toString('latin1') ?? '').replaceAll(server.separator, '/')
    mailboxes.push({ path, attributes: flags, ...(await readMailbox(witness, server, path)) })
  }
  return mailboxes.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** The same while others change the mailboxes: read again whenever something changed meanwhile. */
export function readChangingTruth(server: MailServer, user: TestUser): Promise<TrueMailbox[]> {
  return waitUntil('the server to hold still', () =>
    readTruth(server, user).catch((error: unknown) => {
      if (error instanceof RefusedCommand || /: announced \d+ messages/.test(String(error))) return null
      throw error
    }),
  )
}

async function readMailbox(witness: Witness, server: MailServer, path: string) {
  const name = quote(encodeMailboxName(path.replaceAll('/', server.separator)))
  const examined = await witness.command(`EXAMINE ${name}`)
  const told = examined.untagged.map(values => values.map(String).join(' ')).join('\n')
  const uidValidity = Number(/\[UIDVALIDITY (\d+)\]/.exec(told)?.[1])
  const count = Number(/^(\d+) EXISTS/m.exec(told)?.[1] ?? 0)
  if (count === 0) return { uidValidity, unseenCount: 0, messages: [] }

  const { untagged } = await witness.command('UID FETCH 1:* (UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)')
  const messages = untagged
    .filter(([, kind]) => kind === 'FETCH')
    .map(([, , attributes]) => readMessage(attributesOf(attributes)))
    .toSorted((a, b) => a.uid - b.uid)
  if (messages.length !== count)
    throw new Error(`${path}: announced ${count} messages and gave ${messages.length}`)
  return {
    uidValidity,
    unseenCount: messages.filter(({ flags }) => !flags.includes('\\Seen')).length,
    messages,
  }
}

function readMessage(attributes: Map<string, ImapValue>): TrueMessage {
  const flags = attributes.get('FLAGS')
  const envelope = attributes.get('ENVELOPE')
  const [, subject, from, , , to, , , inReplyTo, messageId] = Array.isArray(envelope) ? envelope : []
  return {
    uid: Number(attributes.get('UID')),
    flags: (Array.isArray(flags) ? flags.map(String) : []).filter(flag => flag !== '\\Recent').toSorted(),
    internalDate: new Date(String(attributes.get('INTERNALDATE')).replace(/^ ?(\d+)-(\w+)-/, '$1 $2 ')),
    size: Number(attributes.get('RFC822.SIZE')),
    messageId: readText(messageId),
    inReplyTo: readText(inReplyTo),
    subject: readText(subject),
    from: readAddresses(from),
    to: readAddresses(to),
  }
}

function readText(value: ImapValue | undefined) {
  return bytesOf(value)?.toString('utf8') ?? null
}

function readAddresses(value: ImapValue | undefined): TrueAddress[] {
  if (!Array.isArray(value)) return []
  return value.flatMap(entry => {
    const [name, , local, domain] = Array.isArray(entry) ? entry.map(readText) : []
    // Without a domain it is the name of a group (RFC 9051 section 7.5.2).
    return local && domain ? [{ name: name ?? null, address: `${local}@${domain}` }] : []
  })
}
