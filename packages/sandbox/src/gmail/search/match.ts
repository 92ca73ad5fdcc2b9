import type { Mailbox } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import { ageIn, dateIn, sizeIn } from './amounts.ts'
import { parseQuery, type Query } from './parse.ts'
import { searchTextOf, wordsOf } from './words.ts'

export interface Search {
  matches: (message: Message) => boolean
  /** Whether the search itself names spam, trash or anywhere. */
  everywhere: boolean
  /** The only messages that can match; null without an index of them. */
  candidates: Message[] | null
}

/** Makes a search of what a user typed. */
export function searchIn(mailbox: Mailbox, text: string): Search {
  const query = parseQuery(text)
  return {
    matches: predicate(mailbox, query),
    everywhere: namesEverywhere(query),
    candidates: candidatesFor(mailbox, query),
  }
}

type Predicate = (message: Message) => boolean

function predicate(mailbox: Mailbox, query: Query): Predicate {
  if (query.kind === 'words') return words(query.text)
  if (query.kind === 'field') return field(mailbox, query.field, query.value)
  if (query.kind === 'not') {
    const term = predicate(mailbox, query.term)
    return message => !term(message)
  }
  const terms = query.terms.map(term => predicate(mailbox, term))
  if (query.kind === 'and') return message => terms.every(term => term(message))
  return message => terms.some(term => term(message))
}

const nothing: Predicate = () => false

function words(text: string): Predicate {
  const wanted = wordsOf(text)
  return wanted === ' ' ? () => true : message => searchTextOf(message).words.includes(wanted)
}

/** Returns the comparison of an operator. An operator that Gmail does not have is searched for as words. */
function field(mailbox: Mailbox, name: string, value: string): Predicate {
  const lower = value.toLowerCase()
  const now = mailbox.now()
  switch (name) {
    case 'from':
    case 'to':
    case 'cc':
    case 'bcc':
    case 'deliveredto':
    case 'list':
      return people(name, lower, mailbox.email)
    case 'subject':
      return message => searchTextOf(message).subject.includes(wordsOf(value))
    case 'rfc822msgid':
      return message => message.messageId === bracketed(value)
    case 'in':
      return place(mailbox, lower)
    case 'is':
      return state(lower)
    case 'label':
      return labelled(mailbox, lower)
    case 'category':
      return hasLabel(`CATEGORY_${lower === 'primary' ? 'PERSONAL' : value.toUpperCase()}`)
    case 'has':
      return has(mailbox, lower)
    case 'filename':
      return message => searchTextOf(message).filenames.some(filename => filename.includes(lower))
    case 'after':
    case 'newer':
      return compared(dateIn(value), (message, date) => message.internalDate >= date)
    case 'before':
    case 'older':
      return compared(dateIn(value), (message, date) => message.internalDate < date)
    case 'newer_than':
      return compared(ageIn(value), (message, age) => message.internalDate >= now - age)
    case 'older_than':
      return compared(ageIn(value), (message, age) => message.internalDate < now - age)
    case 'larger':
    case 'size':
      return compared(sizeIn(value), (message, size) => message.raw.length > size)
    case 'smaller':
      return compared(sizeIn(value), (message, size) => message.raw.length < size)
    default:
      return words(`${name} ${value}`)
  }
}

const compared = (value: number | null, holds: (message: Message, value: number) => boolean): Predicate =>
  value === null ? nothing : message => holds(message, value)

const bracketed = (id: string): string => (id.startsWith('<') ? id : `<${id}>`)

const hasLabel =
  (id: string): Predicate =>
  message =>
    message.labels.has(id)

function people(
  name: 'from' | 'to' | 'cc' | 'bcc' | 'deliveredto' | 'list',
  lower: string,
  email: string,
): Predicate {
  const address = lower === 'me' ? email : lower
  const wanted = wordsOf(address)
  return message => {
    const text = searchTextOf(message).people[name]
    return address.includes('@') ? text.includes(address) : text.includes(wanted)
  }
}

const PLACES: Record<string, string> = {
  inbox: 'INBOX',
  trash: 'TRASH',
  bin: 'TRASH',
  spam: 'SPAM',
  sent: 'SENT',
  draft: 'DRAFT',
  drafts: 'DRAFT',
  starred: 'STARRED',
  unread: 'UNREAD',
  important: 'IMPORTANT',
  chats: 'CHAT',
}

function place(mailbox: Mailbox, lower: string): Predicate {
  if (lower === 'anywhere' || lower === 'all') return () => true
  if (lower === 'archive')
    return message => ['INBOX', 'TRASH', 'SPAM', 'SENT', 'DRAFT'].every(id => !message.labels.has(id))
  const id = PLACES[lower]
  return id ? hasLabel(id) : labelled(mailbox, lower)
}

function state(lower: string): Predicate {
  if (lower === 'read') return message => !message.labels.has('UNREAD')
  const id = PLACES[lower]
  return id ? hasLabel(id) : nothing
}

const searchName = (name: string): string => name.toLowerCase().replaceAll(/[\s/&()"]/g, '-')

function labelled(mailbox: Mailbox, lower: string): Predicate {
  const system = PLACES[lower]
  if (system) return hasLabel(system)
  const wanted = searchName(lower)
  const ids = [...mailbox.labels.values()]
    .filter(label => searchName(label.name) === wanted)
    .map(label => label.id)
  return ids.length === 0 ? nothing : message => ids.some(id => message.labels.has(id))
}

function has(mailbox: Mailbox, lower: string): Predicate {
  const user = (message: Message): boolean =>
    [...message.labels].some(id => mailbox.labels.get(id)?.type === 'user')
  if (lower === 'attachment')
    return message => searchTextOf(message).filenames.some(filename => filename !== '')
  if (lower === 'userlabels') return user
  if (lower === 'nouserlabels') return message => !user(message)
  return nothing
}

function namesEverywhere(query: Query): boolean {
  if (query.kind === 'words') return false
  if (query.kind === 'field')
    return (
      ['in', 'label', 'is'].includes(query.field) &&
      ['anywhere', 'trash', 'bin', 'spam'].includes(query.value.toLowerCase())
    )
  if (query.kind === 'not') return namesEverywhere(query.term)
  return query.terms.some(namesEverywhere)
}

function candidatesFor(mailbox: Mailbox, query: Query): Message[] | null {
  if (query.kind === 'field' && query.field === 'rfc822msgid')
    return [...(mailbox.byMessageId.get(bracketed(query.value)) ?? [])]
  if (query.kind !== 'and') return null
  for (const term of query.terms) {
    const found = candidatesFor(mailbox, term)
    if (found) return found
  }
  return null
}
