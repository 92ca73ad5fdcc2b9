import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { SuppressionEntry } from '@waxwing/contract/sending/suppressions.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DSN_SHAPES, NO_REPORTS, type ReportedSend } from '../sending/answers/dsn-shapes.ts'
import { dataOf, waitUntilLookedAt } from '../sending/answers/open-answers.ts'
import { replyLetter } from '../sending/answers/reply-letter.ts'
import { send, waitForStatus } from '../sending/open-sending.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphAccount, type GraphApp, openGraphApp } from './open-graph-app.ts'

let opened: GraphApp
let eva: GraphAccount

beforeAll(async () => {
  opened = await openGraphApp()
  eva = await connectGraph(opened)
})
afterAll(() => opened[Symbol.asyncDispose]())

let people = 0
/** An address of this test only, since addresses stay suppressed. */
const somebody = () => `person-${++people}@example.org`

const sendTo = async (...addresses: readonly string[]): Promise<OutboxEntry> => {
  const to = addresses.map(address => ({ address }))
  const entry = await send(opened.app, eva.accountId, { to, subject: 'Figures', undoSendSeconds: 0 })
  return waitForStatus(opened.app, entry, 'sent')
}

const reported = ({ id, internetMessageId }: OutboxEntry): ReportedSend => ({
  messageId: internetMessageId,
  outboxId: id,
  sender: eva.email,
})

/** Delivers messages as they come from outside, and waits until all of them were announced and looked at. */
async function deliverAndLook(sources: readonly string[]): Promise<void> {
  const { app, sandbox } = opened
  const countInbox = async () => (await eva.client.all('mailFolders/inbox/messages?$select=id')).length
  const before = await countInbox()
  for (const source of sources) await sandbox.deliver(eva.email, source)
  expect(await countInbox()).toBe(before + sources.length)
  await waitForArrivals()
  await waitUntilLookedAt(app)
}

/** Waits until the index has every message of the inbox. */
const waitForArrivals = () =>
  waitUntil('the arrivals', async () => {
    const wanted = await eva.client.all('mailFolders/inbox/messages?$select=id')
    const held = (await eva.messages()).filter(({ direction }) => direction === 'inbound')
    return held.length >= wanted.length
  })

async function readMessage(subject: string): Promise<Message> {
  const found = (await eva.messages()).find(message => message.subject === subject)
  return (await opened.app.get<Message>(`/v1/accounts/${eva.accountId}/messages/${found?.id}`)).body
}

const bouncesOf = async (outboxId: string) =>
  (await dataOf(opened.app, 'message.bounced')).filter(data => data.outboxId === outboxId)

async function suppressed(address: string): Promise<SuppressionEntry[]> {
  const { body } = await opened.app.get<{ items: SuppressionEntry[] }>(
    `/v1/suppressions/global/entries?address=${address}`,
  )
  return body.items ?? []
}

const reply = (entry: OutboxEntry, from: string, text: string, fields: readonly string[] = []): string =>
  replyLetter({ from, to: eva.email, inReplyTo: entry.internetMessageId, text, fields })

describe('a message in a mailbox of Exchange that answers a send', () => {
  test('is classified if it is an automatic reply, and suppresses its author if it opts out', async () => {
    await opened.app.patch('/v1/settings', { optOutHandling: 'suppress' })
    const [away, leaving, person] = [somebody(), somebody(), somebody()]
    const entry = await sendTo(away, leaving, person)
    await deliverAndLook([
      reply(entry, away, 'I am out of the office until 20 December 2026.', ['Auto-Submitted: auto-replied']),
      reply(entry, leaving, 'STOP'),
      reply(entry, person, 'Please stop by on Monday.'),
    ])
    expect((await readMessage(`Re: ${away}`)).classification).toMatchObject({
      kind: 'auto_reply',
      autoReplyCategory: 'out_of_office',
      returnDate: '2026-12-20',
      outboxId: entry.id,
    })
    expect((await readMessage(`Re: ${leaving}`)).classification).toMatchObject({ kind: 'opt_out' })
    expect((await readMessage(`Re: ${person}`)).classification).toBeNull()
    expect(await suppressed(leaving)).toMatchObject([{ source: 'reply' }])
    expect([...(await suppressed(away)), ...(await suppressed(person))]).toEqual([])
    const announced = await dataOf(opened.app, 'message.classified')
    expect(announced.map(({ message }) => message.subject).toSorted()).toEqual(
      [`Re: ${away}`, `Re: ${leaving}`].toSorted(),
    )
  })

  test('is read as a report in every shape in which other programs write it', async () => {
    // In base64, the address cannot be replaced.
    const shapes = DSN_SHAPES.filter(
      ({ name, expected }) =>
        !name.includes('base64') && expected.some(line => line.startsWith('grace@example.org')),
    ).map(shape => ({ ...shape, address: somebody() }))
    const entry = await sendTo(...shapes.map(({ address }) => address))
    await deliverAndLook(
      shapes.map(({ write, address }) => write(reported(entry)).replaceAll(/grace@example\.org/gi, address)),
    )
    const bounced = (await bouncesOf(entry.id)).flatMap(({ recipients }) =>
      recipients.map(({ address }) => address),
    )
    expect(shapes.filter(({ address }) => !bounced.includes(address)).map(({ name }) => name)).toEqual([])
    expect(bounced).toHaveLength(shapes.length)
  })

  test('is no report if it only looks like one', async () => {
    const entry = await sendTo('max@example.org')
    await deliverAndLook(NO_REPORTS.map(({ write }) => write(reported(entry))))
    expect(await bouncesOf(entry.id)).toEqual([])
    expect(await suppressed('max@example.org')).toEqual([])
  })
})

describe("a report of Exchange's own, which has no header", () => {
  test('is known by its class, read as it would be sent, and suppresses the address', async () => {
    const address = `nobody-${++people}@office.test`
    const entry = await sendTo(address)
    await waitForArrivals()
    const [bounce] = await waitUntil('the bounce', async () => {
      const bounces = await bouncesOf(entry.id)
      return bounces.length === 0 ? null : bounces
    })
    expect(bounce).toMatchObject({
      bounceType: 'hard',
      recipients: [{ address, status: '5.1.10', diagnostic: expect.stringContaining('RecipientNotFound') }],
    })
    expect(await suppressed(address)).toMatchObject([{ source: 'bounce' }])
    const [report] = await eva.client.all(
      "mailFolders/inbox/messages?$select=internetMessageHeaders,subject&$filter=startswith(subject,'Undeliverable')",
    )
    expect(report.internetMessageHeaders).toBeUndefined()
    // Its sender gives it away as well, so the mark that its class alone makes is looked at.
    const { rows } = await sql`select may_be_report from message where subject = ${report.subject}`.execute(
      opened.app.db,
    )
    expect(rows).toEqual([{ may_be_report: true }])
    expect((await readMessage(report.subject)).classification).toMatchObject({
      kind: 'bounce',
      outboxId: entry.id,
    })
  })
})
