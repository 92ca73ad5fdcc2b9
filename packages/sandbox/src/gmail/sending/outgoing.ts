import { randomUUID } from 'node:crypto'
import { addressesIn, headerOf, type Header } from '../../mail/headers.ts'
import { headerEnd } from '../../mail/mime.ts'
import { headersOf, recipientsIn } from '../../mail/message-headers.ts'
import { type Mailbox } from '../mailbox/mailbox.ts'

/** A message as Gmail sends it. */
export interface Outgoing {
  /** The sender's own copy, with Bcc. */
  sent: Buffer
  /** The recipients' copy, without Bcc. */
  delivered: Buffer
  recipients: string[]
  from: string
}

const MESSAGE_ID_HOST = 'mail.gmail.com'

/**
 * Makes what is sent of what a client gave: a From that the user may use, a Message-ID, a Date and a line that
 * says how it came. Everything else keeps its bytes.
 */
export function outgoingOf(mailbox: Mailbox, raw: Buffer, overwriteMessageId: boolean): Outgoing {
  const headers = headersOf(raw)
  const from = senderOf(mailbox, headers)
  const changes: HeaderChanges = {
    remove: [],
    add: [`Received: from 1 named unknown by gmailapi.google.com with HTTPREST; ${dateText(mailbox.now())}`],
  }
  if (!addressesIn(headerOf(headers, 'From')).includes(from)) {
    const name = mailbox.sendAs.get(from)?.displayName
    changes.remove.push('from')
    changes.add.push(`From: ${name ? `"${name.replaceAll(/["\\\r\n]/g, '')}" ` : ''}<${from}>`)
  }
  if (overwriteMessageId || headerOf(headers, 'Message-ID') === '') {
    changes.remove.push('message-id')
    changes.add.push(`Message-ID: <CA${randomUUID().replaceAll('-', '')}@${MESSAGE_ID_HOST}>`)
  }
  if (headerOf(headers, 'Date') === '') changes.add.push(`Date: ${dateText(mailbox.now())}`)
  const sent = withHeaders(raw, changes)
  return {
    sent,
    delivered: withHeaders(sent, { remove: ['bcc'], add: [] }),
    recipients: recipientsIn(headers),
    from,
  }
}

/** The address in From if the user may send as it, else the user's default. */
function senderOf(mailbox: Mailbox, headers: Header[]): string {
  const aliases = [...mailbox.sendAs.values()].filter(alias => alias.verificationStatus === 'accepted')
  const [asked] = addressesIn(headerOf(headers, 'From'))
  const alias =
    aliases.find(({ sendAsEmail }) => sendAsEmail === asked) ?? aliases.find(({ isDefault }) => isDefault)
  return alias?.sendAsEmail ?? mailbox.email
}

/** A time as in a Date header (RFC 5322 section 3.3), in UTC. */
export const dateText = (at: number): string => new Date(at).toUTCString().replace('GMT', '+0000')

interface HeaderChanges {
  /** Names in lower case. */
  remove: string[]
  /** Whole lines, put first. */
  add: string[]
}

/** The message with headers removed and added, and the rest byte for byte. */
export function withHeaders(raw: Buffer, { remove, add }: HeaderChanges): Buffer {
  const { headersEnd } = headerEnd(raw, 0, raw.length)
  const fields = raw
    .subarray(0, headersEnd)
    .toString('latin1')
    .split(/(?<=\n)(?![ \t])/)
  const kept = fields.filter(
    field => !remove.includes(field.slice(0, field.indexOf(':')).trim().toLowerCase()),
  )
  const lines = add.map(line => Buffer.from(`${line}\r\n`))
  return Buffer.concat([...lines, Buffer.from(kept.join(''), 'latin1'), raw.subarray(headersEnd)])
}
