import type { Classification, Message, MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { SuppressionEntry, SuppressionReview } from '@waxwing/contract/sending/suppressions.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AnswersApp, dataOf, deliverAndLook, openAnswers } from './open-answers.ts'
import { replyLetter } from './reply-letter.ts'

let opened: AnswersApp
beforeAll(async () => {
  opened = await openAnswers()
})
afterAll(() => opened[Symbol.asyncDispose]())

let people = 0
const somebody = () => `person-${++people}@example.org`

interface ReplyOptions {
  from: string
  text: string
  subject?: string
  fields?: readonly string[]
}

/** A reply to a send. */
const reply = ({ internetMessageId }: OutboxEntry, options: ReplyOptions): string =>
  replyLetter({ ...options, to: opened.email, inReplyTo: internetMessageId })

async function readMessage(subject: string): Promise<Message> {
  const { body } = await opened.app.get<{ items: MessageSummary[] }>(
    `/v1/accounts/${opened.accountId}/messages?limit=200`,
  )
  const found = body.items.find(item => item.subject === subject)
  return (await opened.app.get<Message>(`/v1/accounts/${opened.accountId}/messages/${found?.id}`)).body
}

async function classificationOf(from: string): Promise<Classification | null> {
  return (await readMessage(`Re: ${from}`)).classification
}

async function reviewsOf(address: string): Promise<SuppressionReview[]> {
  const { body } = await opened.app.get<{ items: SuppressionReview[] }>('/v1/suppression-reviews?limit=200')
  return body.items.filter(review => review.address === address)
}

async function entriesOf(listId: string, address: string): Promise<SuppressionEntry[]> {
  const { body } = await opened.app.get<{ items: SuppressionEntry[] }>(
    `/v1/suppressions/${listId}/entries?address=${address}`,
  )
  return body.items ?? []
}

const handleOptOuts = (optOutHandling: 'off' | 'review' | 'suppress') =>
  opened.app.patch('/v1/settings', { optOutHandling })

describe('a reply to a send', () => {
  test('that is automatic is classified, kept with the message, and announced once', async () => {
    const from = somebody()
    const entry = await opened.sendOne({ to: [{ address: from }] })
    const text = 'I am out of the office until 20 December 2026. Please write to max@example.org.'
    await deliverAndLook(opened, [reply(entry, { from, text, fields: ['Auto-Submitted: auto-replied'] })])
    const classification = await classificationOf(from)
    expect(classification).toEqual({
      kind: 'auto_reply',
      probabilities: { auto_reply: 1 },
      optOutProbability: 0,
      autoReplyCategory: 'out_of_office',
      returnDate: '2026-12-20',
      alternateContacts: ['max@example.org'],
      outboxId: entry.id,
      model: 'rules',
      classifiedAt: expect.stringMatching(/Z$/),
    })
    const announced = (await dataOf(opened.app, 'message.classified')).filter(
      data => data.classification.outboxId === entry.id,
    )
    expect(announced).toMatchObject([
      { message: { subject: `Re: ${from}`, direction: 'inbound' }, classification },
    ])
  })

  test('that is automatic is classified although a mail system wrote it in the words of a report', async () => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }] })
    const from = 'postmaster@example.org'
    const text =
      'I am out of the office. For delivery failures, write to max@example.org: mail delivery failed.'
    const fields = ['Auto-Submitted: auto-replied']
    await deliverAndLook(opened, [reply(entry, { from, text, fields })])
    expect(await classificationOf(from)).toMatchObject({
      kind: 'auto_reply',
      autoReplyCategory: 'out_of_office',
      outboxId: entry.id,
    })
  })

  test('that the rules leave undecided stays without a classification and without an event', async () => {
    const from = somebody()
    const entry = await opened.sendOne({ to: [{ address: from }] })
    await deliverAndLook(opened, [reply(entry, { from, text: 'Please stop by on Monday.' })])
    expect(await classificationOf(from)).toBeNull()
    const announced = await dataOf(opened.app, 'message.classified')
    expect(announced.filter(({ message }) => message.subject === `Re: ${from}`)).toEqual([])
  })

  test('that opts out waits for review, with the list that the send named', async () => {
    await handleOptOuts('review')
    const from = somebody()
    const entry = await opened.sendOne({ to: [{ address: from }] })
    await sql`update outbox set list_id = 'news' where id = ${entry.id}`.execute(opened.app.db)
    await deliverAndLook(opened, [reply(entry, { from, text: 'Unsubscribe' })])
    expect(await classificationOf(from)).toMatchObject({ kind: 'opt_out', optOutProbability: 0.95 })
    expect(await reviewsOf(from)).toMatchObject([
      { listId: 'news', source: 'reply', probability: 0.95, accountId: opened.accountId },
    ])
    expect(await entriesOf('global', from)).toEqual([])
  })

  test('that opts out is suppressed at once with optOutHandling suppress', async () => {
    await handleOptOuts('suppress')
    const from = somebody()
    const entry = await opened.sendOne({ to: [{ address: from }] })
    await deliverAndLook(opened, [
      reply(entry, { from: from.toUpperCase(), text: 'STOP', subject: `Re: ${from}` }),
    ])
    expect(await entriesOf('global', from)).toMatchObject([{ address: from, source: 'reply' }])
    expect(await reviewsOf(from)).toEqual([])
    const created = (await dataOf(opened.app, 'suppression.created')).filter(
      ({ address }) => address === from,
    )
    expect(created).toMatchObject([{ listId: 'global', source: 'reply', outboxId: entry.id }])
  })

  test('that opts out does nothing more with optOutHandling off', async () => {
    await handleOptOuts('off')
    const from = somebody()
    const entry = await opened.sendOne({ to: [{ address: from }] })
    await deliverAndLook(opened, [reply(entry, { from, text: 'STOP' })])
    expect(await classificationOf(from)).toMatchObject({ kind: 'opt_out' })
    expect([...(await entriesOf('global', from)), ...(await reviewsOf(from))]).toEqual([])
  })

  test('that reports that its author left waits for review on the global list, also with suppress', async () => {
    await handleOptOuts('suppress')
    const from = somebody()
    const entry = await opened.sendOne({ to: [{ address: from }] })
    const text = 'Grace is no longer with the company. Please contact max@example.org.'
    await deliverAndLook(opened, [reply(entry, { from, text, fields: ['Auto-Submitted: auto-replied'] })])
    expect(await reviewsOf(from)).toMatchObject([
      { listId: 'global', source: 'inactive', alternateContacts: ['max@example.org'] },
    ])
    expect(await entriesOf('global', from)).toEqual([])
  })

  test('from an address to which it was not sent is classified, and suppresses nobody', async () => {
    await handleOptOuts('suppress')
    const [mailed, other] = [somebody(), somebody()]
    const entry = await opened.sendOne({ to: [{ address: mailed }] })
    await deliverAndLook(opened, [reply(entry, { from: other, text: 'STOP' })])
    expect(await classificationOf(other)).toMatchObject({ kind: 'opt_out', outboxId: entry.id })
    expect([...(await entriesOf('global', other)), ...(await entriesOf('global', mailed))]).toEqual([])
  })

  test('is known after its entry is gone, by the copy in the mailbox', async () => {
    await handleOptOuts('suppress')
    const from = somebody()
    const entry = await opened.sendOne({ to: [{ address: from }], reference: 'kept' })
    await sql`delete from outbox where id = ${entry.id}`.execute(opened.app.db)
    await deliverAndLook(opened, [reply(entry, { from, text: 'STOP' })])
    // Without a copy, its recipients are not known any more.
    expect(await classificationOf(from)).toMatchObject({ kind: 'opt_out' })
    expect(await entriesOf('global', from)).toEqual([])

    const [again, copied] = [somebody(), await opened.sendOne({ to: [{ address: from }] })]
    await sql`
      update message set outbox_id = ${copied.id}, direction = 'outbound',
        "to" = ${JSON.stringify([{ name: null, address: again }])}
      where account_id = ${opened.accountId} and subject = ${`Re: ${from}`}
    `.execute(opened.app.db)
    await sql`delete from outbox where id = ${copied.id}`.execute(opened.app.db)
    await deliverAndLook(opened, [reply(copied, { from: again, text: 'STOP' })])
    expect(await entriesOf('global', again)).toMatchObject([{ source: 'reply' }])
  })
})

