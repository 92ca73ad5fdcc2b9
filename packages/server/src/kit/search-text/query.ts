import { readWords } from './words.ts'

/* The syntax of queries: words, "phrases", OR between neighbours, and - before what must not occur. */

/** A query as literals of PostgreSQL's tsquery. */
export interface SearchQuery {
  /** The exact condition. */
  strict: string
  /**
   * A condition that every match fulfils and that an index of words can check alone, without word order. Null if every
   * message fulfils it.
   */
  loose: string | null
  /** Whether `loose` is the whole condition. */
  isLoose: boolean
  /** The words that count for the rank; null if there are none. */
  ranked: string | null
  /** The number of words, which is the cost of checking one message. */
  words: number
}

interface Word {
  lexeme: string
  position: number
}

/** Adjacent words. */
interface Term {
  words: Word[]
  isNegated: boolean
}

/** Terms of which at least one must match. */
type Group = Term[]

/**
 * Null if the query has no words. Any text is a valid query: operators that make no sense in their position separate
 * words.
 */
export function parseQuery(q: string): SearchQuery | null {
  const groups = withoutRepeats(readGroups(q))
  if (groups.length === 0) return null
  const terms = groups.flat()
  const lexemes = new Set(
    terms.flatMap(({ words, isNegated }) => (isNegated ? [] : words.map(({ lexeme }) => lexeme))),
  )
  const loose = looseGroups(groups)
  return {
    strict: and(groups.map(group => or(group.map(strictTerm)))),
    loose: loose.length > 0 ? and(loose.map(group => or(group.map(looseTerm)))) : null,
    isLoose: loose.length === groups.length && terms.every(({ words }) => words.length === 1),
    ranked: lexemes.size > 0 ? or([...lexemes]) : null,
    words: terms.reduce((sum, { words }) => sum + words.length, 0),
  }
}

const QUOTES = /[“”„‟«»＂]/g
/** A hyphen at the beginning of a word, and a phrase or a word. */
const TERMS = /(?:(?<!\S)(-))?(?:"([^"]*)"|([^\s"]+))/g

function readGroups(q: string): Group[] {
  const groups: Group[] = []
  let isJoined = false
  for (const [, minus, phrase, word] of q.replaceAll(QUOTES, '"').matchAll(TERMS)) {
    if (word === 'OR' && minus === undefined) {
      isJoined = true
      continue
    }
    const term = { words: readTerm(phrase ?? word ?? ''), isNegated: minus !== undefined }
    if (term.words.length === 0) continue
    const last = groups.at(-1)
    if (isJoined && last) last.push(term)
    else groups.push([term])
    isJoined = false
  }
  return groups
}

/** Removes repeated groups, so that they cost nothing. */
function withoutRepeats(groups: readonly Group[]): Group[] {
  const groupKey = (group: Group) => group.map(strictTerm).join(' | ')
  const unique = groups.map(group => [...new Map(group.map(term => [strictTerm(term), term])).values()])
  return [...new Map(unique.map(group => [groupKey(group), group])).values()]
}

/**
 * A run of text in a script without spaces is searched for by its pairs, which are rarer than its characters.
 */
function readTerm(text: string): Word[] {
  const words: Word[] = []
  readWords(text, 0, (word, position, kind) => {
    if (kind !== 'part') words.push({ lexeme: `'${word}'`, position })
  })
  return words
}

function strictTerm({ words, isNegated }: Term): string {
  const phrase = words
    .map(({ lexeme, position }, nth) =>
      nth === 0 ? lexeme : `<${position - words[nth - 1]!.position}> ${lexeme}`,
    )
    .join(' ')
  return isNegated ? `!(${phrase})` : phrase
}

/** The groups that an index of words can check at least in part. */
function looseGroups(groups: readonly Group[]): Group[] {
  // A message without a phrase may still have its words.
  const known = groups.filter(group =>
    group.every(({ words, isNegated }) => !isNegated || words.length === 1),
  )
  // An index of words lists messages that have a word. Messages that lack one are all others, so at least one group
  // must require a word.
  const hasAnchor = known.some(group => group.every(({ isNegated }) => !isNegated))
  return hasAnchor ? known : []
}

function looseTerm({ words, isNegated }: Term): string {
  const all = and([...new Set(words.map(({ lexeme }) => lexeme))])
  return isNegated ? `!${all}` : all
}

function and(queries: readonly string[]): string {
  return join(queries, ' & ')
}

function or(queries: readonly string[]): string {
  return join(queries, ' | ')
}

function join(queries: readonly string[], operator: string): string {
  const [only] = queries
  return only !== undefined && queries.length === 1 ? only : `(${queries.join(operator)})`
}
