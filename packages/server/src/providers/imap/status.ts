import { type MailboxStatus, NAME_BYTES_MAX } from './mailboxes.ts'
import { type ImapAttribute, modseqOf, numberOf, pairsOf, textOf } from './values.ts'

/** The name of a mailbox on the wire, which is written in several ways only for the inbox. */
export function keyOf(wireName: string): string {
  return wireName.toUpperCase() === 'INBOX' ? 'INBOX' : wireName
}

/** The name of a mailbox in an answer. Null if it is longer than the limit. */
export function nameOf(value: ImapAttribute | undefined): string | null {
  const name = textOf(value) ?? ''
  return name.length <= NAME_BYTES_MAX ? compact(name) : null
}

/**
 * imapflow builds its texts character by character; V8 keeps each step, 32 bytes per character, until it copies the
 * whole.
 */
export function compact(text: string): string {
  return Buffer.from(text).toString()
}

/** Reads the status of a mailbox from a STATUS answer. Null if its name is longer than the limit. */
export function readStatus(values: ImapAttribute[]): { name: string; status: MailboxStatus } | null {
  const name = nameOf(values[0])
  if (name === null) return null
  const items = new Map(pairsOf(values[1]))
  const status = {
    messages: numberOf(items.get('MESSAGES')),
    unseen: numberOf(items.get('UNSEEN')),
    uidNext: numberOf(items.get('UIDNEXT')),
    uidValidity: numberOf(items.get('UIDVALIDITY')),
    highestModseq: modseqOf(items.get('HIGHESTMODSEQ')),
    mailboxId: null,
  }
  return { name: keyOf(name), status }
}

/** A status after a report that may lack items, or came before it and lacks them. */
export function updatedStatus(before: MailboxStatus, now: MailboxStatus): MailboxStatus {
  return {
    messages: now.messages ?? before.messages,
    unseen: now.unseen ?? before.unseen,
    uidNext: now.uidNext ?? before.uidNext,
    uidValidity: now.uidValidity ?? before.uidValidity,
    highestModseq: now.highestModseq ?? before.highestModseq,
    mailboxId: now.mailboxId ?? before.mailboxId,
  }
}
