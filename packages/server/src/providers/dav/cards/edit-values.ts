import type { WritableLine } from '../../../kit/content-lines/print-line.ts'
import type { LineSource } from '../../../kit/content-lines/rewrite-file.ts'
import type { EmailType, PhoneType } from '../../contacts.ts'
import { type Card, type CardLine, groupOf, labelOf } from './card.ts'
import { type CardEdits, lineWith, removeLine, writeText } from './card-edits.ts'
import type { CardValue } from './read-card.ts'
import { retype, type TypeWords, wordOfLabel } from './value-types.ts'

/** A list property of a card, such as EMAIL. */
export interface ListProperty<Type extends EmailType | PhoneType> {
  name: 'EMAIL' | 'TEL'
  words: TypeWords<Type>
  /** The form by which values are compared, so that one that is only written differently keeps its line. */
  compared(value: string): string
}

export interface WantedValue<Type> {
  value: string
  type: Type
}

/**
 * Replaces a list, with those of its values that are too many to be shown. A value that stays keeps its line, with its label, parameters and custom types; the line changes
 * only if the value is written differently, or has another type. The lines come in the order of the list.
 */
export function editValues<Type extends EmailType | PhoneType>(
  card: Card,
  edits: CardEdits,
  property: ListProperty<Type>,
  present: readonly CardValue<Type | 'other'>[],
  wanted: readonly WantedValue<Type | 'other'>[],
): void {
  const matches = matchValues(property, present, wanted)
  const kept = new Set(matches)
  for (const each of present) if (!kept.has(each)) dropFromGroup(card, edits, each.line)
  const items = wanted.map((item, index) => {
    const match = matches[index]
    const source = match ? keep(card, edits, property, match, item) : write(card, property, item)
    return { source, index: match?.line.index ?? null }
  })
  placeLines(edits, present, items)
}

/** The present value that each wanted one replaces, if any. Equal values and types come first, then values alone. */
function matchValues<Type extends EmailType | PhoneType>(
  { compared }: ListProperty<Type>,
  present: readonly CardValue<Type | 'other'>[],
  wanted: readonly WantedValue<Type | 'other'>[],
) {
  const matches: Array<CardValue<Type | 'other'> | undefined> = wanted.map(() => undefined)
  const free = new Set(present)
  const keys: Array<(item: WantedValue<Type | 'other'>) => string> = [
    ({ value, type }) => `${type} ${value}`,
    ({ value }) => value,
    ({ value }) => compared(value),
  ]
  for (const keyOf of keys) {
    const found = Map.groupBy(free, keyOf)
    for (const [index, item] of wanted.entries()) {
      const match = matches[index] ? undefined : found.get(keyOf(item))?.shift()
      if (!match) continue
      matches[index] = match
      free.delete(match)
    }
  }
  return matches
}

function keep<Type extends EmailType | PhoneType>(
  card: Card,
  edits: CardEdits,
  { words }: ListProperty<Type>,
  { line, value, type }: CardValue<Type | 'other'>,
  item: WantedValue<Type | 'other'>,
): LineSource {
  if (value === item.value && type === item.type) return line.index
  let { rawName, parameters } = line.content
  if (type !== item.type) {
    parameters = retype(parameters, item.type, words, card.version)
    const word = wordOfLabel(labelOf(card, line))
    const isStale = word !== null && (words.types.get(word) ?? 'other') !== item.type
    if (isStale && !removeLabels(card, edits, line, 1)) rawName = line.content.name
  }
  if (value !== item.value) {
    parameters = parameters.filter(({ name }) => name !== 'VALUE')
    return lineWith(card.version, { rawName, parameters }, writeText(card.version, item.value))
  }
  return lineWith(card.version, { rawName, parameters }, line.content.value)
}

function write<Type extends EmailType | PhoneType>(
  card: Card,
  { name, words }: ListProperty<Type>,
  { value, type }: WantedValue<Type | 'other'>,
): WritableLine {
  const parameters = retype([], type, words, card.version)
  return lineWith(card.version, { rawName: name, parameters }, writeText(card.version, value))
}

function dropFromGroup(card: Card, edits: CardEdits, line: CardLine): void {
  const group = groupOf(card, line)
  if (!group) return
  edits.gone.set(group.name, (edits.gone.get(group.name) ?? 0) + 1)
  removeLabels(card, edits, line, 0)
}

/**
 * Removes the labels of a line, unless its group has more other lines than these.
 * @returns whether they are removed
 */
function removeLabels(card: Card, edits: CardEdits, line: CardLine, othersMax: number): boolean {
  const group = groupOf(card, line)
  if (!group || group.others - (edits.gone.get(group.name) ?? 0) > othersMax) return false
  for (const label of group.labels) removeLine(edits, label)
  return true
}

/**
 * Lines that stay keep their places, and new ones follow the line before them in the list. If the list has another order
 * than the card, all of its lines come where the first was.
 */
function placeLines(
  edits: CardEdits,
  present: readonly { line: CardLine }[],
  items: ReadonlyArray<{ source: LineSource; index: number | null }>,
): void {
  const places = new Map<number, LineSource[]>(present.map(({ line }) => [line.index, []]))
  const staying = items.flatMap(({ index }) => index ?? [])
  const isOrdered = staying.every((index, at) => at === 0 || index > staying[at - 1]!)
  let place = (isOrdered ? staying[0] : undefined) ?? present[0]?.line.index
  for (const { source, index } of items) {
    if (isOrdered && index !== null) place = index
    if (place !== undefined) places.get(place)!.push(source)
    else if (typeof source !== 'number') edits.adding.push(source)
  }
  for (const [index, sources] of places) {
    if (sources.length !== 1 || sources[0] !== index) edits.replacing.set(index, sources)
  }
}
