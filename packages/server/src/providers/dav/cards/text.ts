import { splitValue, unescapeText } from '../../../kit/content-lines/text-value.ts'
import { toName } from '../../contact-text.ts'

/** Reads a value that is one text. */
export function readName(value: string): string | null {
  return toName(unescapeText(value))
}

/** Reads a part of a structure that may hold a list: its texts, joined by blanks. */
export function readListPart(part: string): string | null {
  const texts = splitValue(part, ',').map(readName)
  return toName(texts.filter(text => text !== null).join(' '))
}

/** The display name of a contact that has none. */
export function makeDisplayName(names: {
  givenName: string | null
  familyName: string | null
  organization: string | null
}): string | null {
  const name = [names.givenName, names.familyName].filter(part => part !== null).join(' ')
  return name === '' ? names.organization : name
}
