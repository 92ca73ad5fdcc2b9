import { isMailAddress } from '@waxwing/contract/mail/address-input.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { readAddresses } from '../../../kit/mime/addresses.ts'
import { decodeWords } from '../../../kit/mime/encoded-words.ts'
import { type FieldName, fieldText, HEADER_BYTES_MAX, readHeader } from '../../../kit/mime/header.ts'
import { addressField, type Mailbox, textField, wordsField } from '../../../kit/mime-writing/fields.ts'
import {
  ENCODING_LINE,
  findHtmlPart,
  type HtmlPart,
  writeHtmlPart,
} from '../../../kit/mime-writing/html-part.ts'
import { refitMessage, staysBeyondAscii, surveyMessage } from '../../../kit/mime-writing/refit.ts'
import { UnwalkableMessage } from '../../../kit/mime-writing/walk-message.ts'
import type { Composed } from './compose.ts'
import type { FormRange } from './stored-content.ts'
import {
  add,
  addAddresses,
  addDate,
  addOutboxId,
  addUnsubscribing,
  endHeader,
  type HeaderWriting,
  newHeader,
} from './header.ts'

/** Fields that name people, as they are called in the interface. */
const ADDRESS_FIELDS = { from: 'from', to: 'to', cc: 'cc', bcc: 'bcc', replyTo: 'reply-to' } as const
type AddressField = keyof typeof ADDRESS_FIELDS
/** A longer field would be read only in part. */
const FIELD_LENGTH_MAX = 60 * 1024

/** A draft of another client, prepared for a send. */
export interface ForeignDraft extends Omit<Composed, 'text' | 'hasAttachments' | 'byteLength'> {
  people: Record<AddressField, Mailbox[]>
  /**
   * Fields with an address that is not of the form `name@domain`, that are too long to be read, or that readers could
   * take in two ways: two of From, or a From with several people or with none.
   */
  unreadable: AddressField[]
  /** Whether it has a field by which recipients unsubscribe. */
  hasUnsubscribing: boolean
}

/** The HTML as its recipients get it, in place of the draft's. */
interface WireHtml {
  part: HtmlPart
  bytes: Buffer
}

export interface DraftSend {
  internetMessageId: string
  outboxId: string
  /** Makes the link by which the recipient leaves the list of the send; null without a list. */
  unsubscribeUrlOf: ((people: ForeignDraft['people']) => string) | null
  date: Date
  /** Makes the HTML as its recipients get it; null: it stays as it is. Not called if the HTML cannot be changed. */
  wireHtml: ((html: string) => Promise<string>) | null
  /** Becomes From if the draft has none. */
  from: Mailbox
  /** The addresses that Sender may name, as they are compared. */
  ownAddresses: ReadonlySet<string>
}

/**
 * Prepares a draft that another client wrote. It is sent as it is: only Date, Message-ID, Bcc and our own fields change,
 * fields of another transmission and a Sender who is not the account are left out, and parts that SMTP cannot carry are
 * encoded. Null if it cannot be sent at all: a header is endless, or something
 * signed has lines that are too long.
 * @param openDraft called three times, once more if the HTML changes; one reading ends after the header
 */
export async function prepareForeignDraft(
  openDraft: () => AsyncIterable<Uint8Array>,
  send: DraftSend,
): Promise<ForeignDraft | null> {
  const options = { allows8Bit: true }
  try {
    const survey = await surveyMessage(openDraft())
    if (survey.isHopeless) return null
    const open = () => refitMessage(openDraft(), survey, options)
    const original = await readHeaderBlock(open())
    const { people, unreadable } = readPeople(original)
    const wire = send.wireHtml ? await changeHtml(open(), send.wireHtml) : null
    const { header, layout } = changedHeader(original, people, send, wire?.part.isRoot ?? false)
    const moved = header.length - original.length
    return {
      layout: {
        ...layout,
        ranges: [...layout.ranges, ...(wire ? rangesOf(wire, original.length, moved) : [])],
        is8Bit: staysBeyondAscii(survey, options),
      },
      people,
      unreadable,
      hasUnsubscribing: fieldsOf(original).some(field => nameOf(field).startsWith('list-unsubscribe')),
      async *open() {
        yield header
        const body = afterHeader(open(), original.length)
        yield* wire ? inserted(body, wire.part.end - original.length, wire.bytes) : body
      },
    }
  } catch (error) {
    if (error instanceof UnwalkableMessage) return null
    throw error
  }
}

async function changeHtml(
  content: AsyncIterable<Buffer>,
  wireHtml: (html: string) => Promise<string>,
): Promise<WireHtml | null> {
  const part = await findHtmlPart(content)
  return part && { part, bytes: writeHtmlPart(part, await wireHtml(part.html.text)) }
}

/** The ranges of a changed part: its former bytes are for the copy, and the bytes after it for the wire. */
function rangesOf({ part, bytes }: WireHtml, headerBytes: number, moved: number): FormRange[] {
  // The header of the message has forms of its own, and the empty line after it stays.
  const start = (part.isRoot ? headerBytes + CRLF.length : part.start) + moved
  const end = part.end + moved
  return [
    { start, end, of: 'copy' },
    { start: end, end: end + bytes.length, of: 'wire' },
  ]
}

async function* inserted(content: AsyncIterable<Buffer>, at: number, bytes: Buffer): AsyncGenerator<Buffer> {
  let offset = 0
  for await (const piece of content) {
    const cut = at - offset
    if (cut < 0 || cut >= piece.length) yield piece
    else yield* [piece.subarray(0, cut), bytes, piece.subarray(cut)]
    offset += piece.length
  }
  if (at === offset) yield bytes
}

