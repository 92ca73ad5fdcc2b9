import { randomUUID } from 'node:crypto'
import { addressesIn, headerOf, type Header } from '../../mail/headers.ts'
import {
  dateText,
  headersOf,
  recipientsIn,
  withHeaders,
  type HeaderChanges,
} from '../../mail/message-headers.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'

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
