import type { ContentLine, Parameter } from '../../../kit/content-lines/content-line.ts'
import { makeParameter } from '../../../kit/content-lines/print-line.ts'
import type { EmailType, PhoneType } from '../../contacts.ts'
import type { CardVersion } from './card.ts'

/* Types of addresses and numbers: TYPE parameters, and Apple's labels. */

/** How the types of one property are read and written. */
export interface TypeWords<Type extends EmailType | PhoneType> {
  /** The word of a TYPE, or of a label of Apple, in lower case. */
  types: ReadonlyMap<string, Type>
  /** The types of several words, of which the first here is read; null: the word that comes first. */
  ranking: readonly Type[] | null
  /** Word for each type; the others have none. */
  written: ReadonlyMap<Type, string>
}

export const EMAIL_TYPES: TypeWords<EmailType> = {
  types: new Map<string, EmailType>([
    ['work', 'work'],
    ['home', 'home'],
  ]),
  ranking: null,
  written: new Map<EmailType, string>([
    ['work', 'work'],
    ['home', 'home'],
  ]),
}

export const PHONE_TYPES: TypeWords<PhoneType> = {
  types: new Map<string, PhoneType>([
    ['fax', 'fax'],
    ['homefax', 'fax'],
    ['workfax', 'fax'],
    ['otherfax', 'fax'],
    ['cell', 'mobile'],
    ['mobile', 'mobile'],
    ['iphone', 'mobile'],
    ['pager', 'pager'],
    ['main', 'main'],
    // RFC 7852 section 8.1.
    ['main-number', 'main'],
    ['work', 'work'],
    ['home', 'home'],
  ]),
  ranking: ['fax', 'mobile', 'pager', 'main', 'work', 'home'],
  written: new Map<PhoneType, string>([
    ['fax', 'fax'],
    ['mobile', 'cell'],
    ['pager', 'pager'],
    ['main', 'main'],
    ['work', 'work'],
    ['home', 'home'],
  ]),
}

const APPLE_LABEL = /^_\$!<(.{1,100})>!\$_$/

/** The word of a label that Apple itself offers (`_$!<Work>!$_`), in lower case; null for a label of the user. */
export function wordOfLabel(label: string | null): string | null {
  return APPLE_LABEL.exec(label ?? '')?.[1]?.toLowerCase() ?? null
}

/** The type of a value. A label counts as one more word; without a word that is known the type is `other`. */
export function readType<Type extends EmailType | PhoneType>(
  line: ContentLine,
  label: string | null,
  { types, ranking }: TypeWords<Type>,
): Type | 'other' {
  const word = wordOfLabel(label)
  const words = [...line.parameters.flatMap(wordsOf), ...(word === null ? [] : [word])]
  const found = words.flatMap(each => types.get(each.toLowerCase()) ?? [])
  return (ranking ? ranking.find(type => found.includes(type)) : found[0]) ?? 'other'
}

/**
 * The parameters with another type. Words that are no types of ours stay, such as `pref` or `X-BOAT`.
 */
export function retype<Type extends EmailType | PhoneType>(
  parameters: readonly Parameter[],
  type: Type | 'other',
  words: TypeWords<Type>,
  version: CardVersion,
): Parameter[] {
  const kept = parameters.flatMap(parameter => {
    const found = wordsOf(parameter)
    const others = found.filter(word => !words.types.has(word.toLowerCase()))
    if (others.length === found.length) return [parameter]
    return others.length > 0 ? [makeParameter('TYPE', others)] : []
  })
  const word = type === 'other' ? undefined : words.written.get(type)
  if (word === undefined) return kept
  return [...kept, makeParameter('TYPE', [version === '4.0' ? word : word.toUpperCase()])]
}

/** The words of a TYPE, which may be one quoted list (RFC 6350 section 5.6), or of a bare parameter. */
function wordsOf({ name, values }: Parameter): string[] {
  if (name !== 'TYPE' && name !== null) return []
  return values.flatMap(value => value.split(',')).map(word => word.trim())
}
