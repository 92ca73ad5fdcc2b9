import { contentOf } from '../../mailbox/messages.ts'
import type { Message, Recipient } from '../../mailbox/message.ts'
import { textOfHtml } from '../body-text.ts'
import { badRequest } from '../errors.ts'

/** Number of messages that a search finds at most. */
const SEARCH_HITS_MAX = 1_000

type Test = (message: Message) => boolean

const TERM = /\s*(?:(\()|(\))|(?:(\w+)\s*(:|>=|<=|=|>|<)\s*)?(?:"([^"]*)"|([^\s()"]+)))/y
const TERMS_MAX = 200

/** Finds the messages of a `$search`, the newest by their sent date first. Messages come newest received first. */
export function searchMessages(messages: readonly Message[], search: string): readonly Message[] {
  const test = parseSearch(search)
  return messages
    .filter(message => test(message))
    .toSorted((a, b) => b.sentAt - a.sentAt)
    .slice(0, SEARCH_HITS_MAX)
}

/** Parses the words of a `$search`: KQL between double quotes, in which quotes are escaped. */
function parseSearch(search: string): Test {
  const [, quoted] = /^\s*"((?:\\.|[^"\\])*)"\s*$/s.exec(search) ?? []
  const text = (quoted ?? search).replaceAll(/\\(.)/gs, '$1')
  if (quoted === undefined && /[:()<>=]/.test(search))
    throw badRequest(`Syntax error: character ':' is not valid in '${search.slice(0, 200)}'.`)
  const terms = termsOf(text)
  let at = 0
  const takes = (word: string): boolean => terms[at]?.operator === word && (at += 1) > 0
  const any = (): Test => {
    let left = all()
    while (takes('OR')) {
      const [one, other] = [left, all()]
      left = message => one(message) || other(message)
    }
    return left
  }
  const all = (): Test => {
    let left = one()
    while (at < terms.length && terms[at]?.operator !== 'OR' && terms[at]?.operator !== ')') {
      takes('AND')
      const [before, after] = [left, one()]
      left = message => before(message) && after(message)
    }
    return left
  }
  const one = (): Test => {
    if (takes('NOT')) {
      const inner = one()
      return message => !inner(message)
    }
    if (takes('(')) {
      const inner = any()
      if (!takes(')')) throw badRequest('Syntax error: a parenthesis is missing in the search.')
      return inner
    }
    const test = terms[at]?.test
    if (!test) throw badRequest('Syntax error: a word is missing in the search.')
    at += 1
    return test
  }
  const test = any()
  if (at < terms.length) throw badRequest('Syntax error in the search.')
  return test
}

interface Term {
  operator?: string
  test?: Test
}

function termsOf(text: string): Term[] {
  const terms: Term[] = []
  TERM.lastIndex = 0
  const end = text.trimEnd().length
  while (TERM.lastIndex < end) {
    const match = TERM.exec(text)
    if (!match || terms.length === TERMS_MAX) throw badRequest('Syntax error in the search.')
    const [, open, close, property, relation = ':', phrase, word = ''] = match
    if (open || close) terms.push({ operator: open ?? close ?? '' })
    else if (property === undefined && phrase === undefined && /^(?:AND|OR|NOT)$/.test(word))
      terms.push({ operator: word })
    else
      terms.push({ test: termTest(property?.toLowerCase(), relation, phrase ?? word, phrase !== undefined) })
  }
  return terms
}

const people = (recipients: readonly (Recipient | null)[]): string =>
  recipients.map(one => (one ? `${one.name} ${one.address}` : '')).join(' ')

const TEXTS: Readonly<Record<string, (message: Message) => string>> = {
  from: message => people([message.from]),
  to: message => people(message.toRecipients),
  cc: message => people(message.ccRecipients),
  bcc: message => people(message.bccRecipients),
  recipients: message => people([...message.toRecipients, ...message.ccRecipients, ...message.bccRecipients]),
  participants: message =>
    people([message.from, ...message.toRecipients, ...message.ccRecipients, ...message.bccRecipients]),
  subject: message => message.subject,
  body: message => {
    const { contentType, content } = contentOf(message).body
    return contentType === 'html' ? textOfHtml(content) : content
  },
  attachment: message =>
    contentOf(message)
      .attachments.map(({ name }) => name)
      .join(' '),
  category: message => message.categories.join(' '),
}

/** The words of a message that a term without a property looks at. */
const ANYWHERE = ['from', 'to', 'cc', 'subject', 'body', 'attachment'] as const

function termTest(property: string | undefined, relation: string, value: string, isPhrase: boolean): Test {
  if (property === undefined)
    return message => ANYWHERE.some(name => hasWords(TEXTS[name]?.(message) ?? '', value, isPhrase))
  if (property === 'received' || property === 'sent') return timeTest(property, relation, value)
  if (property === 'hasattachment' || property === 'hasattachments')
    return message => contentOf(message).hasAttachments === (value.toLowerCase() === 'true')
  if (property === 'isread') return message => message.isRead === (value.toLowerCase() === 'true')
  if (property === 'importance') return message => message.importance === value.toLowerCase()
  if (property === 'kind') return () => value.toLowerCase() === 'email'
  if (property === 'size') return sizeTest(relation, Number(value))
  const read = TEXTS[property]
  // Exchange reads the name of an unknown property as a word.
  if (!read) return termTest(undefined, ':', `${property} ${value}`, true)
  return message => hasWords(read(message), value, isPhrase)
}

/** Whether the text has these words one after another. Without quotes the last may be the beginning of a word. */
function hasWords(text: string, value: string, isPhrase: boolean): boolean {
  const isPrefix = value.endsWith('*') || !isPhrase
  const wanted = wordsOf(value.replace(/\*$/, ''))
  if (wanted.length === 0) return true
  const words = wordsOf(text)
  return words.some((_, from) =>
    wanted.every((word, at) => {
      const found = words[from + at]
      return found === word || (isPrefix && at === wanted.length - 1 && found?.startsWith(word) === true)
    }),
  )
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

const DAY_MS = 24 * 3600 * 1000

function timeTest(property: 'received' | 'sent', relation: string, value: string): Test {
  const read = (message: Message) => (property === 'received' ? message.receivedAt : message.sentAt)
  const [from, to] = value.split('..')
  const [start, end] = [spanOf(from ?? ''), spanOf(to ?? from ?? '')]
  if (to !== undefined || relation === ':' || relation === '=')
    return message => read(message) >= start.from && read(message) < end.to
  if (relation === '>=') return message => read(message) >= start.from
  if (relation === '>') return message => read(message) >= start.to
  return message => read(message) < (relation === '<' ? start.from : start.to)
}

/** The time that a date of KQL covers: a day, or a second. */
function spanOf(text: string): { from: number; to: number } {
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text)
  const iso = american
    ? `${american[3]}-${american[1]?.padStart(2, '0')}-${american[2]?.padStart(2, '0')}`
    : text
  const from = Date.parse(/T.*\d$/.test(iso) && !/[+-]\d{2}:\d{2}$/.test(iso) ? `${iso}Z` : iso)
  if (Number.isNaN(from)) throw badRequest(`Syntax error: '${text}' is no date.`)
  return { from, to: from + (iso.length === 10 ? DAY_MS : 1000) }
}

function sizeTest(relation: string, bytes: number): Test {
  if (relation === '>') return ({ raw }) => raw.length > bytes
  if (relation === '>=') return ({ raw }) => raw.length >= bytes
  if (relation === '<') return ({ raw }) => raw.length < bytes
  if (relation === '<=') return ({ raw }) => raw.length <= bytes
  return ({ raw }) => raw.length === bytes
}