/** The header with the line break of its last line, without the empty line. */
async function readHeaderBlock(content: AsyncIterable<Buffer>): Promise<Buffer> {
  let read: Buffer = Buffer.alloc(0)
  for await (const bytes of content) {
    read = Buffer.concat([read, bytes])
    if (read.subarray(0, 2).equals(CRLF)) return Buffer.alloc(0)
    const end = read.indexOf('\r\n\r\n')
    if (end >= 0) return read.subarray(0, end + 2)
    if (read.length > HEADER_BYTES_MAX * 2) throw new UnwalkableMessage('The header is too long')
  }
  return read
}

const CRLF = Buffer.from('\r\n')

async function* afterHeader(content: AsyncIterable<Buffer>, headerBytes: number): AsyncGenerator<Buffer> {
  let left = headerBytes
  for await (const bytes of content) {
    if (bytes.length > left) yield bytes.subarray(left)
    left = Math.max(0, left - bytes.length)
  }
}

function readPeople(block: Buffer): Pick<ForeignDraft, 'people' | 'unreadable'> {
  const text = `${block.toString('latin1')}\r\n`
  const header = readHeader(text, 0, text.length)
  const names = fieldsOf(block).map(nameOf)
  const people: ForeignDraft['people'] = { from: [], to: [], cc: [], bcc: [], replyTo: [] }
  const unreadable: AddressField[] = []
  for (const [field, name] of Object.entries(ADDRESS_FIELDS) as Array<[AddressField, FieldName]>) {
    const value = fieldText(header, name)
    people[field] = readAddresses(value)
    const isLong = value !== null && value.length > FIELD_LENGTH_MAX
    const times = names.filter(found => found === name).length
    const isAmbiguous =
      (times > 0 && value === null) ||
      (times > 1 && (field === 'from' || field === 'replyTo')) ||
      (times > 0 && field === 'from' && people.from.length !== 1)
    if (isLong || isAmbiguous || !people[field].every(({ address }) => isMailAddress(address)))
      unreadable.push(field)
  }
  return { people, unreadable }
}

/**
 * RFC 5321 section 4.4 and RFC 5322 section 3.6.6: fields about the way of an earlier message are not true of this
 * send.
 */
const REPLACED = /^(?:date|message-id|bcc|return-path|resent-[^:]*|x-waxwing-[^:]*)[ \t]*:/i
const FIELD = /^([!-9;-~]+)[ \t]*:/

/** The fields as they stand, with ours in place of the draft's. */
function changedHeader(
  block: Buffer,
  people: ForeignDraft['people'],
  send: DraftSend,
  isEncoded: boolean,
): ReturnType<typeof endHeader> {
  const writing = newHeader()
  const fields = fieldsOf(block)
  const has = (name: string) => fields.some(field => nameOf(field) === name)
  for (const field of fields) if (nameOf(field) === 'bcc') add(writing, field, 'bcc')
  addDate(writing, send.date)
  add(writing, wordsField('Message-ID', [send.internetMessageId]))
  addUnsubscribing(writing, send.unsubscribeUrlOf?.(people) ?? null)
  addOutboxId(writing, send.outboxId)
  if (!has('from')) addAddresses(writing, 'From', [send.from])
  if (!has('to') && !has('cc') && people.bcc.length > 0) add(writing, 'To: undisclosed-recipients:;\r\n')
  for (const field of fields) {
    if (REPLACED.test(field.toString('latin1'))) continue
    if (nameOf(field) === 'sender' && !isOwn(field, send.ownAddresses)) continue
    if (isEncoded && nameOf(field) === 'content-transfer-encoding') add(writing, field, 'copy')
    else keepField(writing, field)
  }
  if (isEncoded) add(writing, ENCODING_LINE, 'wire')
  return endHeader(writing)
}

/** Fields with their line breaks; a line that continues none is a field of its own. */
function fieldsOf(block: Buffer): Buffer[] {
  const lines = block.toString('latin1').match(/[^\n]*\n|[^\n]+$/g) ?? []
  const fields: string[] = []
  for (const line of lines) {
    if (/^[ \t]/.test(line) && fields.length > 0) fields.push(`${fields.pop()}${line}`)
    else fields.push(line)
  }
  return fields.map(field => Buffer.from(field.endsWith('\n') ? field : `${field}\r\n`, 'latin1'))
}

function nameOf(field: Buffer): string {
  return FIELD.exec(field.toString('latin1'))?.[1]?.toLowerCase() ?? ''
}

/** Whether a field names only addresses of the account. */
function isOwn(field: Buffer, ownAddresses: DraftSend['ownAddresses']): boolean {
  const named = readAddresses(valueOf(field.toString('utf8')))
  return named.length > 0 && named.every(({ address }) => ownAddresses.has(comparedAddress(address)))
}

function valueOf(raw: string): string {
  return raw.slice(raw.indexOf(':') + 1).replaceAll(/\r?\n/g, '')
}

const ADDRESS_FIELD_NAMES: ReadonlySet<string> = new Set([...Object.values(ADDRESS_FIELDS), 'sender'])

/** A field beyond ASCII stays as it is for servers with SMTPUTF8, and is encoded for the others. */
function keepField(writing: HeaderWriting, field: Buffer): void {
  const name = nameOf(field)
  const isPlain = field.every(byte => byte < 128) || name === '' || name.startsWith('content-')
  if (isPlain) {
    add(writing, field)
    return
  }
  const raw = field.toString('utf8')
  const value = valueOf(raw)
  const label = raw.slice(0, raw.indexOf(':')).trim()
  add(writing, field, 'utf8')
  const encoded = ADDRESS_FIELD_NAMES.has(name)
    ? addressField(label, readAddresses(value), 'ascii')
    : textField(label, decodeWords(value).replaceAll(/\p{Cc}/gu, ' '))
  add(writing, encoded, 'ascii')
}
