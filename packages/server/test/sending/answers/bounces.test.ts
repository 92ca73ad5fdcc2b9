import type { Message, MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { send } from '../open-sending.ts'
import { type AnswersApp, dataOf, deliverAndLook, openAnswers } from './open-answers.ts'
import { DSN_SHAPES, NO_REPORTS, type ReportedSend } from './dsn-shapes.ts'
import { casesFor } from '../../soak.ts'

let opened: AnswersApp
beforeAll(async () => {
  opened = await openAnswers()
})
afterAll(() => opened[Symbol.asyncDispose]())

const shape = (name: string) => DSN_SHAPES.find(one => one.name === name)!
let people = 0
/** An address of this test only, since addresses stay suppressed. */
const somebody = () => `person-${++people}@example.org`

/** A report about a send, whose recipient stands for Grace. */
const about = (name: string, facts: ReportedSend, address: string) =>
  shape(name)
    .write(facts)
    .replaceAll(/grace@example\.org/gi, address)

async function bouncesOf(outboxId: string) {
  return (await dataOf(opened.app, 'message.bounced')).filter(data => data.outboxId === outboxId)
}

async function suppressed(address: string) {
  return (await dataOf(opened.app, 'suppression.created')).filter(data => data.address === address)
}

async function readMessage(subject: string): Promise<Message> {
  const { body } = await opened.app.get<{ items: MessageSummary[] }>(
    `/v1/accounts/${opened.accountId}/messages?limit=200`,
  )
  const found = body.items.find(item => item.subject === subject)
  return (await opened.app.get<Message>(`/v1/accounts/${opened.accountId}/messages/${found?.id}`)).body
}

describe('a report', () => {
  test('announces the bounce, suppresses the address, and is classified', async () => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }], reference: 'order-1' })
    const report = about('RFC 3464 with the header', opened.reported(entry), address)
    await deliverAndLook(opened, [report.replace('Undelivered Mail', 'Undelivered Mail 1')])

    expect(await bouncesOf(entry.id)).toEqual([
      {
        outboxId: entry.id,
        messageId: null,
        reference: 'order-1',
        bounceType: 'hard',
        recipients: [{ address, status: '5.1.1', diagnostic: expect.stringContaining('User unknown') }],
      },
    ])
    expect(await suppressed(address)).toMatchObject([
      {
        listId: 'global',
        source: 'bounce',
        outboxId: entry.id,
        reason: expect.stringMatching(/^550 5\.1\.1 /),
      },
    ])
    const { classification } = await readMessage('Undelivered Mail 1 Returned to Sender')
    expect(classification).toMatchObject({
      kind: 'bounce',
      outboxId: entry.id,
      model: 'rules',
      probabilities: { bounce: 1 },
    })
  })

  test('of the same failure is announced once, whichever program reports it again', async () => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }] })
    const facts = opened.reported(entry)
    await deliverAndLook(opened, [about('RFC 3464 with the header', facts, address)])
    await deliverAndLook(opened, [about('qmail', facts, address), about('Gmail, RFC 3464', facts, address)])
    expect(await bouncesOf(entry.id)).toHaveLength(1)
    expect(await suppressed(address)).toHaveLength(1)
  })

  test('of a full mailbox is soft and suppresses nobody; a later one that nobody is there does', async () => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }] })
    const facts = opened.reported(entry)
    await deliverAndLook(opened, [about('Postfix: a full mailbox', facts, address)])
    expect(await bouncesOf(entry.id)).toMatchObject([
      { bounceType: 'soft', recipients: [{ status: '5.2.2' }] },
    ])
    expect(await suppressed(address)).toEqual([])
    await deliverAndLook(opened, [about('RFC 3464 with the header', facts, address)])
    expect(await bouncesOf(entry.id)).toHaveLength(1)
    expect(await suppressed(address)).toHaveLength(1)
  })

  test('counts for the send that it names before the one that it replies to', async () => {
    const address = somebody()
    const [named, replied] = [
      await opened.sendOne({ to: [{ address }] }),
      await opened.sendOne({ to: [{ address }] }),
    ]
    const report = about('RFC 3464 with the header', opened.reported(named), address)
      .replace(
        'Auto-Submitted: auto-replied',
        field => `${field}\r\nIn-Reply-To: ${replied.internetMessageId}`,
      )
      .replace(`X-Waxwing-Outbox: ${named.id}\r\n`, '')
    await deliverAndLook(opened, [report])
    expect(await bouncesOf(replied.id)).toEqual([])
    expect(await bouncesOf(named.id)).toHaveLength(1)
  })

  test('in Junk counts, and one that was there before the first sync does not', async () => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }] })
    await opened.world.createMailbox(opened.world.at('Junk')).catch(() => {})
    await deliverAndLook(
      opened,
      [about('Exim, in words with X-Failed-Recipients', opened.reported(entry), address)],
      opened.world.at('Junk'),
    )
    expect(await bouncesOf(entry.id)).toHaveLength(1)
  })

  test.each([
    ['by its form', (report: string) => report],
    [
      'by the field of Exim',
      (report: string) =>
        report
          .replace('multipart/report; report-type=delivery-status', 'multipart/mixed')
          .replace('MIME-Version', 'X-Failed-Recipients: somebody@example.org\r\nMIME-Version'),
    ],
    [
      'by its null sender',
      (report: string) =>
        `Return-Path: <>\r\n${report.replace('multipart/report; report-type=delivery-status', 'multipart/mixed')}`,
    ],
  ])('in unknown words from an unusual sender is recognised %s', async (_, disguise) => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }] })
    const report = about('RFC 3464 with the header', opened.reported(entry), address)
    const plain = report
      .replace(/^From: .*$/m, 'From: relay <relay@mx7.example.net>')
      .replace(/^Subject: .*$/m, 'Subject: Lettre perdue')
      .replace(/^Auto-Submitted: .*\r\n/m, '')
      .replace(/This is the mail system[^\r]*/, 'Bonjour,')
    await deliverAndLook(opened, [disguise(plain)])
    expect(await bouncesOf(entry.id)).toHaveLength(1)
  })

  test('that is forged suppresses nobody: of another message, of an unknown one, of an address never mailed', async () => {
    const [mailed, stranger] = [somebody(), somebody()]
    const entry = await opened.sendOne({ to: [{ address: mailed }] })
    const facts = opened.reported(entry)
    const unknown = {
      ...facts,
      messageId: '<nobody@example.net>',
      outboxId: '0199a1b2-0000-7000-8000-00000000dead',
    }
    await deliverAndLook(opened, [
      about('RFC 3464 with the header', facts, stranger),
      about('RFC 3464 with the header', unknown, mailed),
      about('qmail', unknown, mailed),
    ])
    expect(await bouncesOf(entry.id)).toEqual([])
    expect([...(await suppressed(stranger)), ...(await suppressed(mailed))]).toEqual([])
  })

  test('of another account of the tenant does not affect the send', async () => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }] })
    const other = await openAnswers()
    try {
      await other.sendOne({})
      await deliverAndLook(other, [about('RFC 3464 with the header', opened.reported(entry), address)])
      expect(await dataOf(other.app, 'message.bounced')).toEqual([])
    } finally {
      await other[Symbol.asyncDispose]()
    }
  })

  test('of a delay is an automatic reply, and no bounce', async () => {
    const address = somebody()
    const entry = await opened.sendOne({ to: [{ address }] })
    await deliverAndLook(opened, [about('Postfix: a warning of a delay', opened.reported(entry), address)])
    expect(await bouncesOf(entry.id)).toEqual([])
    const { classification } = await readMessage('Delayed Mail (still being retried)')
    expect(classification).toMatchObject({ kind: 'auto_reply', autoReplyCategory: 'other' })
  })

  test('is distinguished from mail that only looks like one', async () => {
    const entry = await opened.sendOne({ to: [{ address: 'max@example.org' }] })
    await deliverAndLook(
      opened,
      NO_REPORTS.map(({ write }) => write(opened.reported(entry))),
    )
    expect(await bouncesOf(entry.id)).toEqual([])
    expect(await suppressed('max@example.org')).toEqual([])
  })

  test('in every shape finds its send', { timeout: 300_000 }, async () => {
    // In base64, the address cannot be replaced.
    const usable = DSN_SHAPES.filter(
      ({ name, expected }) =>
        !name.includes('base64') && expected.some(line => line.startsWith('grace@example.org')),
    )
    const failing = casesFor(usable, (_, at) => at % 4 === 0)
    const sends: Array<{ name: string; address: string; entry: OutboxEntry }> = []
    for (const { name } of failing) {
      const address = somebody()
      sends.push({ name, address, entry: await send(opened.app, opened.accountId, { to: [{ address }] }) })
    }
    await deliverAndLook(
      opened,
      sends.map(({ name, address, entry }) => about(name, opened.reported(entry), address)),
    )
    const bounced = new Set((await dataOf(opened.app, 'message.bounced')).map(({ outboxId }) => outboxId))
    expect(sends.filter(({ entry }) => !bounced.has(entry.id)).map(({ name }) => name)).toEqual([])
  })
})

describe('a recipient refused while the message is handed over', () => {
  test('is announced as bounced and suppressed, where others were reached', async () => {
    const [reached, gone] = [somebody(), somebody()]
    opened.sink.behave = ({ step, argument }) =>
      step === 'rcpt' && argument.includes(gone) ? '550 5.1.1 No such user' : null
    const entry = await opened.sendOne({ to: [{ address: reached }, { address: gone }], reference: 'rcpt' })
    opened.sink.behave = () => null
    expect(await bouncesOf(entry.id)).toMatchObject([
      { reference: 'rcpt', bounceType: 'hard', recipients: [{ address: gone, status: '5.1.1' }] },
    ])
    expect(await suppressed(gone)).toMatchObject([{ source: 'bounce', outboxId: entry.id }])
  })
})
