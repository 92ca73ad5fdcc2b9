import { expect, test } from 'vitest'
import { addMessage, newMailbox, type Mailbox } from '../mailbox/mailbox.ts'
import { searchIn } from './match.ts'

const NOW = Date.UTC(2026, 5, 15, 12)
const DAY = 24 * 3600 * 1000

interface Given {
  subject: string
  from?: string
  headers?: string[]
  labels?: string[]
  daysAgo?: number
  body?: string
}

const MAIL: Record<string, Given> = {
  dinner: {
    subject: 'Dinner on Friday',
    from: 'Amy Pond <amy@example.test>',
    labels: ['INBOX', 'UNREAD'],
    daysAgo: 1,
  },
  film: {
    subject: 'Film & dinner?',
    from: 'rory@other.test',
    labels: ['INBOX', 'STARRED', 'Label_1'],
    daysAgo: 10,
  },
  crème: { subject: 'Crème brûlée', from: 'amy@example.test', labels: ['CATEGORY_PROMOTIONS'], daysAgo: 40 },
  big: { subject: 'Report', body: 'x'.repeat(30_000), labels: ['SENT'], daysAgo: 400 },
  spam: { subject: 'Win a dinner', labels: ['SPAM'], daysAgo: 2 },
  trash: { subject: 'Old dinner', labels: ['TRASH'], daysAgo: 3 },
  file: {
    subject: 'Papers',
    headers: [
      'Content-Type: application/pdf',
      'Content-Disposition: attachment; filename="Plan B.pdf"',
      'Cc: list@example.test',
    ],
    labels: ['INBOX'],
    daysAgo: 5,
  },
}

function mailboxOf(mail: Record<string, Given>): Mailbox {
  const mailbox = newMailbox('me@example.test', 'Me', () => NOW)
  mailbox.labels.set('Label_1', { id: 'Label_1', name: 'Work/Bills & more', type: 'user' })
  for (const [
    name,
    { subject, from = 'x@example.test', headers = [], labels = [], daysAgo = 0, body = 'Hello there, world' },
  ] of Object.entries(mail)) {
    const lines = [
      `Message-ID: <${name}@example.test>`,
      `Subject: ${subject}`,
      `From: ${from}`,
      'To: me@example.test',
      ...headers,
    ]
    addMessage(mailbox, {
      raw: Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}\r\n`),
      labels,
      internalDate: NOW - daysAgo * DAY,
    })
  }
  return mailbox
}

const mailbox = mailboxOf(MAIL)

/** The names of the messages that a search finds, as a list would show them. */
function found(q: string): string[] {
  const { matches, everywhere, candidates } = searchIn(mailbox, q)
  return (candidates ?? mailbox.ordered)
    .filter(
      message =>
        matches(message) && (everywhere || !(message.labels.has('SPAM') || message.labels.has('TRASH'))),
    )
    .map(message => message.messageId.slice(1, message.messageId.indexOf('@')))
    .toSorted()
}

const SHOWN = ['big', 'crème', 'dinner', 'file', 'film']

test.each<[string, string[]]>([
  ['', SHOWN],
  ['dinner', ['dinner', 'film']],
  ['DINNER friday', ['dinner']],
  ['din', []],
  ['creme brulee', ['crème']],
  ['"on friday"', ['dinner']],
  ['"friday on"', []],
  ['hello world -dinner', ['crème']],
  ['film OR papers', ['file', 'film']],
  ['dinner film OR friday', ['dinner', 'film']],
  ['{film papers}', ['file', 'film']],
  ['(film OR papers) -has:attachment', ['film']],
  ['-(film OR papers) dinner', ['dinner']],
  ['from:amy', ['crème', 'dinner']],
  ['from:amy@example.test', ['crème', 'dinner']],
  ['from:(amy OR rory)', ['crème', 'dinner', 'film']],
  ['from:other.test', ['film']],
  ['to:me subject:report', ['big']],
  ['cc:list@example.test', ['file']],
  ['subject:(dinner film)', ['film']],
  ['subject:"on friday"', ['dinner']],
  ['rfc822msgid:film@example.test', ['film']],
  ['rfc822msgid:<film@example.test> is:unread', []],
  ['in:inbox', ['dinner', 'file', 'film']],
  ['is:unread', ['dinner']],
  ['is:read in:inbox', ['file', 'film']],
  ['is:starred', ['film']],
  ['in:sent', ['big']],
  ['label:work-bills---more', ['film']],
  ['label:inbox', ['dinner', 'file', 'film']],
  ['label:none', []],
  ['has:userlabels', ['film']],
  ['category:promotions', ['crème']],
  ['in:spam', ['spam']],
  ['in:trash dinner', ['trash']],
  ['in:anywhere dinner', ['dinner', 'film', 'spam', 'trash']],
  ['has:attachment', ['file']],
  ['filename:pdf', ['file']],
  ['filename:"plan b"', ['file']],
  ['larger:20K', ['big']],
  ['larger:1M', []],
  ['smaller:1000 in:sent', []],
  ['newer_than:7d', ['dinner', 'file']],
  ['older_than:1y', ['big']],
  [`after:${(NOW - 7 * DAY) / 1000}`, ['dinner', 'file']],
  [`before:${(NOW - 7 * DAY) / 1000}`, ['big', 'crème', 'film']],
  ['after:2026/06/10', ['dinner', 'file']],
  ['before:2025-12-31', ['big']],
  ['after:never', []],
  ['newer_than:soon', []],
  ['nonsense:value', []],
  ['(dinner', ['dinner', 'film']],
  ['"dinner', ['dinner', 'film']],
  ['OR dinner', ['dinner', 'film']],
  ['-', SHOWN],
])('finds by %j: %j', (q, names) => {
  expect(found(q)).toEqual(names)
})

test('begins a day at midnight Pacific time', () => {
  const at = (iso: string): Mailbox => {
    const box = newMailbox('me@example.test', 'Me', () => NOW)
    addMessage(box, { raw: Buffer.from('Subject: x\r\n\r\n'), labels: [], internalDate: Date.parse(iso) })
    return box
  }
  const isAfter = (iso: string, q: string): boolean => {
    const box = at(iso)
    return searchIn(box, q).matches(box.ordered[0]!)
  }
  expect(isAfter('2026-06-10T06:59:59Z', 'after:2026/6/10')).toBe(false)
  expect(isAfter('2026-06-10T07:00:00Z', 'after:2026/6/10')).toBe(true)
  expect(isAfter('2026-01-10T07:59:59Z', 'after:2026/1/10')).toBe(false)
  expect(isAfter('2026-01-10T08:00:00Z', 'after:1/10/2026')).toBe(true)
})
