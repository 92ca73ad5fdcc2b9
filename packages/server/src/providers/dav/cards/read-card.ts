import type { ContentLine } from '../../../kit/content-lines/content-line.ts'
import { splitValue, unescapeText } from '../../../kit/content-lines/text-value.ts'
import type { ContactFields, EmailType, PhoneType } from '../../contacts.ts'
import { readBirthday } from './birthday.ts'
import { type Card, type CardLine, type CardVersion, labelOf, linesOf, openCard } from './card.ts'
import { type CardPhoto, readPhoto } from './photo.ts'
import { readTime } from './revision-time.ts'
import { toName, toNotes } from '../../contact-text.ts'
import { makeDisplayName, readListPart, readName } from './text.ts'
import { EMAIL_TYPES, PHONE_TYPES, readType } from './value-types.ts'

export interface ReadCard {
  /** Null if it has none, which RFC 6352 section 5.1 forbids. */
  uid: string | null
  /** A group lists other cards, and is no contact. */
  kind: 'contact' | 'group'
  version: CardVersion
  fields: ContactFields
  photo: CardPhoto
  /** Time of its last revision; null if it does not name one. */
  revisedAt: Date | null
}

/** Addresses, and numbers, of one card that are shown. */
const VALUES_SHOWN_MAX = 100

/**
 * Reads the first card of a file. A value that cannot be read is null, or absent from its list.
 * @throws UnreadableCard if the file has no card, or exceeds a bound
 */
export function readCard(bytes: Buffer): ReadCard {
  const card = openCard(bytes)
  const kinds = [...linesOf(card, 'KIND'), ...linesOf(card, 'X-ADDRESSBOOKSERVER-KIND')]
  const isGroup = kinds.some(({ content }) => content.value.trim().toLowerCase() === 'group')
  return {
    uid: readShown(card, 'UID', readName),
    kind: isGroup ? 'group' : 'contact',
    version: card.version,
    fields: readFields(card),
    photo: readPhoto(linesOf(card, 'PHOTO').map(({ content }) => content)),
    revisedAt: readShown(card, 'REV', readTime),
  }
}

export function readFields(card: Card): ContactFields {
  const name = readNameParts(shownLine(card, 'N')?.content)
  const [organization = null, department = null] = readShown(card, 'ORG', readStructure) ?? []
  const names = { ...name, organization }
  const birthday = shownLine(card, 'BDAY')
  return {
    displayName: readDisplayName(card) ?? makeDisplayName(names),
    ...name,
    nickname: readShown(card, 'NICKNAME', value => readName(splitValue(value, ',')[0]!)),
    organization,
    jobTitle: readShown(card, 'TITLE', readName),
    department,
    emails: emailsOf(card, VALUES_SHOWN_MAX).map(({ value, type }) => ({ address: value, type })),
    phones: phonesOf(card, VALUES_SHOWN_MAX).map(({ value, type }) => ({ number: value, type })),
    birthday: birthday ? readBirthday(birthday.content) : null,
    notes: readShown(card, 'NOTE', value => toNotes(unescapeText(value))),
  }
}

/** The line of a property that is shown: the first. Others are kept. */
export function shownLine(card: Card, name: string): CardLine | undefined {
  return linesOf(card, name)[0]
}

function readShown<Value>(card: Card, name: string, read: (value: string) => Value): Value | null {
  const line = shownLine(card, name)
  return line ? read(line.content.value) : null
}

/** The display name as the card has it; null if it has none. */
export function readDisplayName(card: Card): string | null {
  return readShown(card, 'FN', readName)
}

function readStructure(value: string): Array<string | null> {
  return splitValue(value, ';').slice(0, 2).map(readName)
}

function readNameParts(line: ContentLine | undefined) {
  const [familyName = null, givenName = null, middleName = null] = line
    ? splitValue(line.value, ';').slice(0, 3).map(readListPart)
    : []
  return { givenName, middleName, familyName }
}

/** An address or a number, with the line that it stands in. */
export interface CardValue<Type> {
  line: CardLine
  value: string
  type: Type
}

export function emailsOf(card: Card, countMax = Number.POSITIVE_INFINITY): CardValue<EmailType>[] {
  return valuesOf(card, 'EMAIL', countMax, toName, (line, label) => readType(line, label, EMAIL_TYPES))
}

export function phonesOf(card: Card, countMax = Number.POSITIVE_INFINITY): CardValue<PhoneType>[] {
  return valuesOf(card, 'TEL', countMax, toNumber, (line, label) => readType(line, label, PHONE_TYPES))
}

function valuesOf<Type>(
  card: Card,
  name: string,
  countMax: number,
  read: (text: string) => string | null,
  typeOf: (line: ContentLine, label: string | null) => Type,
): CardValue<Type>[] {
  const found: CardValue<Type>[] = []
  for (const line of linesOf(card, name)) {
    if (found.length === countMax) break
    const value = read(unescapeText(line.content.value))
    if (value !== null) found.push({ line, value, type: typeOf(line.content, labelOf(card, line)) })
  }
  return found
}

/** Numbers are shown without the scheme and parameters of a `tel:` URI (RFC 3966). */
export function toNumber(text: string): string | null {
  const number = toName(text)
  if (number === null || !/^tel:/i.test(number)) return number
  const [path = ''] = number.slice('tel:'.length).split(';')
  try {
    return toName(decodeURIComponent(path))
  } catch {
    return toName(path)
  }
}
