import {
  refitMessage,
  staysBeyondAscii,
  surveyMessage,
  type RefitOptions,
} from '../../../kit/mime-writing/refit.ts'
import type { SeparablePart } from '../../../kit/mime-writing/survey-parts.ts'
import { asBuffer } from '../../../kit/mime-writing/transfer.ts'
import type { SplitContent } from '../../../providers/sending.ts'
import { rangesLength, withoutRanges } from './cut-ranges.ts'
import { MAIL_DATE_LENGTH, mailDate } from './rules.ts'
import { splitContent } from './split-content.ts'

/**
 * A message is stored once, and read in several forms: for servers with SMTPUTF8, for servers without it, and as the
 * copy that is filed. Bytes that only one form has are marked. The value of Date is replaced in all of them.
 */

/**
 * Bytes that only some forms have: the filed copy, all forms for servers, or the form for servers with or without
 * SMTPUTF8. `bcc` is in the filed copy, and in the form for servers that read the recipients from the header.
 */
export interface FormRange {
  start: number
  end: number
  of: 'copy' | 'wire' | 'utf8' | 'ascii' | 'bcc'
}

/** Everything that is needed to read the stored content. It is kept with it, as JSON. */
export interface ContentLayout {
  /** The position at which the value of Date begins. */
  dateAt: number
  /** In ascending order; they do not overlap. */
  ranges: FormRange[]
  /** Whether the body has bytes beyond ASCII. */
  is8Bit: boolean
  /**
   * The files of a large message that can be handed over beside it, in ascending order. Absent if the message is small,
   * or has to be read to find them.
   */
  parts?: SeparablePart[]
}

export interface StoredContent {
  layout: ContentLayout
  byteLength: number
  open(): AsyncIterable<Uint8Array>
}

/** A form of a message. It can be read several times, and has exactly `byteLength` bytes. */
export interface ContentForm {
  byteLength: number
  open(): AsyncIterable<Buffer>
  split: SplitContent
}

export interface WireForm extends ContentForm {
  is8Bit: boolean
  hasUtf8Header: boolean
}

/** Abilities of the server that matter to the form. */
export interface WireOptions {
  /** The time of the first hand-over, also when it is tried again. */
  date: Date
  has8BitMime: boolean
  hasSmtpUtf8: boolean
  /** Whether it reads the recipients from the header. */
  hasBcc: boolean
}

/** The form that is handed over to a server. A body beyond ASCII is encoded if the server does not take it. */
export async function wireForm(stored: StoredContent, options: WireOptions): Promise<WireForm> {
  const { layout } = stored
  const hasUtf8Header = options.hasSmtpUtf8 && layout.ranges.some(({ of }) => of === 'utf8')
  const kinds: FormKinds = ['wire', options.hasSmtpUtf8 ? 'utf8' : 'ascii']
  const form = formOf(stored, options.date, options.hasBcc ? [...kinds, 'bcc'] : kinds)
  if (!layout.is8Bit || options.has8BitMime) return { ...form, is8Bit: layout.is8Bit, hasUtf8Header }
  return { ...(await refitForm(form, { allows8Bit: false })), hasUtf8Header }
}

/**
 * The form that is filed as a draft, or as the copy of a sent message: with Bcc, and with all addresses as they are.
 */
export function copyForm(stored: StoredContent, date: Date): ContentForm {
  return formOf(stored, date, ['copy', 'utf8', 'bcc'])
}

async function refitForm(
  form: ContentForm,
  options: RefitOptions,
): Promise<ContentForm & { is8Bit: boolean }> {
  const survey = await surveyMessage(form.open())
  const open = () => refitMessage(form.open(), survey, options)
  let byteLength = 0
  for await (const bytes of open()) byteLength += bytes.length
  return {
    ...withSplit({ byteLength, open }, null),
    is8Bit: staysBeyondAscii(survey, options),
  }
}

function withSplit(form: Omit<ContentForm, 'split'>, parts: readonly SeparablePart[] | null): ContentForm {
  return { ...form, split: restBytesMax => splitContent(form, parts, restBytesMax) }
}

type FormKinds = ReadonlyArray<FormRange['of']>

function formOf(stored: StoredContent, date: Date, kinds: FormKinds): ContentForm {
  const { layout } = stored
  const skipped = layout.ranges.filter(({ of }) => !kinds.includes(of))
  const form = {
    byteLength: stored.byteLength - rangesLength(skipped),
    async *open() {
      const value = Buffer.from(mailDate(date), 'latin1')
      let offset = 0
      for await (const piece of stored.open()) {
        const dated = replaceAt(asBuffer(piece), layout.dateAt - offset, value)
        yield* withoutRanges(dated, offset, skipped)
        offset += piece.length
      }
    },
  }
  return withSplit(form, layout.parts?.map(part => shifted(part, skipped)) ?? null)
}

/** A part by its position in the form, in which the bytes of other forms are missing before it. */
function shifted(part: SeparablePart, skipped: readonly FormRange[]): SeparablePart {
  const by = rangesLength(skipped.filter(({ end }) => end <= part.start))
  return { ...part, start: part.start - by, bodyStart: part.bodyStart - by, end: part.end - by }
}

/** The piece with as much of the value as lies in it. */
function replaceAt(piece: Buffer, at: number, value: Buffer): Buffer {
  if (at >= piece.length || at + MAIL_DATE_LENGTH <= 0) return piece
  const replaced = Buffer.from(piece)
  value.copy(replaced, Math.max(0, at), Math.max(0, -at))
  return replaced
}
