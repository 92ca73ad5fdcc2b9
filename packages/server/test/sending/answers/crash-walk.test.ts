import type { ChangeEvent, EventType } from '@waxwing/contract/events.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { waitForFirstSync } from '../../sync/followed-account.ts'
import { waitUntil } from '../../wait-until.ts'
import { type KillableSending, openKillableSending } from '../killable-sending.ts'
import { DSN_SHAPES } from './dsn-shapes.ts'
import { waitUntilLookedAt } from './open-answers.ts'
import { casesFor } from '../../soak.ts'

/** Moments of a report at which the service is killed. A report whose transaction is open until then comes late. */
const ALL = ['answer_claimed', 'answer_read', 'answer_recorded', 'answer_commit', 'events_handled']
const POINTS = casesFor(ALL, point => point === 'answer_read' || point === 'answer_commit')

/** Waits until the copy of the send is indexed, and the followers have handled their events. */
async function waitUntilFollowed({ db }: KillableSending, { id }: OutboxEntry): Promise<void> {
  await waitUntil('the followers to rest', async () => {
    const { rows } = await sql<{ isDone: boolean }>`
      select exists (select from message where outbox_id = ${id}) and not exists (
        select from event join event_follower as follower using (tenant_id)
        where event.id > follower.after_id and (event.type = 'message.created' or follower.name <> 'answers')
      ) as "isDone"`.execute(db)
    return rows[0]?.isDone
  })
}

/** The data of all events of a type, oldest first. */
async function listData(walk: KillableSending, type: EventType): Promise<Array<ChangeEvent['data']>> {
  const { body } = await walk.caller().get<{ items: ChangeEvent[] }>(`/v1/changes?limit=200&types=${type}`)
  return body.items.map(({ data }) => data)
}

/** Sends a message of an account of its own. */
async function sendOne(walk: KillableSending, point: string) {
  const { accountId, world, post } = await walk.connect()
  await waitForFirstSync(walk.caller(), accountId)
  const address = `${point.replace('_', '-')}@example.org`
  const entry = await walk.waitForEnd(await post(point, { to: [{ address }] }))
  const report = DSN_SHAPES[0]!.write({
    messageId: entry.internetMessageId,
    outboxId: entry.id,
    sender: entry.from.address,
  })
  const raw = report.replaceAll('grace@example.org', address)
  return { point, entry, address, deliver: () => world.deliver([{ raw }]) }
}

test(
  'a report is recorded and announced once, wherever it is when the service is killed',
  { timeout: 300_000 },
  async () => {
    await using walk = await openKillableSending(['sync'])
    const sends = await Promise.all(POINTS.map(point => sendOne(walk, point)))
    for (const { entry } of sends) await waitUntilFollowed(walk, entry)
    for (const { point, deliver } of sends) await walk.holdAt(point, deliver)
    await walk.kill()
    await walk.restart()
    const bouncedIds = async () => (await listData(walk, 'message.bounced')).map(({ outboxId }) => outboxId)
    // Before a report is indexed, nothing is left to look at either.
    await waitUntil('the bounces', async () => new Set(await bouncedIds()).size >= POINTS.length)
    await waitUntilLookedAt(walk)
    expect((await bouncedIds()).toSorted()).toEqual(sends.map(({ entry }) => entry.id).toSorted())
    const suppressed = await listData(walk, 'suppression.created')
    expect(suppressed.map(({ address }) => address).toSorted()).toEqual(
      sends.map(({ address }) => address).toSorted(),
    )
    expect(await listData(walk, 'message.classified')).toHaveLength(POINTS.length)
  },
)
