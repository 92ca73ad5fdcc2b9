import { splitValue } from '../../../kit/content-lines/text-value.ts'
import type { ContactChange, ContactFields } from '../../contacts.ts'
import { writeBirthday } from './birthday.ts'
import { type Card, type CardLine, linesOf } from './card.ts'
import {
  type CardEdits,
  lineWith,
  newLine,
  putValue,
  removeLine,
  writePart,
  writeText,
} from './card-edits.ts'
import { readDisplayName, shownLine } from './read-card.ts'
import { makeDisplayName, readListPart, readName } from './text.ts'

/* Edits of the fields that are one text. `change` has them as they will be read. */

/** The first parts of N (RFC 6350 section 6.2.2). It has five; RFC 9554 adds more, which are kept. */
const NAME_PARTS = ['familyName', 'givenName', 'middleName'] as const
const NAME_PARTS_MIN = 5
const ORGANIZATION_PARTS = ['organization', 'department'] as const

/** @param next the fields as the change leaves them */
export function editNames(card: Card, edits: CardEdits, change: ContactChange, next: ContactFields): void {
  editDisplayName(card, edits, change, next)
  editStructure(card, edits, 'N', NAME_PARTS, NAME_PARTS_MIN, change)
  editStructure(card, edits, 'ORG', ORGANIZATION_PARTS, 1, change)
  editNickname(card, edits, change)
  editText(card, edits, 'TITLE', change.jobTitle, readName)
}

/** A made name is written, too: cards must have one. The text is empty if there is nothing to make it of. */
function editDisplayName(card: Card, edits: CardEdits, change: ContactChange, next: ContactFields): void {
  if (change.displayName === undefined) return
  const wanted = change.displayName ?? makeDisplayName(next)
  const line = shownLine(card, 'FN')
  if (line && readDisplayName(card) === wanted) return
  putValue(card, edits, 'FN', line, writeText(card.version, wanted ?? ''))
}

/** Replaces the first parts of a structure. The others keep their text as it is written. */
function editStructure(
  card: Card,
  edits: CardEdits,
  name: 'N' | 'ORG',
  fields: ReadonlyArray<(typeof NAME_PARTS | typeof ORGANIZATION_PARTS)[number]>,
  partsMin: number,
  change: ContactChange,
): void {
  const line = shownLine(card, name)
  const parts = line ? splitValue(line.content.value, ';') : []
  const read = name === 'N' ? readListPart : readName
  let isChanged = false
  for (const [index, field] of fields.entries()) {
    const wanted = change[field]
    if (wanted === undefined || wanted === read(parts[index] ?? '')) continue
    pad(parts, index + 1)
    parts[index] = writePart(card.version, wanted ?? '')
    isChanged = true
  }
  if (!isChanged) return
  const isEmpty = parts.every(part => part.trim() === '')
  if (isEmpty && name === 'ORG') return clear(card, edits, name)
  pad(parts, partsMin)
  putValue(card, edits, name, line, parts.join(';'))
}

/** Adds empty parts. A lone backslash at the end would escape the delimiter after it. */
function pad(parts: string[], count: number): void {
  const last = parts.length - 1
  const backslashes = /\\*$/.exec(parts[last] ?? '')![0].length
  if (last >= 0 && parts.length < count && backslashes % 2 === 1) parts[last] += '\\'
  while (parts.length < count) parts.push('')
}

/** The shown nickname is the first of a list, whose others stay where they are. */
function editNickname(card: Card, edits: CardEdits, { nickname }: ContactChange): void {
  const line = shownLine(card, 'NICKNAME')
  const [first = '', ...others] = line ? splitValue(line.content.value, ',') : []
  if (nickname === undefined || nickname === readName(first)) return
  if (nickname === null && others.length === 0) return clear(card, edits, 'NICKNAME')
  putValue(card, edits, 'NICKNAME', line, [writeText(card.version, nickname ?? ''), ...others].join(','))
}

/** @param read reads the text of a value, so that the same text changes nothing */
export function editText(
  card: Card,
  edits: CardEdits,
  name: string,
  wanted: string | null | undefined,
  read: (value: string) => string | null,
): void {
  const line = shownLine(card, name)
  if (wanted === undefined || wanted === (line ? read(line.content.value) : null)) return
  if (wanted === null) clear(card, edits, name)
  else putValue(card, edits, name, line, writeText(card.version, wanted))
}

/** Removes the shown line. If there are others, it stays without a value, so that none of them is shown instead. */
function clear(card: Card, edits: CardEdits, name: string): void {
  const [line, ...others] = linesOf(card, name)
  if (!line) return
  if (others.length === 0) removeLine(edits, line)
  else putValue(card, edits, name, line, '')
}

/** A birthday without a value would be malformed, so all lines of a card that has several are removed. */
export function editBirthday(
  card: Card,
  edits: CardEdits,
  wanted: string | null,
  current: string | null,
): void {
  if (wanted === current) return
  const lines = linesOf(card, 'BDAY')
  if (wanted === null) return lines.forEach(line => removeLine(edits, line))
  const line: CardLine | undefined = lines[0]
  const { rawName, parameters } = line?.content ?? newLine('BDAY')
  const written = writeBirthday(wanted, card.version, parameters)
  const source = lineWith(card.version, { rawName, parameters: written.parameters }, written.value)
  if (line) edits.replacing.set(line.index, [source])
  else edits.adding.push(source)
}
