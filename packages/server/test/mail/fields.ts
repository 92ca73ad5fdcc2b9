import type { Random } from '../seeded.ts'
import { encodeText } from './charsets.ts'
import { LANGUAGES, type Language } from './languages.ts'
import type { ExpectedAddress } from './message.ts'
import { carelessEncodedWords, encodedWords } from './mime.ts'

export interface Person extends ExpectedAddress {
  name: string
  language: Language
}

/** Picks a language: most mail is in a few languages. */
export function pickLanguage(random: Random): Language {
  return random.pick(random.chance(0.5) ? LANGUAGES.slice(0, 3) : LANGUAGES)
}

export function pickPerson(random: Random, language = pickLanguage(random)): Person {
  const name = random.pick(language.names)
  return { name, address: `person${random.between(1, 400)}@${random.pick(DOMAINS)}`, language }
}

const DOMAINS = ['example.com', 'mail.example.org', 'sub.domain.example.net', 'example.co.uk']

type Field = string | Buffer

/** A header field with text that is not ASCII, in one of the ways in which senders write it. */
export function textField(random: Random, name: string, text: string, language: Language): Field {
  return Buffer.concat([Buffer.from(`${name}: `), encodePhrase(random, text, language)])
}

/** `mayBeRaw` is false next to other text, which might be raw in another charset. */
function encodePhrase(random: Random, text: string, { charsets }: Language, mayBeRaw = true): Buffer {
  if (/^[\x20-\x7e]*$/.test(text)) return Buffer.from(text)
  const scheme = random.pick(['B', 'Q'] as const)
  const charset = charsets.length > 0 && random.chance(0.4) ? random.pick(charsets) : 'utf-8'
  const style = random.between(mayBeRaw ? 0 : 2, 9)
  // RFC 6532, and what was sent before it existed.
  if (style === 0) return Buffer.from(text, 'utf8')
  if (style === 1 && charsets[0] === 'iso-8859-1') return encodeText(text, 'windows-1252')
  // A shift sequence cannot be cut anywhere, so only UTF-8 is cut carelessly.
  if (style === 2) return Buffer.from(carelessEncodedWords(text, 'utf-8'))
  return Buffer.from(encodedWords(text, charset === 'us-ascii' ? 'utf-8' : charset, scheme))
}

export function addressField(random: Random, name: string, people: readonly Person[]): Field {
  const pieces = people.map(person => formatPerson(random, person, people.length === 1))
  const joined = pieces.flatMap((piece, index) => (index === 0 ? [piece] : [Buffer.from(',\r\n '), piece]))
  return Buffer.concat([Buffer.from(`${name}: `), ...joined])
}

function formatPerson(random: Random, { name, address, language }: Person, mayBeRaw: boolean): Buffer {
  if (!/^[\x20-\x7e]*$/.test(name)) {
    return Buffer.concat([encodePhrase(random, name, language, mayBeRaw), Buffer.from(` <${address}>`)])
  }
  const style = random.between(0, 3)
  if (style === 0) return Buffer.from(`"${name}" <${address}>`)
  if (style === 1) return Buffer.from(`${address} (${name})`)
  return Buffer.from(`${name} <${address}>`)
}

export function expectedAddresses(people: readonly Person[]): ExpectedAddress[] {
  return people.map(({ name, address }) => ({ name, address }))
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** RFC 5322 section 3.3, in a time zone some minutes east of Greenwich. */
export function formatDate(date: Date, zoneMinutes: number): string {
  const local = new Date(date.getTime() + zoneMinutes * 60_000)
  const day = `${DAYS[local.getUTCDay()]}, ${local.getUTCDate()} ${MONTHS[local.getUTCMonth()]} ${local.getUTCFullYear()}`
  const zone = Math.abs(zoneMinutes)
  const offset = String(Math.floor(zone / 60) * 100 + (zone % 60)).padStart(4, '0')
  return `${day} ${local.toISOString().slice(11, 19)} ${zoneMinutes < 0 ? '-' : '+'}${offset}`
}

export function dateField(random: Random, date: Date): string {
  return `Date: ${formatDate(date, random.pick([0, 60, 120, -300, -480, 330, 540]))}`
}
