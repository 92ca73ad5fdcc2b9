import type { ImapResponse } from 'imapflow/lib/handler/types.js'
import type { Notice } from '../mail.ts'
import { ProviderFailure } from '../failure.ts'
import type { AnswerHandler, Command } from './command.ts'
import { countSet } from './compare.ts'
import { modseqOf, numberOf, objectIdOf, responseCode, textOf, textsOf } from './values.ts'

/**
 * A mailbox that claims to have more messages is not followed: lists of its numbers would not fit into memory.
 */
export const MESSAGES_MAX = 10_000_000

/** State of an opened mailbox, as the server reported it. */
export interface Selected {
  wireName: string
  uidValidity: number
  /** Null if the server does not report it (RFC 3501 allowed that). */
  uidNext: number | null
  exists: number
  /** Whether the server reported since it was opened that all its messages are gone: see `reopenIfEmptied`. */
  wasEmptied: boolean
  /** Null if the server or the mailbox has no mod-sequences. */
  highestModseq: string | null
  mailboxId: string | null
  /** Whether it was opened by SELECT, and the account may change it. */
  isWritable: boolean
  /** Flags that the mailbox has, as the server writes them. */
  flags: readonly string[]
  /** Flags that it keeps, in lower case; null if the server names none, which means all (RFC 3501 section 7.1). */
  permanentFlags: ReadonlySet<string> | null
  /**
   * The UIDs that certainly name the same messages as in the index: UIDs up to `to`, and from `from` on. Null if there
   * are none.
   */
  trusted: { to: number; from: number } | null
}

/** Handles reports of a server about the open mailbox in the answer to any command. */
export function hearUnasked(
  selected: () => Selected | null,
  note: (news: Partial<Notice>) => void,
): Record<string, AnswerHandler> {
  return {
    EXISTS(number) {
      const mailbox = selected()
      if (!mailbox || number <= mailbox.exists) return
      mailbox.exists = Math.min(number, MESSAGES_MAX)
      // The message that EXAMINE announced has arrived.
      mailbox.uidNext = null
      note({ arrived: true })
    },
    EXPUNGE() {
      take(selected(), 1)
      note({ gone: true })
    },
    VANISHED(_, values) {
      // RFC 7162 section 3.2.10: with (EARLIER) it is history that the count of the mailbox already includes.
      if (Array.isArray(values[0])) return
      take(selected(), countSet(textOf(values[0])))
      note({ gone: true })
    },
    FETCH() {
      note({ changed: true })
    },
    FLAGS(_, [list]) {
      const mailbox = selected()
      if (mailbox) mailbox.flags = textsOf(list)
    },
  }
}

function take(mailbox: Selected | null, count: number): void {
  if (!mailbox || mailbox.exists === 0) return
  mailbox.exists = Math.max(0, mailbox.exists - count)
  mailbox.wasEmptied ||= mailbox.exists === 0
}

/**
 * Opens a mailbox. Following uses EXAMINE: it must not take \Recent from other clients, nor change any flag. Only SELECT
 * lets commands change messages.
 */
export async function openMailbox(
  run: (command: Command) => Promise<ImapResponse>,
  name: 'EXAMINE' | 'SELECT',
  wireName: string,
): Promise<Selected> {
  const opened: Selected = {
    wireName,
    uidValidity: 0,
    uidNext: null,
    exists: 0,
    wasEmptied: false,
    highestModseq: null,
    mailboxId: null,
    isWritable: false,
    flags: [],
    permanentFlags: null,
    trusted: null,
  }
  const response = await run({
    name,
    arguments: [wireName],
    answers: {
      EXISTS: number => void (opened.exists = number),
      EXPUNGE: () => void (opened.exists = Math.max(0, opened.exists - 1)),
      FETCH: () => {},
      FLAGS: (_, [list]) => void (opened.flags = textsOf(list)),
      OK(_, values) {
        const code = responseCode(values)
        const said = textOf(code?.[0])?.toUpperCase()
        if (said === 'UIDVALIDITY') opened.uidValidity = numberOf(code?.[1]) ?? 0
        if (said === 'UIDNEXT') opened.uidNext = numberOf(code?.[1]) || null
        if (said === 'HIGHESTMODSEQ') opened.highestModseq = modseqOf(code?.[1])
        if (said === 'MAILBOXID') opened.mailboxId = objectIdOf(code?.[1])
        if (said === 'PERMANENTFLAGS')
          opened.permanentFlags = new Set(textsOf(code?.[1]).map(flag => flag.toLowerCase()))
      },
    },
  })
  const access = textOf(responseCode(response.attributes)?.[0])?.toUpperCase()
  opened.isWritable = name === 'SELECT' && access !== 'READ-ONLY'
  // RFC 3501 section 2.3.1.1: without UIDVALIDITY the server's UIDs do not last.
  if (opened.uidValidity === 0)
    throw new ProviderFailure('unsupported', 'The server keeps no lasting message numbers.')
  if (opened.exists > MESSAGES_MAX)
    throw new ProviderFailure('unsupported', 'A mailbox claims to hold more than 10 million messages.')
  return opened
}
