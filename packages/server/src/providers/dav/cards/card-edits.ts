import type { ContentLine, Parameter } from '../../../kit/content-lines/content-line.ts'
import { makeParameter, type WritableLine } from '../../../kit/content-lines/print-line.ts'
import type { LineSource } from '../../../kit/content-lines/rewrite-file.ts'
import { escapeText } from '../../../kit/content-lines/text-value.ts'
import type { Card, CardLine, CardVersion } from './card.ts'

/** The edits of one change of a card, which grow field by field. */
export interface CardEdits {
  /** The lines that take the place of a line, by its index. */
  replacing: Map<number, readonly LineSource[]>
  /** Lines that come at the end of the card. */
  adding: WritableLine[]
  /** Number of the lines of a group, without labels, that will no longer be there. */
  gone: Map<string, number>
}

export function noEdits(): CardEdits {
  return { replacing: new Map(), adding: [], gone: new Map() }
}

export function removeLine(edits: CardEdits, { index }: CardLine): void {
  edits.replacing.set(index, [])
}

/** Puts a value into a line, or into a new one. */
export function putValue(
  card: Card,
  edits: CardEdits,
  name: string,
  line: CardLine | undefined,
  value: string,
): void {
  const written = lineWith(card.version, line?.content ?? newLine(name), value)
  if (line) edits.replacing.set(line.index, [written])
  else edits.adding.push(written)
}

export function newLine(name: string): Pick<ContentLine, 'rawName' | 'parameters'> {
  return { rawName: name, parameters: [] }
}

/** A text as a part of a structure, with the escapes of its version: vCard 2.1 has none for line breaks. */
export function writePart(version: CardVersion, text: string): string {
  return version === '2.1' ? text.replaceAll(/[\\,;]/g, String.raw`\$&`) : escapeText(text)
}

/**
 * A text that is a value, or in a list. In version 4 a semicolon needs no escape there (RFC 6350 section 3.4), and
 * ical.js, and so Thunderbird and Nextcloud, would show it.
 */
export function writeText(version: CardVersion, text: string): string {
  if (version !== '4.0') return writePart(version, text)
  return text.split(';').map(escapeText).join(';')
}

/** How a value is encoded is a parameter, but does not belong to what a change keeps. */
const ENCODINGS = new Set(['ENCODING', 'CHARSET'])
const BARE_ENCODINGS = /^(?:quoted-printable|7bit|8bit)$/i

/**
 * A line with another value, in UTF-8. vCard 2.1 needs quoted-printable for all but ASCII, and for line breaks; later
 * ones have no such encoding.
 */
export function lineWith(
  version: CardVersion,
  { rawName, parameters }: Pick<ContentLine, 'rawName' | 'parameters'>,
  value: string,
): WritableLine {
  const kept = parameters.filter(
    parameter => !ENCODINGS.has(parameter.name ?? '') && !isBareEncoding(parameter),
  )
  if (version !== '2.1') return { rawName, parameters: kept, value: toLine(value) }
  if (/^[\x20-\x7e]*$/.test(value)) return { rawName, parameters: kept, value }
  const encoded = [makeParameter('CHARSET', ['UTF-8']), makeParameter('ENCODING', ['QUOTED-PRINTABLE'])]
  return { rawName, parameters: [...kept, ...encoded], value }
}

/** Parts of a value that stay may have control characters, which are read as blanks. */
function toLine(value: string): string {
  return value.replaceAll(/\r\n|[\r\n]/g, String.raw`\n`).replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
}

function isBareEncoding({ name, values }: Parameter): boolean {
  return name === null && values.length === 1 && BARE_ENCODINGS.test(values[0]!)
}
