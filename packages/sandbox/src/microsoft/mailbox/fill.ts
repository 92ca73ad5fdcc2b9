import { KINDS, type Letter } from '../../mail/letters.ts'
import { PEOPLE, type Person, SUBJECTS } from '../../mail/words.ts'
import type { Random } from '../../world/random.ts'
import { fillCalendar } from './fill-calendar.ts'
import { fillContacts } from './fill-contacts.ts'
import { addFolder } from './folders.ts'
import { type Category, type Mailbox, nextNumber, wellKnownFolder } from './mailbox.ts'
import { addMessage } from './messages.ts'
import type { Folder, MessageFields } from './message.ts'

const HOUR_MS = 3600 * 1000
const DRAFTS = 3
const CATEGORIES = [
  ['Red category', 'preset0'],
  ['Größe & Maß', 'preset4'],
  ['Travel', 'preset7'],
] as const

/** Fills a new mailbox with mail of many kinds, the same for the same seed. The newest was some minutes old at `now`. */
export function fillMailbox(mailbox: Mailbox, count: number, random: Random, now: number): void {
  addCategories(mailbox)
  if (count === 0) return
  const folders = addFolders(mailbox)
  fillContacts(mailbox, now)
  fillCalendar(mailbox, random.stream('calendar'), now)
  const self: Person = { name: mailbox.name, email: mailbox.email }
  const steps = Array.from({ length: count }, () => 0.2 + random.float() * 5)
  let at = now - steps.reduce((sum, step) => sum + step, 0) * HOUR_MS
  let previous: Letter | null = null
  for (const [index, step] of steps.entries()) {
    at += step * HOUR_MS - (index === count - 1 ? 5 * 60_000 : 0)
    const moment = { self, index, at: Math.floor(at), previous, folders }
    previous = addLetter(mailbox, random, moment)
    if (index >= count - DRAFTS && count > DRAFTS * 4) addDraft(mailbox, random, moment)
  }
}

function addCategories(mailbox: Mailbox): void {
  for (const [displayName, color] of CATEGORIES) {
    const category: Category = { id: categoryId(nextNumber(mailbox)), displayName, color }
    mailbox.categories.set(category.id, category)
  }
}

/** The id of a category, which is a UUID. */
export const categoryId = (made: number): string =>
  `3f2c1e00-0000-4000-8000-${made.toString(16).padStart(12, '0')}`

function addFolders(mailbox: Mailbox): Folder[] {
  const root = wellKnownFolder(mailbox, 'msgfolderroot')
  const work = addFolder(mailbox, { displayName: 'Work', parent: root })
  const invoices = addFolder(mailbox, { displayName: 'Invoices', parent: work })
  addFolder(mailbox, {
    displayName: 'Unread Mail',
    parent: wellKnownFolder(mailbox, 'searchfolders'),
    search: { sourceFolderIds: [root.id], includeNestedFolders: true, filterQuery: 'isRead eq false' },
  })
  return [
    addFolder(mailbox, { displayName: 'Travel', parent: root }),
    work,
    invoices,
    addFolder(mailbox, { displayName: '2026', parent: invoices }),
    addFolder(mailbox, { displayName: 'Größe & Maß', parent: wellKnownFolder(mailbox, 'inbox') }),
  ]
}

interface Moment {
  self: Person
  index: number
  at: number
  previous: Letter | null
  folders: readonly Folder[]
}

/** Adds one message: received or sent, some of them answers to the one before. */
function addLetter(mailbox: Mailbox, random: Random, { self, index, at, previous, folders }: Moment): Letter {
  const answers = previous !== null && random.integer(3) === 0
  const isMine = random.integer(6) === 0
  const other = random.pick(PEOPLE)
  const subject = answers
    ? `Re: ${previous.subject.replace(/^Re: /, '')}`
    : `${random.pick(SUBJECTS)} ${index + 1}`
  const letter: Letter = {
    from: isMine ? self : other,
    to: isMine ? other : self,
    subject,
    messageId: `<${at.toString(36)}.${random.hex(8)}@${isMine ? 'prod.outlook.com' : 'example.test'}>`,
    references: answers ? [...previous.references, previous.messageId] : [],
    at,
  }
  const raw = Buffer.from(random.pick(KINDS)(letter, random))
  const { folder, fields } = isMine
    ? { folder: wellKnownFolder(mailbox, 'sentitems'), fields: { isRead: true } }
    : received(mailbox, random, folders)
  addMessage(mailbox, { folder, raw, fields: { ...fields, receivedAt: at }, createdAt: at, modifiedAt: at })
  return letter
}

function received(
  mailbox: Mailbox,
  random: Random,
  folders: readonly Folder[],
): { folder: Folder; fields: Partial<MessageFields> } {
  const lot = random.integer(20)
  const fields: Partial<MessageFields> = {
    isRead: random.integer(3) > 0,
    ...(lot < 4 && { flag: { flagStatus: 'flagged' } }),
    ...(lot % 5 === 0 && { categories: [CATEGORIES[lot % 3]?.[0] ?? ''] }),
    ...(lot % 7 === 0 && { inferenceClassification: 'other' }),
  }
  const inbox = wellKnownFolder(mailbox, 'inbox')
  if (lot === 0) return { folder: wellKnownFolder(mailbox, 'junkemail'), fields }
  if (lot === 1) return { folder: wellKnownFolder(mailbox, 'deleteditems'), fields }
  if (lot < 4) return { folder: wellKnownFolder(mailbox, 'archive'), fields }
  if (lot < 15) return { folder: inbox, fields }
  return { folder: folders[lot % folders.length] ?? inbox, fields }
}

function addDraft(mailbox: Mailbox, random: Random, { self, index, at }: Moment): void {
  const letter: Letter = {
    from: self,
    to: random.pick(PEOPLE),
    subject: `Draft ${index + 1}`,
    messageId: `<draft.${random.hex(12)}@prod.outlook.com>`,
    references: [],
    at,
  }
  addMessage(mailbox, {
    folder: wellKnownFolder(mailbox, 'drafts'),
    raw: Buffer.from(KINDS[0](letter, random)),
    fields: { isDraft: true, isRead: true, receivedAt: at },
    createdAt: at,
    modifiedAt: at,
  })
}
