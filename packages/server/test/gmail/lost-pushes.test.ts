import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { expect, test } from 'vitest'
import { type Random, seeded } from '../seeded.ts'
import { type FeedEvent, readFeed, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGmail } from './connect-gmail.ts'
import { configureGmail, type GmailClient, openGmailClient } from './gmail-client.ts'
import { readIndexed, readTruth } from './gmail-truth.ts'
import { endpointOf, openPushed, type Pushed, SUBSCRIPTION } from './open-pushed.ts'

const PLAIN = { drop: 0, copies: 1, delayMilliseconds: 0 }
/** So late that a look by itself comes before it. */
const LATE_MS = 2_500

interface Followed {
  accountId: string
  client: GmailClient
  kept: string
  /** Events of the letters since the account was connected. */
  feed(): Promise<FeedEvent[]>
  /** Letters of the index. */
  letters(): Promise<MessageSummary[]>
}

const isLetter = ({ subject }: Pick<MessageSummary, 'subject'>) => subject?.startsWith('Letter ') === true

async function follow({ app, sandbox }: Pushed, email: string): Promise<Followed> {
  const client = await openGmailClient(sandbox, email)
  const kept = await client.createLabel('Kept')
  const accountId = await connectGmail(app, sandbox, email)
  await waitForFirstSync(app, accountId)
  const { cursor } = await readFeed(app)
  const isOurs = ({ accountId: of, data }: FeedEvent) =>
    of === accountId && data.message !== undefined && isLetter(data.message)
  return {
    accountId,
    client,
    kept,
    feed: async () => (await readFeed(app, cursor)).events.filter(isOurs),
    letters: async () => (await readMessages(app, accountId)).filter(isLetter),
  }
}

let sent: Array<{ id: string; subject: string }> = []

/** Does one thing as another client of the mailbox. */
async function act({ client, kept }: Followed, number: number, random: Random): Promise<void> {
  const kind = random.between(0, 9)
  if (kind < 5 || sent.length === 0) {
    const subject = `Letter ${number}`
    const raw = `From: x@example.test\r\nSubject: ${subject}\r\nMessage-ID: <${number}@example.test>\r\n\r\nHello\r\n`
    const { id } = await client.insert(raw, ['INBOX', 'UNREAD'])
    sent.push({ id, subject })
    return
  }
  const chosen = random.pick(sent)
  if (kind < 7) await client.modify(chosen.id, { add: ['STARRED'], remove: ['UNREAD'] })
  else if (kind < 8) await client.modify(chosen.id, { add: [kept], remove: ['INBOX'] })
  else if (kind < 9) await client.modify(chosen.id, { add: ['TRASH'], remove: ['INBOX'] })
  else {
    await client.delete(chosen.id)
    sent = sent.filter(one => one !== chosen)
  }
}

/** Changes the mailbox from one number to another, always in the same way. */
async function change(
  account: Followed,
  random: Random,
  [from, to]: readonly [number, number],
  before: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  for (let number = from; number < to; number++) {
    await before()
    await act(account, number, random)
  }
}

/** Waits until the index has what Gmail has. @returns the letters in words */
async function settled({ app }: Pushed, { accountId, client }: Followed): Promise<string[]> {
  const letters = (lines: readonly string[]) => lines.filter(line => line.startsWith('Letter '))
  return waitUntil('the index to equal Gmail', async () => {
    const [truth, index] = [await readTruth(client), await readIndexed(app, accountId)]
    return letters(truth).join('\n') === letters(index).join('\n') ? letters(index) : null
  })
}

/** Each message is created once and deleted at most once, and what is left is what the index holds. */
async function expectFeedToTell({ feed, letters }: Followed): Promise<void> {
  const events = await feed()
  const of = (type: string) =>
    events.flatMap(event => (event.type === type ? event.data.message!.id : [])).toSorted()
  const [created, deleted] = [of('message.created'), of('message.deleted')]
  expect(new Set(created).size).toBe(created.length)
  expect(new Set(deleted).size).toBe(deleted.length)
  const left = created.filter(id => !deleted.includes(id))
  expect((await letters()).map(({ id }) => id).toSorted()).toEqual(left)
}

async function pushForged({ app, sandbox }: Pushed, email: string): Promise<void> {
  const seconds = Math.floor(Date.now() / 1_000)
  const token = await sandbox.sign({
    iss: 'https://accounts.google.com',
    aud: endpointOf(app),
    sub: '1',
    email: 'push@evil.iam.gserviceaccount.com',
    email_verified: true,
    iat: seconds,
    exp: seconds + 600,
  })
  const data = Buffer.from(`{"emailAddress":"${email}","historyId":1}`).toString('base64')
  const { status } = await fetch(endpointOf(app), {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ message: { data, messageId: '1' }, subscription: SUBSCRIPTION }),
  })
  expect(status).toBe(401)
}

// Pushes must bring the same mail as polling, even if they are lost or forged.
test('an account whose pushes are lost, doubled, late, out of order and forged has the mail of one whose pushes come (C16)', async () => {
  await using pushed = await openPushed(1)
  const { sandbox } = pushed
  await configureGmail(sandbox, { quota: 'off' })
  const calm = await follow(pushed, 'ada@gmail.test')
  await change(calm, seeded('changes'), [0, 40])
  const wanted = await settled(pushed, calm)
  await expectFeedToTell(calm)

  sent = []
  const troubled = await follow(pushed, 'ben@gmail.test')
  const [changes, random] = [seeded('changes'), seeded('pushes')]
  await change(troubled, changes, [0, 20], async () => {
    const settings = {
      drop: random.chance(0.3) ? 1 : 0,
      copies: random.chance(0.3) ? 2 : 1,
      // Some overtake others.
      delayMilliseconds: random.pick([0, 30, 100, LATE_MS]),
    }
    await sandbox.configurePushes(settings)
    if (random.chance(0.3)) await pushForged(pushed, 'ben@gmail.test')
  })
  await settled(pushed, troubled)
  await sandbox.configurePushes({ ...PLAIN, drop: 1 })
  await change(troubled, changes, [20, 30])
  await settled(pushed, troubled)
  await sandbox.configurePushes({ ...PLAIN, copies: 3 })
  await change(troubled, changes, [30, 40])
  expect(await settled(pushed, troubled)).toEqual(wanted)
  await expectFeedToTell(troubled)
})
