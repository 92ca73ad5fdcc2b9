import { createHash } from 'node:crypto'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const NUMBER_DIGITS = 6
const STORE_CHARACTERS = 48

/** The part of ids that names a mailbox. */
export const storeOf = (email: string): string => hash(email).slice(0, STORE_CHARACTERS)

/**
 * The id of an item in a folder, which lasts as long as the item stays there. `made` is a number that no other id of
 * the mailbox has. As Exchange's own, ids of a mailbox may differ in the case of one letter only.
 */
export const placeId = (store: string, folder: number, made: number): string =>
  `AAMk${store}BGAAAAAAC${digits(folder)}BwA${digits(made)}AAA=`

/** The id that an item keeps when it moves: `Prefer: IdType="ImmutableId"`. */
export const immutableId = (store: string, made: number): string =>
  `AAkA${store}ALgAAAAAAHYQD${digits(made)}AAA=`

/** The id of a folder, which never changes. */
export const folderId = (store: string, made: number): string => `AAMk${store}AuAAAAAAC${digits(made)}AAA=`

/** The id of an occurrence of a series, which also names its exception: the series, and the day on which its rule has it. */
export const occurrenceId = (
  store: string,
  { series, day, isImmutable }: { series: number; day: number; isImmutable: boolean },
): string => `${isImmutable ? 'AAkA' : 'AAMk'}${store}FRAAg${digits(series)}${digits(day)}AAA=`

/** The series and the day of an occurrence's id; null for another id. */
export function readOccurrenceId(store: string, id: string): { series: number; day: number } | null {
  const text = /^A(?:AkA|AMk)(.*)FRAAg([\w-]{6})([\w-]{6})AAA=$/.exec(id)
  const [, own, series = '', day = ''] = text ?? []
  return own === store ? { series: numberOf(series), day: numberOf(day) } : null
}

/** The id of an attachment of an item. */
export const attachmentId = (item: string, made: number): string =>
  `${item.replace(/=$/, '')}${digits(made)}ABEgAQ=`

/** The id of a conversation. */
export const conversationId = (store: string, made: number): string => `AAQk${store}AQ${digits(made)}A=`

/** The version of an item: another one after each change. */
export const changeKey = (made: number): string => `CQAAABYAAAC${digits(made)}AAA`

function digits(number: number): string {
  let text = ''
  let rest = number
  for (let at = 0; at < NUMBER_DIGITS; at += 1) {
    text = (DIGITS[rest % DIGITS.length] ?? '') + text
    rest = Math.floor(rest / DIGITS.length)
  }
  return text
}

function numberOf(text: string): number {
  let number = 0
  for (const digit of text) number = number * DIGITS.length + DIGITS.indexOf(digit)
  return number
}

/** Letters that follow from a text, in the alphabet of ids. */
export const hash = (text: string): string => createHash('sha384').update(text).digest('base64url')