describe('a message that answers nothing', () => {
  test('is not read at all', async () => {
    const before = (await dataOf(opened.app, 'message.classified')).length
    const source = `From: <${somebody()}>\r\nSubject: STOP\r\nMessage-ID: <a@b.example>\r\n\r\nSTOP\r\n`
    await deliverAndLook(opened, [source])
    expect(await dataOf(opened.app, 'message.classified')).toHaveLength(before)
    expect((await readMessage('STOP')).classification).toBeNull()
  })
})

interface ComplaintOptions {
  type?: string
  recipient?: string | null
}

/** A report of a feedback loop (RFC 5965). */
function complaint(entry: OutboxEntry, { type = 'abuse', recipient = null }: ComplaintOptions = {}): string {
  return [
    'From: <feedbackloop@mx.example.org>',
    `To: ${opened.email}`,
    'Subject: FW: Hello',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="arf"',
    '',
    '--arf',
    'Content-Type: text/plain',
    '',
    'This is an email abuse report for an email message received from 192.0.2.1.',
    '--arf',
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${type}`,
    'User-Agent: Loop/1.0',
    'Version: 1',
    ...(recipient === null ? [] : [`Original-Rcpt-To: <${recipient}>`]),
    '',
    '--arf',
    'Content-Type: message/rfc822',
    '',
    `Message-ID: ${entry.internetMessageId}`,
    'Subject: Hello',
    '',
    'Hello, Grace.',
    '--arf--',
    '',
  ].join('\r\n')
}

describe('a complaint', () => {
  test('suppresses the only recipient of the send, on the list that it named', async () => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }] })
    await sql`update outbox set list_id = 'offers' where id = ${entry.id}`.execute(opened.app.db)
    await deliverAndLook(opened, [complaint(entry)])
    expect(await entriesOf('offers', address)).toMatchObject([
      { source: 'complaint', reason: 'Complaint: abuse' },
    ])
    expect(await entriesOf('global', address)).toEqual([])
  })

  test('suppresses on that list after the entry of the send is gone, too', async () => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }] })
    const { db } = opened.app
    await sql`update sent_message set list_id = 'autumn' where outbox_id = ${entry.id}`.execute(db)
    await sql`delete from outbox where id = ${entry.id}`.execute(db)
    const copy = [
      `From: ${opened.email}`,
      `To: ${address}`,
      `Message-ID: ${entry.internetMessageId}`,
      'Subject: The copy',
      '',
      'Hello.',
      '',
    ].join('\r\n')
    await deliverAndLook(opened, [copy])
    await deliverAndLook(opened, [complaint(entry)])
    expect(await entriesOf('autumn', address)).toMatchObject([{ source: 'complaint' }])
    expect(await entriesOf('global', address)).toEqual([])
  })

  test('suppresses the recipient that it names, and nobody to whom the send did not go', async () => {
    const [first, second, stranger] = [somebody(), somebody(), somebody()]
    const entry = await opened.sendOne({ to: [{ address: first }, { address: second }] })
    await deliverAndLook(opened, [
      complaint(entry, { recipient: second }),
      complaint(entry, { recipient: stranger }),
      complaint(entry),
    ])
    expect(await entriesOf('global', second)).toMatchObject([{ source: 'complaint' }])
    expect([...(await entriesOf('global', first)), ...(await entriesOf('global', stranger))]).toEqual([])
  })

  test('of another kind, such as not-spam, suppresses nobody', async () => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }] })
    await deliverAndLook(opened, [
      complaint(entry, { type: 'not-spam' }),
      complaint(entry, { type: 'auth-failure' }),
    ])
    expect(await entriesOf('global', address)).toEqual([])
  })
})
