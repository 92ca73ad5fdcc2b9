import { type ContactChange, type ContactFields, NO_FIELDS } from '../../src/providers/contacts.ts'
import type { Random } from '../seeded.ts'

/** Pieces of texts that a careless writer would let into other lines, or break. */
const PIECES: readonly string[] = [
  ...`aZ7 .,;:\\"^='%<@+-_äéß你ひ😀\u00a0\u3000\u200b\u202e\ufeff\ufffd`,
  ...String.raw`\n \, \\ ^n ^' ^^ =0A %0D%0A TEL:666 BEGIN:VCARD END:VCARD item1. ;TYPE=x: 👩‍👩‍👧‍👦`.split(' '),
  'e\u0301',
  ' '.repeat(80),
  'x'.repeat(74),
  '\u00a0'.repeat(40),
  'ä'.repeat(37),
  '\\'.repeat(9),
  ';,'.repeat(8),
]
const LINE_BREAKS = ['\n', '\r\n', '\r', '\n\n', '\u2028', '\u0085'] as const
/** They must be refused. Line breaks must be as well, but not in notes. */
const CONTROLS = ['\0', '\t', '\x0b', '\x0c', '\x1b', '\x1f', '\x7f', '\u0080', '\u009f', '\ud800'] as const
const NAMES = [
  'displayName',
  'givenName',
  'middleName',
  'familyName',
  'nickname',
  'organization',
  'jobTitle',
  'department',
] as const
const PHONE_TYPES = ['mobile', 'home', 'work', 'main', 'fax', 'pager', 'other'] as const

function textOf(random: Random, pieces: readonly string[] = PIECES): string {
  const count = Math.min(60, Math.round(random.logNormal(4, 1)))
  return Array.from({ length: count }, () => random.pick(pieces)).join('')
}

/** A text without white space at its ends, and not empty. */
export function lineOf(random: Random): string {
  return textOf(random).trim() || 'x'
}

function birthdayOf(random: Random): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${two(random.between(1, 12))}-${two(random.between(1, 28))}`
  return random.chance(0.4) ? `--${day}` : `${random.between(1600, 2099)}-${day}`
}

const listOf = <Item>(random: Random, make: () => Item): Item[] =>
  Array.from({ length: random.between(0, 5) }, make)

/** Changes of some fields, as the interface lets them through. */
export function randomChange(random: Random): ContactChange {
  const change: { -readonly [Field in keyof ContactChange]: ContactChange[Field] } = {}
  for (const field of NAMES)
    if (random.chance(0.3)) change[field] = random.chance(0.2) ? null : lineOf(random)
  if (random.chance(0.3))
    change.emails = listOf(random, () => ({
      address: lineOf(random),
      type: random.pick(['home', 'work', 'other'] as const),
    }))
  if (random.chance(0.3)) {
    // A number never begins with the scheme.
    change.phones = listOf(random, () => ({ number: `+${lineOf(random)}`, type: random.pick(PHONE_TYPES) }))
  }
  if (random.chance(0.3)) change.birthday = random.chance(0.2) ? null : birthdayOf(random)
  if (random.chance(0.3))
    change.notes = random.chance(0.2) ? null : `${textOf(random, [...PIECES, ...LINE_BREAKS])}x`
  return change
}

/** The same with a value that must be refused. */
export function forbiddenChange(random: Random): ContactChange {
  const place = random.pick([...NAMES, 'notes', 'emails', 'phones'] as const)
  const control = random.pick(place === 'notes' ? CONTROLS : [...CONTROLS, ...LINE_BREAKS])
  const text = `${lineOf(random)}${control}${lineOf(random)}`
  const other = randomChange(random)
  if (place === 'emails') return { ...other, emails: [{ address: text, type: 'home' }] }
  return place === 'phones'
    ? { ...other, phones: [{ number: text, type: 'home' }] }
    : { ...other, [place]: text }
}

export function randomFields(random: Random): ContactFields {
  return { ...NO_FIELDS, ...randomChange(random) }
}
