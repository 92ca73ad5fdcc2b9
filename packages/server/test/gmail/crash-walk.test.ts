import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { sendEvents } from '../sending/open-sending.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { readMessages } from '../sync/followed-account.ts'
import { type GmailClient, openGmailClient } from './gmail-client.ts'
import { type Moment, openKillableGmail } from './killable-gmail.ts'

const RECIPIENT = 'ben.receives@gmail.test'

const opened = useServer(openWalk)

async function openWalk() {
  await using opening = new AsyncDisposableStack()
  const gmail = opening.use(await openKillableGmail())
  const account = await gmail.connect('ada.sends@gmail.test')
  opening.move()
  return { ...gmail, ...account, messages: () => readMessages(gmail.caller(), account.accountId) }
}

const ONCE = ['send.sent']
/** Gmail does not have the message, which is believed once. */
const AGAIN = ['send.retrying', 'send.sent']

/** What is announced of a message whose service was killed at the moment. */
const SENDS: ReadonlyArray<readonly [name: string, Moment, events: string[]]> = [
  ['hand_over_commit', 'hand_over_commit', ONCE],
  ['hand_over_recorded', 'hand_over_recorded', AGAIN],
  ['held-back', { isCarriedOut: false }, AGAIN],
  ['carried-out', { isCarriedOut: true }, ONCE],
  ['answered', 'answered', ONCE],
  ['outcome_recorded', 'outcome_recorded', ONCE],
  ['copy_link', 'copy_link', ONCE],
]

const DRAFTS: ReadonlyArray<readonly [name: string, Moment]> = [
  ['append', 'draft_append'],
  ['carried-out', { isCarriedOut: true }],
  ['appended', 'draft_appended'],
  ['commit', 'draft_commit'],
]

/** The subjects of all messages of a mailbox with the label. */
async function subjectsOf(client: GmailClient, label: string): Promise<string[]> {
  const messages = (await client.messages()).filter(({ labelIds }) => labelIds.includes(label))
  return messages.map(({ subject }) => subject).toSorted()
}

/** Waits until nothing is left to do for the entry. */
const waitForEnd = (
  { db, path, caller }: Awaited<ReturnType<typeof openWalk>>,
  { id, subject }: OutboxEntry,
) =>
  waitUntil(`the end of ${subject}`, async () => {
    // In place of waiting: a look-up takes half an hour, and a retry minutes.
    await sql`
      update outbox set task_at = clock_timestamp(), task_tries = case task when 'look_up' then 6 else task_tries end
      where task_by is null and task_at > clock_timestamp()`.execute(db)
    await sql`update outbox set due_at = clock_timestamp() where due_at > clock_timestamp()`.execute(db)
    await sql`
      update sending_account set due_at = clock_timestamp(), paused_until = null
      where due_at > clock_timestamp()`.execute(db)
    const { body } = await caller().get<OutboxEntry>(`${path}/outbox/${id}`)
    const { rows } = await sql`
      select from outbox where id = ${id} and (task is not null or due_at is not null)`.execute(db)
    const isOver = body.status === 'failed' || (body.status === 'sent' && body.messageId !== null)
    return isOver && rows.length === 0 ? body : null
  })

test(
  'a message is sent once, with one copy, wherever the service is killed',
  { timeout: 600_000 },
  async () => {
    const walk = opened()
    const { path, caller, client, sandbox } = walk
    await sandbox.addUser(RECIPIENT)
    const recipient = await openGmailClient(sandbox, RECIPIENT)
    const ended: OutboxEntry[] = []
    for (const [subject, moment] of SENDS) {
      const post = () =>
        caller().post<OutboxEntry>(
          `${path}/outbox`,
          { to: [{ address: RECIPIENT }], subject, text: 'Hello.\n' },
          { 'idempotency-key': subject },
        )
      await walk.crash(moment, post)
      const { status, body } = await post()
      expect({ subject, status }).toEqual({ subject, status: 200 })
      ended.push(await waitForEnd(walk, body))
    }
    const subjects = SENDS.map(([subject]) => subject).toSorted()
    await waitUntil(
      'all to arrive',
      async () => (await subjectsOf(recipient, 'INBOX')).length >= SENDS.length,
    )
    expect(await subjectsOf(recipient, 'INBOX')).toEqual(subjects)
    expect(await subjectsOf(client, 'SENT')).toEqual(subjects)

    const copies = (await walk.messages()).filter(({ direction }) => direction === 'outbound')
    const linkOf = ({ id, outboxId }: Pick<MessageSummary, 'id' | 'outboxId'>) => `${id} ${outboxId}`
    expect(copies.map(linkOf).toSorted()).toEqual(
      ended.map(({ id, messageId }) => linkOf({ id: messageId!, outboxId: id })).toSorted(),
    )
    const events = await sendEvents(caller())
    const eventsOf = (id: string) =>
      events.filter(({ data }) => data.outbox.id === id).map(({ type }) => type)
    expect(ended.map(({ id, subject }) => [subject, eventsOf(id)])).toEqual(
      SENDS.map(([subject, , announced]) => [subject, announced]),
    )
  },
)

test('a draft is one draft under one id, wherever the service is killed', { timeout: 600_000 }, async () => {
  const walk = opened()
  const { path, caller, client } = walk
  for (const [subject, moment] of DRAFTS) {
    const post = () =>
      caller().post<MessageSummary>(`${path}/drafts`, { subject }, { 'idempotency-key': `draft-${subject}` })
    await walk.crash(moment, post)
    const { status, body } = await post()
    expect({ subject, status }).toEqual({ subject, status: 200 })
    const created = await client.drafts()
    expect({ subject, drafts: created.length }).toEqual({ subject, drafts: 1 })

    const at = `${path}/drafts/${body.id}`
    const changed = `${subject} changed`
    await walk.crash(moment, () => caller().put(at, { subject: changed }))
    // Nobody asks again: the sync settles it.
    const isReplaced = moment !== 'draft_append'
    await waitUntil(`the draft killed at ${subject}`, async () => {
      const drafts = (await walk.messages()).filter(({ isDraft }) => isDraft)
      const [only, ...more] = drafts
      return more.length === 0 && only?.id === body.id && only.subject === (isReplaced ? changed : subject)
    })
    expect(await client.drafts()).toEqual(created)
    expect(await caller().put(at, { subject: `${subject} again` })).toMatchObject({
      status: 200,
      body: { id: body.id },
    })
    expect(await client.drafts()).toEqual(created)
    expect((await caller().delete(at)).status).toBe(200)
    expect(await client.drafts()).toEqual([])
  }
})
