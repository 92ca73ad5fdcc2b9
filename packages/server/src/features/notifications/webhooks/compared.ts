import { comparedAddress } from '../../../kit/compared-address.ts'

/** A phrase or a subject as they are compared: without regard to case, however its characters are composed. */
export function comparedText(text: string): string {
  // A capital sigma becomes one of two small letters, depending on its next character.
  return text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ')
}

/** An address, or a `@domain`, as they are compared: in lower case, with the domain as A-labels. */
export function comparedParty(party: string): string {
  return comparedAddress(party.normalize('NFC'))
}
