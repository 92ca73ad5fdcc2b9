/** A sentence that breaks the rule "Name the noun" of STYLE.md. */
export interface Finding {
  line: number
  rule: 'no noun' | 'a thing speaks'
  /** The first words that break it. */
  text: string
}

/** Prose of a file: a comment, the name of a test, a text for people or a paragraph. */
interface Prose {
  line: number
  text: string
  isTestName: boolean
}

const THOSE =
  'of|that|who|which|whose|with|without|in|on|from|before|after|to|by|at|for|are|is|were|have|must|may|can|do'
const HEADLESS = `What|Whatever|Who|Whoever|Those (?:${THOSE})|One (?:that|who|which|whose)`

const THINGS =
  'account|address|answer|batch|cell|clock|column|comment|composition|content|contract|cursor|database|document|draft|entry|envelope|error|event|failure|feed|field|file|folder|form|header|history|index|kind|label|lease|library|line|list|log|mailbox|message|migration|name|number|option|page|plan|PostgreSQL|process|program|provider|reason|record|Redis|release|reply|report|request|response|route|row|rule|sandbox|server|service|setting|statement|state|table|test|text|token|tokenizer|type|URL|variable'
const ADVERBS = 'also|already|never|no longer|only|still|yet'
const SPEAKS = `(?:(?:${ADVERBS}) )?(?:says?|said|tells?|told|knows?|knew)|(?:can|cannot|could|did|do|does|may|must|will|would)(?: not)? (?:say|tell|know)`

const NO_NOUN = new RegExp(
  String.raw`(?<=^\s*|[.:;!]["')]?\s+)(?:${HEADLESS})\s[^.!?]*(?:[.!?](?=\s|$)|[^?]$|$)`,
  'g',
)
const NO_NOUN_OF_A_TEST = new RegExp(`^(?:${HEADLESS}) .*`, 'i')
const THING_SPEAKS = new RegExp(String.raw`\b(?:${THINGS})(?:e?s)?\s+(?:${SPEAKS})\b`, 'g')
/** The code itself is the subject of such a comment or name of a test. */
const CODE_SPEAKS = /^\s*(?:Says|Tells|Knows|says|tells|knows)\s(?!.*\b(?:apart|from)\b)\S+/

/** Finds the sentences of a source file or a Markdown file that do not name their noun, or let things speak. */
export function findWording(file: string, text: string): Finding[] {
  const found = (file.endsWith('.md') ? paragraphsOf(text) : proseOf(text)).flatMap(findIn)
  return found.toSorted((a, b) => a.line - b.line)
}

function findIn({ line, text, isTestName }: Prose): Finding[] {
  const at = (rule: Finding['rule'], { index, 0: match }: RegExpMatchArray): Finding => ({
    line: line + text.slice(0, index).split('\n').length - 1,
    rule,
    text: match.trim().replaceAll(/\s+/g, ' ').slice(0, 60),
  })
  const headless = isTestName ? text.match(NO_NOUN_OF_A_TEST) : null
  const speaking = CODE_SPEAKS.exec(text)
  return [
    ...(headless
      ? [headless]
      : [...text.matchAll(NO_NOUN)].filter(([sentence]) => !sentence.endsWith('?'))
    ).map(match => at('no noun', match)),
    ...[...(speaking ? [speaking] : []), ...text.matchAll(THING_SPEAKS)].map(match =>
      at('a thing speaks', match),
    ),
  ]
}

const COMMENT = /(?<=^|[\s({[,])\/\*\*?(.*?)\*\/|(?:^[ \t]*\/\/[^\n]*(?:\n|$))+|(?<=\s)\/\/ [^\n]*/gms
const TEST_NAME =
  /(?<=\b(?:test|it|describe)(?:\.\w+)?\(\s*|\]\)\(\s*|\btest\.(?:skipIf|runIf)\(.*\)\(\s*)(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1/g
/** Text for people, such as the description of a field: a string of at least four words. */
const STRING = new RegExp(String.raw`(['\x60])((?:${HEADLESS})(?: (?:(?!\1)[^\\\n ]|\\.)+){3,})\1`, 'g')

function proseOf(text: string): Prose[] {
  const prose = (match: RegExpMatchArray, words: string, isTestName = false): Prose => ({
    line: lineAt(text, match.index ?? 0),
    text: words,
    isTestName,
  })
  const comments = [...text.matchAll(COMMENT)].map(match => prose(match, stripComment(match[0])))
  const names = [...text.matchAll(TEST_NAME)].map(match => prose(match, match[2] ?? '', true))
  const strings = [...text.matchAll(STRING)].map(match => prose(match, match[2] ?? ''))
  const isName = ({ line, text: words }: Prose) =>
    names.some(name => name.line === line && name.text === words)
  return [...comments, ...names, ...strings.filter(string => !isName(string))]
}

/** The words of a comment, line by line. */
const stripComment = (comment: string): string =>
  comment
    .split('\n')
    .map(line => line.replace(/^\s*(?:\/\*\*?|\*\/|\*(?!\*)|\/\/)? ?/, '').replace(/\s*\*\/$/, ''))
    .join('\n')

/** Paragraphs and list items, without code, headings and tables. */
function paragraphsOf(text: string): Prose[] {
  const hidden = text.replaceAll(/^```.*?^```|^\|[^\n]*|^#[^\n]*|^---\n.*?^---/gms, block =>
    block.replaceAll(/[^\n]/g, ''),
  )
  return [...hidden.matchAll(/[^\n]+(?:\n(?!\n|\s*(?:[-*]|\d+\.) )[^\n]+)*/g)].map(match => ({
    line: lineAt(hidden, match.index),
    text: match[0].replace(/^\s*(?:[-*]|\d+\.) /, '').replaceAll('**', ''),
    isTestName: false,
  }))
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length

/** The number of findings that a list of known ones allows each file. */
export type Known = Readonly<Record<string, number>>

/** Compares findings with the list of known ones. Returns the lines to print; none if each file has as many as listed. */
export function compareWithList(found: ReadonlyMap<string, readonly Finding[]>, known: Known): string[] {
  const files = [...new Set([...found.keys(), ...Object.keys(known)])].toSorted()
  return files.flatMap(file => {
    const findings = found.get(file) ?? []
    const allowed = known[file] ?? 0
    if (findings.length < allowed)
      return [`${file}: ${findings.length} of ${allowed} are left. Shorten the list.`]
    if (findings.length === allowed) return []
    return findings.map(({ line, rule, text }) => `${file}:${line}: ${rule}: ${text}`)
  })
}

/** The list of what was found. Returns null if that is more than the list before allows in all. */
export function shortenList(found: ReadonlyMap<string, readonly Finding[]>, before: Known): Known | null {
  const files = [...found].filter(([, { length }]) => length > 0).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const list = Object.fromEntries(files.map(([file, { length }]) => [file, length]))
  return sum(list) > sum(before) ? null : list
}

const sum = (list: Known): number => Object.values(list).reduce((total, count) => total + count, 0)
