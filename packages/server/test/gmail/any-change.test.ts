import { fileURLToPath } from 'node:url'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { expect, onTestFailed, test } from 'vitest'
import { pause } from '../../src/processes/nudge.ts'
import { actHere } from '../changing/act-here.ts'
import { type Random, seeded } from '../seeded.ts'
import { useServer } from '../servers/shared-server.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { type FeedEvent, readFeed, readMessages } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { refusalOf } from './gmail-client.ts'
import { readIndexed, readTruth } from './gmail-truth.ts'
import { type KillableAccount, openKillableGmail } from './killable-gmail.ts'
import { letter } from './open-gmail-app.ts'
import { numberFor } from '../soak.ts'

const HOST = 'gmail.googleapis.com'
const CHANGES = numberFor({ ci: 30, soak: 60 })
const KILLS = numberFor({ ci: 1, soak: 2 })
/** Together they strike every fifth call. */
const FAULTS = [{ does: 'error', status: 503 }, { does: 'lost' }, { does: 'torn' }, { does: 'unauthorized' }]
const FAULT_PROBABILITY = 0.05

const opened = useServer(() =>
  openKillableGmail(fileURLToPath(new URL('../sync/quick-service.ts', import.meta.url))),
)

let made = 0

/** Does one thing as another client, unless what it chose is gone by then. */
async function actThere(account: KillableAccount, random: Random): Promise<string> {
  return changeThere(account, random).catch((error: unknown) => {
    if (![400, 404].includes(refusalOf(error) ?? 0)) throw error
    return `there: refused: ${String(error)}`
  })
}

async function changeThere({ client }: KillableAccount, random: Random): Promise<string> {
  const messages = await client.messages()
  const labels = (await client.labels()).filter(({ type }) => type === 'user').map(({ id }) => id)
  const somewhere = () => random.pick(['INBOX', 'SPAM', 'TRASH', ...labels])
  const kind = random.between(0, 9)
  const subject = `letter ${++made}`
  if (kind < 3 || messages.length === 0) {
    await client.insert(letter(subject), [somewhere(), 'UNREAD'])
    return `there: ${subject}`
  }
  const drafts = await client.drafts()
  if (kind < 6 && drafts.length > 0) {
    const id = random.pick(drafts)
    if (random.chance(0.2)) await client.deleteDraft(id)
    else {
      const { message } = await client.call(api => api.drafts.get({ id, format: 'metadata' }))
      const to = message?.payload?.headers?.find(({ name }) => name === 'To')?.value ?? ''
      await client.updateDraft(id, letter(`draft theirs ${made}`).replace('To: me@gmail.test', `To: ${to}`))
    }
    return `there: draft ${id}`
  }
  const { id } = random.pick(messages)
  if (kind < 8) await client.modify(id, { add: [somewhere()], remove: ['UNREAD'] })
  else if (kind === 8) await client.modify(id, { add: ['STARRED'], remove: ['INBOX'] })
  else await client.delete(id)
  return `there: change ${id}`
}

/** Folds the feed over what the index held before it. */
function foldFeed(events: readonly FeedEvent[], before: readonly MessageSummary[]): string[] {
  const held = new Map(before.map(message => [message.id, message]))
  for (const { type, data } of events) {
    const { message } = data
    if (!message || !type.startsWith('message.')) continue
    if (type === 'message.created' && held.has(message.id))
      throw new Error(`${message.subject} was created twice`)
    if (type !== 'message.created' && !held.has(message.id))
      throw new Error(`${type} of ${message.subject}, which there is not`)
    if (type === 'message.updated' && data.changes!.length === 0) throw new Error('an update names nothing')
    if (type === 'message.deleted') held.delete(message.id)
    else held.set(message.id, message)
  }
  return [...held.values()].map(message => JSON.stringify(message)).toSorted()
}

/** Name that a message keeps over every change: drafts have a recipient of their own, and other messages a subject. */
const nameOf = ({ subject, to }: MessageSummary) =>
  to.find(({ address }) => address.startsWith('draft-'))?.address ?? subject ?? ''

/** The names of messages that have had more than one id. */
function renamed(messages: readonly MessageSummary[]): string[] {
  const ids = Map.groupBy(messages, nameOf)
  return [...ids].flatMap(([name, seen]) => (new Set(seen.map(({ id }) => id)).size > 1 ? [name] : []))
}

test.each(seedsFor(1))(
  'after random changes by the interface and by another client, with faults and kills, the index equals Gmail and the feed (seed %i)',
  { timeout: 300_000 },
  async seed => {
    const { db, sandbox, caller, connect, kill, restart, output } = opened()
    const random = seeded(`gmail changes ${seed}`)
    const log: string[] = []
    onTestFailed(() => {
      const troubles = output()
        .split('\n')
        .filter(line => /"level":"(warn|error)"/.test(line))
      process.stdout.write([...log, ...troubles.slice(-3), ''].join('\n'))
    })
    const email = `any-change-${seed}@gmail.test`
    const account = await connect(email, async client => {
      for (let count = 0; count < 12; count++)
        await client.insert(letter(`letter ${++made}`), ['INBOX', 'UNREAD'])
      for (const name of ['One', 'One/Below', 'Two']) await client.createLabel(name)
    })
    const { accountId, path, client } = account
    const draftSubject = (number: number) => `draft ${number}`
    const acting = { caller, path, accountId, hasLabels: true, draftSubject, next: () => ++made }
    const before = await readMessages(caller(), accountId)
    const { cursor } = await readFeed(caller())
    for (const fault of FAULTS)
      await sandbox.addFault({ ...fault, host: HOST, probability: FAULT_PROBABILITY })
    const killsAt = new Set(Array.from({ length: KILLS }, () => random.between(5, CHANGES - 5)))
    const expiresAt = random.between(5, CHANGES - 5)

    for (let count = 0; count < CHANGES; count++) {
      const killSoon = async () => {
        await pause(random.between(0, 30))
        await kill()
        await restart()
        return 'kill'
      }
      if (count === expiresAt) await sandbox.expireHistory(email)
      log.push(
        ...(await Promise.all([
          actHere({ ...acting, random }),
          random.chance(0.5) ? actThere(account, random) : '',
          killsAt.has(count) ? killSoon() : '',
        ])),
      )
    }
    await sandbox.clearFaults()
    // After that many faults the sync may be waiting for minutes.
    await caller().post(`${path}/sync`, {})
    await waitUntil(
      'the index to equal Gmail',
      async () => {
        // Messages that could not be read are due again.
        await sql`update quarantined_message set next_attempt_at = clock_timestamp()
          where next_attempt_at > clock_timestamp()`.execute(db)
        const [truth, index] = [await readTruth(client), await readIndexed(caller(), accountId)]
        return truth.join('\n') === index.join('\n') || null
      },
      120,
    ).catch(async () => expect(await readIndexed(caller(), accountId)).toEqual(await readTruth(client)))
    const { now, events } = await waitUntil('a moment without an event', async () => {
      const feed = await readFeed(caller(), cursor)
      const messages = await readMessages(caller(), accountId)
      if ((await readFeed(caller(), feed.cursor)).events.length > 0) return null
      return { now: messages, events: feed.events.filter(event => event.accountId === accountId) }
    })
    expect(foldFeed(events, before)).toEqual(now.map(message => JSON.stringify(message)).toSorted())
    expect((await caller().get(path)).body['status']).toBe('active')
    const told = events.flatMap(({ data: { message } }) => message ?? [])
    expect(renamed([...before, ...told, ...now])).toEqual([])
  },
)
