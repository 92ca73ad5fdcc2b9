import type { Random } from '../../world/random.ts'
import { headersOf } from '../../mail/message-headers.ts'
import { addMessage, type Mailbox } from '../mailbox/mailbox.ts'
import { threadFor } from '../mailbox/threading.ts'
import { KINDS, type Letter } from '../../mail/letters.ts'
import { PEOPLE, SUBJECTS, type Person } from '../../mail/words.ts'

const HOUR_MS = 3600 * 1000
const LABELS = ['Travel', 'Work', 'Work/Invoices', 'Work/Invoices/2026', 'Größe & Maß', 'receipts'] as const
const DRAFTS = 3

/** Fills a new mailbox with mail of many kinds, the same for the same seed. The newest is some minutes old. */
export function fillMailbox(mailbox: Mailbox, name: string, count: number, random: Random): void {
  if (count === 0) return
  for (const label of LABELS) addLabel(mailbox, label)
  const self: Person = { name, email: mailbox.email }
  const steps = Array.from({ length: count }, () => 0.2 + random.float() * 5)
  let at = mailbox.now() - steps.reduce((sum, step) => sum + step, 0) * HOUR_MS
  let previous: Letter | null = null
  for (const [index, step] of steps.entries()) {
    at += step * HOUR_MS - (index === count - 1 ? 5 * 60_000 : 0)
    previous = addLetter(mailbox, random, { self, index, at: Math.floor(at), previous })
    if (index >= count - DRAFTS && count > DRAFTS * 4) addDraft(mailbox, random, self, index, Math.floor(at))
  }
}

function addLabel(mailbox: Mailbox, name: string): void {
  mailbox.made += 1
  const id = `Label_${mailbox.made}`
  mailbox.labels.set(id, {
    id,
    name,
    messageListVisibility: 'show',
    labelListVisibility: 'labelShow',
    type: 'user',
  })
  mailbox.byLabel.set(id, new Set())
}

interface Moment {
  self: Person
  index: number
  at: number
  previous: Letter | null
}

/** Adds one message: received or sent, some of them answers to the one before. */
function addLetter(mailbox: Mailbox, random: Random, { self, index, at, previous }: Moment): Letter {
  const answers = previous !== null && random.integer(3) === 0
  const mine = random.integer(6) === 0
  const other = random.pick(PEOPLE)
  const subject = answers
    ? `Re: ${previous.subject.replace(/^Re: /, '')}`
    : `${random.pick(SUBJECTS)} ${index + 1}`
  const letter: Letter = {
    from: mine ? self : other,
    to: mine ? other : self,
    subject,
    messageId: `<${at.toString(36)}.${random.hex(8)}@${mine ? 'mail.gmail.com' : 'example.test'}>`,
    references: answers ? [...previous.references, previous.messageId] : [],
    at,
  }
  const raw = Buffer.from(random.pick(KINDS)(letter, random))
  const labels = mine ? ['SENT'] : receivedLabels(mailbox, random)
  addMessage(mailbox, { raw, labels, internalDate: at, threadId: threadFor(mailbox, headersOf(raw)) })
  return letter
}

const CATEGORIES = ['PERSONAL', 'PERSONAL', 'UPDATES', 'PROMOTIONS', 'SOCIAL', 'FORUMS'] as const

function receivedLabels(mailbox: Mailbox, random: Random): string[] {
  const lot = random.integer(20)
  const unread = random.integer(3) === 0 ? ['UNREAD'] : []
  if (lot === 0) return ['SPAM', ...unread]
  if (lot === 1) return ['TRASH', ...unread]
  const user = [...mailbox.labels.values()].filter(label => label.type === 'user')
  return [
    ...unread,
    ...(lot < 4 ? ['STARRED'] : []),
    ...(lot < 8 ? ['IMPORTANT'] : []),
    `CATEGORY_${random.pick(CATEGORIES)}`,
    ...(lot < 14 ? ['INBOX'] : []),
    ...(lot % 5 === 0 ? [(user[random.integer(user.length)] ?? user[0])?.id ?? 'STARRED'] : []),
  ]
}

function addDraft(mailbox: Mailbox, random: Random, self: Person, index: number, at: number): void {
  const letter: Letter = {
    from: self,
    to: random.pick(PEOPLE),
    subject: `Draft ${index + 1}`,
    messageId: `<draft.${random.hex(12)}@mail.gmail.com>`,
    references: [],
    at,
  }
  const raw = Buffer.from(KINDS[0](letter, random))
  const message = addMessage(mailbox, { raw, labels: ['DRAFT'], internalDate: at })
  mailbox.drafts.set(`r${random.digits(19)}`, message.id)
}
