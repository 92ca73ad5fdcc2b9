import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { expect, test } from 'vitest'
import { waitForCopiesOrFailures } from '../sending/killable-sending.ts'
import { sendEvents } from '../sending/open-sending.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { readMessages } from '../sync/followed-account.ts'
import { type GmailClient, openGmailClient } from './gmail-client.ts'
import { type KillableAccount, type Moment, openKillableGmail } from './killable-gmail.ts'
import { casesFor } from '../soak.ts'

const RECIPIENT = 'ben.receives@gmail.test'

const opened = useServer(() => openKillableGmail())

/** An account for each moment at which work is when the service is killed. */
function connectEach(prefix: string, count: number): Promise<KillableAccount[]> {
  const emails = Array.from({ length: count }, (_, nth) => `${prefix}-${nth}@gmail.test`)
  return Promise.all(emails.map(email => opened().connect(email)))
}

const ONCE = ['send.sent']
/** Gmail does not have the message, which is believed once. */
const AGAIN = ['send.retrying', 'send.sent']

/** The events of a message that was at the moment when the service was killed. */
const ALL_SENDS: ReadonlyArray<readonly [name: string, Moment, events: string[]]> = [
  ['hand_over_commit', 'hand_over_commit', ONCE],
  ['hand_over_recorded', 'hand_over_recorded', AGAIN],
  ['held-back', { isCarriedOut: false }, AGAIN],
  ['carried-out', { isCarriedOut: true }, ONCE],
  ['answered', 'answered', ONCE],
  ['outcome_recorded', 'outcome_recorded', ONCE],
  // The last, since its transaction is open until the kill.
  ['copy_link', 'copy_link', ONCE],
]

const SENDS = casesFor(ALL_SENDS, ([name]) =>
  ['hand_over_recorded', 'carried-out', 'copy_link'].includes(name),
)

const ALL_DRAFTS: ReadonlyArray<readonly [name: string, Moment]> = [
  ['append', 'draft_append'],
  ['carried-out', { isCarriedOut: true }],
  ['appended', 'draft_appended'],
  // The last, since its transaction is open until the kill.
  ['commit', 'draft_commit'],
]

const DRAFTS = casesFor(ALL_DRAFTS, ([name]) => ['carried-out', 'commit'].includes(name))

/** The subjects of all messages of a mailbox with the label. */
async function subjectsOf(client: GmailClient, label: string): Promise<string[]> {
  const messages = (await client.messages()).filter(({ labelIds }) => labelIds.includes(label))
  return messages.map(({ subject }) => subject).toSorted()
}

test(
  'a message is sent once, with one copy, wherever it is when the service is killed',
  { timeout: 300_000 },
  async () => {
    const walk = opened()
    const { caller, sandbox } = walk
    await sandbox.addUser(RECIPIENT)
    const recipient = await openGmailClient(sandbox, RECIPIENT)
    const accounts = await connectEach('sends', SENDS.length)
    const post = (nth: number) => {
      const [subject] = SENDS[nth]!
      return caller().post<OutboxEntry>(
        `${accounts[nth]!.path}/outbox`,
        { to: [{ address: RECIPIENT }], subject, text: 'Hello.\n' },
        { 'idempotency-key': subject },
      )
    }
    for (const [nth, [, moment]] of SENDS.entries()) await walk.hold(moment, () => post(nth))
    await walk.kill()
    await walk.restart()

    const entries = await Promise.all(
      SENDS.map(async ([subject], nth) => {
        const { status, body } = await post(nth)
        expect({ subject, status }).toEqual({ subject, status: 200 })
        return body
      }),
    )
    const ended = await waitForCopiesOrFailures(walk, entries)
    const subjects = SENDS.map(([subject]) => subject)
    await waitUntil(
      'all to arrive',
      async () => (await subjectsOf(recipient, 'INBOX')).length >= SENDS.length,
    )
    expect(await subjectsOf(recipient, 'INBOX')).toEqual(subjects.toSorted())
    for (const [nth, { id, messageId }] of ended.entries()) {
      const { client, accountId } = accounts[nth]!
      const subject = subjects[nth]!
      expect(await subjectsOf(client, 'SENT')).toEqual([subject])
      const messages = await readMessages(caller(), accountId)
      const copies = messages.filter(({ direction }) => direction === 'outbound')
      expect(copies).toMatchObject([{ id: messageId, outboxId: id, subject }])
    }
    const events = await sendEvents(caller())
    const eventsOf = (id: string) =>
      events.filter(({ data }) => data.outbox.id === id).map(({ type }) => type)
    expect(ended.map(({ id, subject }) => [subject, eventsOf(id)])).toEqual(
      SENDS.map(([subject, , announced]) => [subject, announced]),
    )
  },
)

test(
  'a draft is one draft under one id, wherever it is when the service is killed',
  { timeout: 300_000 },
  async () => {
    const walk = opened()
    const { caller } = walk
    const accounts = await connectEach('drafts', DRAFTS.length)
    const post = (nth: number) => {
      const [subject] = DRAFTS[nth]!
      const key = { 'idempotency-key': `draft-${subject}` }
      return caller().post<MessageSummary>(`${accounts[nth]!.path}/drafts`, { subject }, key)
    }
    for (const [nth, [, moment]] of DRAFTS.entries()) await walk.hold(moment, () => post(nth))
    await walk.kill()
    await walk.restart()
    const drafts = await Promise.all(
      DRAFTS.map(async ([subject, moment], nth) => {
        const { client, path, accountId } = accounts[nth]!
        const { status, body } = await post(nth)
        const created = await client.drafts()
        expect({ subject, status, drafts: created.length }).toEqual({ subject, status: 200, drafts: 1 })
        const { id } = body
        const put = (changed: string) => caller().put(`${path}/drafts/${id}`, { subject: changed })
        const remove = () => caller().delete(`${path}/drafts/${id}`)
        return { subject, moment, client, accountId, created, id, put, remove }
      }),
    )

    for (const { subject, moment, put } of drafts) await walk.hold(moment, () => put(`${subject} changed`))
    await walk.kill()
    await walk.restart()
    await Promise.all(
      drafts.map(async ({ subject, moment, client, accountId, created, id, put, remove }) => {
        // Nobody asks again: the sync settles it.
        const left = moment === 'draft_append' ? subject : `${subject} changed`
        await waitUntil(`the draft killed at ${subject}`, async () => {
          const indexed = (await readMessages(caller(), accountId)).filter(({ isDraft }) => isDraft)
          const [only, ...more] = indexed
          return more.length === 0 && only?.id === id && only.subject === left
        })
        expect(await client.drafts()).toEqual(created)
        expect(await put(`${subject} again`)).toMatchObject({ status: 200, body: { id } })
        expect(await client.drafts()).toEqual(created)
        expect((await remove()).status).toBe(200)
        expect(await client.drafts()).toEqual([])
      }),
    )
  },
)
