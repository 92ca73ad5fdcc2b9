import type { ImapCompileNode } from 'imapflow/lib/handler/types.js'
import type { Allowance } from './answer-budget.ts'
import { NUMBERS_LINE_BYTES_MAX } from './answer-line.ts'
import type { Command } from './command.ts'
import { countSet } from './compare.ts'
import { MAILBOXES_MAX } from './mailboxes.ts'

/** The answers that a command may bring. */
export interface ExpectedAnswers extends Allowance {
  /** Maximum length of the text of one answer, without its literals. */
  lineBytes: number
}

const KB = 1024
/** No request is for more than 256 KB of content. */
export const LITERAL_BYTES_MAX = 512 * KB
/** The most messages that one command changes. The two sets of its COPYUID must each fit into `SET_BYTES_MAX`. */
export const UIDS_PER_CHANGE = 250
const CHANGING = new Set(['UID STORE', 'UID COPY', 'UID MOVE', 'UID EXPUNGE', 'EXPUNGE'])
/** Limit for unsolicited answers. */
export const LINE_BYTES = 8 * KB
const LITTLE: ExpectedAnswers = { answers: 100, bytes: 64 * KB, lineBytes: LINE_BYTES }
/** There are accounts with more mailboxes than are indexed; each mailbox has two answers. */
const LISTED: ExpectedAnswers = {
  answers: 8 * MAILBOXES_MAX,
  bytes: 16 * KB * KB,
  lineBytes: LINE_BYTES,
}
/** A mailbox may have a long list of keywords, which is sent twice. */
const OPENED: ExpectedAnswers = { answers: 100, bytes: 128 * KB, lineBytes: 32 * KB }
/** Numbers of at most 10,000 messages, or ranges of vanished messages, in pieces (`cutAnswer`). */
const NUMBERS: ExpectedAnswers = {
  answers: 2000,
  bytes: NUMBERS_LINE_BYTES_MAX + 64 * KB,
  lineBytes: LINE_BYTES,
}

/** Flags and a few numbers of a message, and the same again for changes in the meantime. */
const MESSAGE_BYTES = 1 * KB
const MESSAGE_ANSWERS = 2
const MESSAGE_LINE_BYTES = 16 * KB
const STRUCTURE_BYTES = 32 * KB
/** Beside that, for messages whose senders gave them thousands of parts: their structures are read and left out. */
const STRUCTURES_BYTES = 64 * KB * KB
const STRUCTURE_LINE_BYTES = 256 * KB
/** A section that is fetched without a range: fields of a header. */
const SECTION_BYTES = 64 * KB

/** The answers that a command may bring in a mailbox of `exists` messages. */
export function expectedAnswers({ name, arguments: values = [] }: Command, exists: number): ExpectedAnswers {
  if (name === 'LIST' || name === 'XLIST' || name === 'LSUB') return LISTED
  if (name === 'EXAMINE' || name === 'SELECT') return OPENED
  if (name === 'UID SEARCH') return NUMBERS
  if (name === 'UID FETCH') return fetched(values, exists)
  return CHANGING.has(name) ? changed(values, exists) : LITTLE
}

/** Flags of each message, or that it left. EXPUNGE names no set, and is used for as many as UID EXPUNGE. */
function changed([set]: ImapCompileNode[], exists: number): ExpectedAnswers {
  const messages = Math.min(set === undefined ? UIDS_PER_CHANGE : countSet(valueOf(set)), exists)
  return {
    answers: LITTLE.answers + messages * MESSAGE_ANSWERS,
    bytes: LITTLE.bytes + messages * MESSAGE_BYTES,
    lineBytes: MESSAGE_LINE_BYTES,
  }
}

function fetched([set, items, modifiers]: ImapCompileNode[], exists: number): ExpectedAnswers {
  const messages = Math.min(countSet(valueOf(set)), exists)
  const asked = Array.isArray(items) ? items : []
  const bytesEach = asked.reduce((sum: number, item) => sum + bytesOf(item), MESSAGE_BYTES)
  const hasStructure = asked.some(item => valueOf(item) === 'BODYSTRUCTURE')
  const hasVanished = Array.isArray(modifiers) && modifiers.some(item => valueOf(item) === 'VANISHED')
  const base = hasVanished ? NUMBERS : LITTLE
  return {
    answers: base.answers + messages * MESSAGE_ANSWERS,
    bytes: base.bytes + messages * bytesEach + (hasStructure ? STRUCTURES_BYTES : 0),
    lineBytes: hasStructure ? STRUCTURE_LINE_BYTES : MESSAGE_LINE_BYTES,
  }
}

function bytesOf(item: ImapCompileNode): number {
  if (!item || typeof item !== 'object' || Array.isArray(item)) return 0
  if ('partial' in item && item.partial) return Number(item.partial[1] ?? 0)
  if ('section' in item && item.section) return SECTION_BYTES
  return valueOf(item) === 'BODYSTRUCTURE' ? STRUCTURE_BYTES : 0
}

function valueOf(node: ImapCompileNode | undefined): string | null {
  const value =
    node && typeof node === 'object' && !Array.isArray(node) && 'value' in node ? node.value : null
  return typeof value === 'string' ? value : null
}
