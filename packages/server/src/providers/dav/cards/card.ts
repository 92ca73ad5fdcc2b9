import {
  type Component,
  type ContentFile,
  FileRefused,
  splitFile,
} from '../../../kit/content-lines/content-file.ts'
import { type ContentLine, isQuotedPrintable } from '../../../kit/content-lines/content-line.ts'
import { unescapeText } from '../../../kit/content-lines/text-value.ts'

/* A vCard (RFC 2426, RFC 6350) as its lines. */

export type CardVersion = '2.1' | '3.0' | '4.0'

export interface CardLine {
  /** Its index in the file. */
  index: number
  content: ContentLine
}

/** Apple's name for the type of a value, which stands in a line of its own in the same group. */
const LABEL = 'X-ABLABEL'

/** Lines that belong together. */
export interface CardGroup {
  name: string
  labels: CardLine[]
  /** Number of its other lines. */
  others: number
}

export interface Card {
  file: ContentFile
  version: CardVersion
  /** Its properties, without those of components within it, by their names in upper case. */
  named: ReadonlyMap<string, readonly CardLine[]>
  /** By the name of the group, in lower case. */
  groups: ReadonlyMap<string, CardGroup>
  /** Index of the line before which new ones come. */
  end: number
}

/** A file that is no card, or too large to be one. */
export class UnreadableCard extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'UnreadableCard'
  }
}

/**
 * Finds the first card of a file.
 * @throws UnreadableCard if there is none, or the file exceeds the bounds of `splitFile`
 */
export function openCard(bytes: Buffer): Card {
  const file = splitCardFile(bytes)
  const found = file.components.find(({ name }) => name === 'VCARD')
  if (!found) throw new UnreadableCard('The file has no vCard')
  const lines = found.lines.flatMap(index => {
    const { content } = file.lines[index]!
    return content ? [{ index, content }] : []
  })
  const named = Map.groupBy(lines, ({ content }) => content.name)
  return { file, named, groups: groupsOf(lines), end: endOf(file, found), version: versionOf(named) }
}

/**
 * New lines come before the END of the card, or at the end of the file if it is missing. They must not get into an inner
 * component without END, or behind a value in quoted-printable that breaks off.
 */
function endOf(file: ContentFile, { end, components }: Component): number {
  const open = components.find(inner => inner.end === null)
  const index = open?.begin ?? end ?? file.lines.length
  const { raw, content } = file.lines[index - 1]!
  return content && isQuotedPrintable(content) && raw.endsWith('=') ? index - 1 : index
}

function groupsOf(lines: readonly CardLine[]): Map<string, CardGroup> {
  const groups = new Map<string, CardGroup>()
  for (const line of lines) {
    if (line.content.group === null) continue
    const name = line.content.group.toLowerCase()
    const group = groups.get(name) ?? { name, labels: [], others: 0 }
    groups.set(name, group)
    if (line.content.name === LABEL) group.labels.push(line)
    else group.others++
  }
  return groups
}

function splitCardFile(bytes: Buffer): ContentFile {
  try {
    return splitFile(bytes)
  } catch (error) {
    if (error instanceof FileRefused) throw new UnreadableCard(error.message, { cause: error })
    throw error
  }
}

function versionOf(named: Card['named']): CardVersion {
  const version = named.get('VERSION')?.[0]?.content.value.trim()
  if (version?.startsWith('4')) return '4.0'
  return version?.startsWith('2') ? '2.1' : '3.0'
}

/** The lines of a property, in their order. */
export function linesOf(card: Card, name: string): readonly CardLine[] {
  return card.named.get(name) ?? []
}

/** The group of a line; null if it is in none. */
export function groupOf(card: Card, { content }: CardLine): CardGroup | null {
  return content.group === null ? null : (card.groups.get(content.group.toLowerCase()) ?? null)
}

/** The label of a line, as its group has it; null without one. */
export function labelOf(card: Card, line: CardLine): string | null {
  const label = groupOf(card, line)?.labels[0]
  return label ? unescapeText(label.content.value).trim() : null
}
